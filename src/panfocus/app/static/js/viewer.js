/* The viewer: deep zoom of a job's layers, compared by a slider or side by side, with maps laid over.

   Other modules use `createViewer(element, app)` and the methods of Viewer; how layers are named is said in
   viewer/layers.js, what tools get in viewer/pointing.js. */

import { element } from "./dom.js";
import { createControls } from "./viewer/controls.js";
import { Cursor } from "./viewer/cursor.js";
import { createDivider } from "./viewer/divider.js";
import { Layers } from "./viewer/layers.js";
import { Pane } from "./viewer/pane.js";
import { listen } from "./viewer/pointing.js";

const HELP =
  "Picture. Arrow keys move the view, plus and minus zoom, 0 fits it, 1 shows its own pixels, " +
  "C shows a cursor for the arrow keys, Enter looks at the place, F fills the screen, " +
  "S and T fold away what is beside the picture.";

export function createViewer(room, app) {
  return new Viewer(room, app);
}

class Viewer {
  tool = null;
  shown = { job: null, layer: null, compared: null, beside: null, overlay: null, opacity: 0.5, position: 0.5 };
  #listeners = { place: new Set(), changed: new Set(), cursor: new Set() };

  constructor(room, app) {
    this.app = app;
    const caption = (className = "caption") => element("p", { class: className });
    this.captions = { main: caption(), compared: caption("caption right"), beside: caption() };
    const main = element("div", { class: "pane main" });
    const beside = element("div", { class: "pane beside", hidden: true });
    this.empty = element("p", { class: "empty" }, "The result will be shown here.");
    this.stage = element(
      "div",
      { class: "stage", tabIndex: 0, role: "application", "aria-label": HELP },
      main,
      beside,
      this.empty,
    );
    room.classList.add("viewer");
    room.append(this.stage);
    const moved = (pane) => this.#moved(pane);
    const led = (pane) => (this.leader = pane);
    this.panes = {
      main: new Pane(main, { moved, led, opened: (pane) => pane.fit(true) }),
      beside: new Pane(beside, { moved, led, opened: (pane) => pane.follow(this.panes.main) }),
    };
    this.leader = this.panes.main; // of two panes side by side; the other follows
    main.append(this.captions.main, this.captions.compared);
    beside.append(this.captions.beside);
    this.divider = createDivider(main, (position) => this.compare(this.shown.compared, position));
    this.layers = new Layers(this);
    this.cursor = new Cursor(this);
    listen(this.stage, this);
    this.controls = createControls(room, this);
    app.state.on(() => this.#followState());
  }

  /* Show a layer of a job that is done; null shows nothing. What is compared stays if it still can be. */
  show(job, layer = "fused") {
    const { shown } = this;
    if (!job?.result) {
      Object.assign(shown, { job: null, layer: null, compared: null, beside: null, overlay: null });
    } else {
      if (shown.job?.id !== job.id) {
        Object.assign(shown, { compared: null, beside: null });
        Object.assign(this.cursor, { row: Math.floor(job.result.height / 2), col: Math.floor(job.result.width / 2) });
      }
      if (shown.overlay && !job.result.layers.includes(shown.overlay)) shown.overlay = null;
      Object.assign(shown, { job, layer });
    }
    this.#arrange();
  }

  /* Lay another layer over the right part of the view, from `position` (0..1 of its width) on. */
  compare(reference, position = this.shown.position) {
    const begun = reference && reference !== this.shown.compared;
    Object.assign(this.shown, { compared: reference, position });
    if (reference) this.shown.beside = null;
    this.panes.main.setSplit(position);
    this.divider.place(position);
    if (begun || !reference) this.#arrange();
  }

  /* Show another layer in a second pane that follows the first. */
  sideBySide(reference) {
    this.shown.beside = reference;
    if (reference) this.shown.compared = null;
    this.#arrange();
  }

  /* Lay a map over what is shown. */
  overlay(layer, opacity = this.shown.opacity) {
    Object.assign(this.shown, { overlay: layer, opacity });
    this.#arrange();
  }

  /* A layer of the shown job has changed: fetch its tiles anew where they are seen. */
  refresh(layer, version) {
    this.layers.versions.set(`${this.shown.job?.id}/${layer}`, version);
    this.#arrange();
  }

  job() {
    return this.shown.job;
  }

  layer() {
    return this.shown.layer;
  }

  toImage(clientX, clientY) {
    return this.panes[this.#isBeside(clientX, clientY) ? "beside" : "main"].toImage(clientX, clientY);
  }

  toScreen(row, col) {
    return this.panes.main.toScreen(row, col);
  }

  scale() {
    return this.panes.main.scale();
  }

  fit() {
    this.panes.main.fit();
  }

  /* One pixel of the picture fills `factor` pixels of the screen (its real ones, not those of CSS). */
  zoom(factor) {
    this.panes.main.zoomTo(factor / devicePixelRatio, this.cursor.shown ? this.cursor : null);
  }

  zoomBy(factor) {
    this.panes.main.zoomTo(this.scale() * factor, this.cursor.shown ? this.cursor : null);
  }

  /* Bring a place into the middle, at `scale` screen pixels per pixel if given. */
  goTo(row, col, scale = null) {
    this.panes.main.centre(row, col);
    if (scale) this.panes.main.zoomTo(scale);
  }

  pull(x, y) {
    const { row, col } = this.panes.main.toImage(...this.middle());
    this.panes.main.centre(row - y / this.scale(), col - x / this.scale(), true);
  }

  setTool(tool) {
    this.tool = tool;
    this.stage.dataset.tool = tool?.name ?? "";
    for (const { element } of Object.values(this.panes)) element.style.cursor = tool?.cursor ?? "";
    this.repaint();
  }

  /* `paint(context, viewer)` draws above the picture whenever it moves; coordinates as of toScreen. It may return
     false to say that it has drawn nothing. */
  addPainter(paint) {
    const bound = (context) => Boolean(this.shown.job) && paint(context, this);
    for (const pane of Object.values(this.panes)) pane.painters.add(bound);
    this.repaint();
    return () => {
      for (const pane of Object.values(this.panes)) pane.painters.delete(bound);
      this.repaint();
    };
  }

  repaint() {
    for (const pane of Object.values(this.panes)) pane.repaint();
  }

  /* "place": one was chosen; "cursor": pointer or cursor moved; "changed": view or layers did. */
  on(name, listener) {
    this.#listeners[name].add(listener);
    return () => this.#listeners[name].delete(listener);
  }

  paneAt(target) {
    if (!this.shown.job || target.closest?.(".divider")) return null;
    return target.closest?.(".pane");
  }

  /* The pointer is over a place (null: it has left). */
  point(place) {
    this.#emit("cursor", place);
  }

  choosePlace({ row, col }) {
    const place = { row: Math.round(row), col: Math.round(col) };
    if (!this.shown.job) return;
    const { width, height } = this.shown.job.result;
    if (place.row < 0 || place.col < 0 || place.row >= height || place.col >= width) return;
    Object.assign(this.cursor, place);
    this.#emit("place", place);
    this.repaint();
  }

  #arrange() {
    const { job, layer, compared, beside, overlay, opacity } = this.shown;
    const { main, beside: second } = this.panes;
    second.element.hidden = !beside;
    this.empty.hidden = Boolean(job);
    this.stage.classList.toggle("two", Boolean(beside));
    main.set("base", this.layers.tiles(layer));
    main.set("compared", this.layers.tiles(compared));
    main.setSplit(this.shown.position);
    this.divider.show(Boolean(compared));
    second.set("base", this.layers.tiles(beside));
    for (const pane of [main, second]) pane.set("overlay", this.layers.tiles(overlay), { opacity });
    this.captions.main.textContent = this.layers.caption(layer);
    this.captions.compared.textContent = this.layers.caption(compared);
    this.captions.beside.textContent = this.layers.caption(beside);
    this.controls.update();
    this.repaint();
    this.#emit("changed", this);
  }

  /* Jobs have news: strokes from another tab, one to compare with, or the shown one is gone. */
  #followState() {
    const { shown } = this;
    const { jobs } = this.app.state.get();
    if (!shown.job || jobs === this.jobs) return;
    this.jobs = jobs;
    shown.job = jobs.find(({ id }) => id === shown.job.id) ?? null;
    if (!shown.job?.result) {
      this.show(null);
      return;
    }
    for (const name of ["compared", "beside"]) if (!this.layers.tiles(shown[name])) shown[name] = null;
    this.#arrange();
  }

  #moved(pane) {
    if (!this.controls) return; // the viewer is being made
    if (this.shown.beside && pane === this.leader) {
      const { main, beside } = this.panes;
      (pane === main ? beside : main).follow(pane);
    }
    this.controls.tell();
    this.#emit("changed", this);
  }

  #isBeside(clientX, clientY) {
    const { left, right, top, bottom } = this.panes.beside.element.getBoundingClientRect();
    return clientX >= left && clientX < right && clientY >= top && clientY < bottom; // never if it is hidden
  }

  /* The middle of the picture's pane, in the window. */
  middle() {
    const { left, top, width, height } = this.panes.main.element.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  }

  #emit(name, value) {
    for (const listener of this.#listeners[name]) listener(value);
  }
}
