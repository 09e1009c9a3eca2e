// The viewer: deep zoom of the layers of a job, with comparison (slider or side by side) and map overlay.
// See viewer/layers.js for the names of layers, and viewer/input.js for the events of tools.

import { element } from "./dom.js";
import { createControls } from "./viewer/controls.js";
import { createDivider } from "./viewer/divider.js";
import { listenToInput } from "./viewer/input.js";
import { KeyboardCursor } from "./viewer/keyboard_cursor.js";
import { LayerResolver } from "./viewer/layers.js";
import { Pane } from "./viewer/pane.js";

const HELP =
  "Picture. Arrow keys move the view, plus and minus zoom, 0 fits the picture, 1 shows it at 100 %, " +
  "C toggles the keyboard cursor, Enter inspects its position, F toggles full screen, " +
  "S and T hide or show the side panels.";

export function createViewer(root, app) {
  return new Viewer(root, app);
}

class Viewer {
  tool = null;
  shown = { job: null, layer: null, compared: null, beside: null, overlay: null, opacity: 0.5, position: 0.5 };
  #listeners = { place: new Set(), changed: new Set(), cursor: new Set() };

  constructor(root, app) {
    this.app = app;
    const caption = (className = "caption") => element("p", { class: className });
    this.captions = { main: caption(), compared: caption("caption right"), beside: caption() };
    const main = element("div", { class: "pane main" });
    const beside = element("div", { class: "pane beside", hidden: true });
    this.empty = element("p", { class: "empty" }, "The result appears here.");
    this.stage = element(
      "div",
      { class: "stage", tabIndex: 0, role: "application", "aria-label": HELP },
      main,
      beside,
      this.empty,
    );
    root.classList.add("viewer");
    root.append(this.stage);
    const onMove = (pane) => this.#onMove(pane);
    const onLead = (pane) => (this.leader = pane);
    this.panes = {
      main: new Pane(main, { onMove, onLead, onOpen: (pane) => pane.fit(true) }),
      beside: new Pane(beside, { onMove, onLead, onOpen: (pane) => pane.follow(this.panes.main) }),
    };
    this.leader = this.panes.main; // the other pane follows it
    main.append(this.captions.main, this.captions.compared);
    beside.append(this.captions.beside);
    this.divider = createDivider(main, (position) => this.compare(this.shown.compared, position));
    this.layers = new LayerResolver(this);
    this.cursor = new KeyboardCursor(this);
    listenToInput(this.stage, this);
    this.controls = createControls(root, this);
    app.state.on(() => this.#followState());
  }

  /** Show a layer of a finished job, or nothing for null. A comparison within the job stays. */
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
    this.#update();
  }

  /** Show another layer to the right of the divider, which is at `position` (0..1 of the width). */
  compare(reference, position = this.shown.position) {
    const isNew = reference && reference !== this.shown.compared;
    Object.assign(this.shown, { compared: reference, position });
    if (reference) this.shown.beside = null;
    this.panes.main.setSplit(position);
    this.divider.setPosition(position);
    if (isNew || !reference) this.#update();
  }

  /** Show another layer in a second pane that follows the first one. */
  sideBySide(reference) {
    this.shown.beside = reference;
    if (reference) this.shown.compared = null;
    this.#update();
  }

  /** Show a map over the picture. */
  overlay(layer, opacity = this.shown.opacity) {
    Object.assign(this.shown, { overlay: layer, opacity });
    this.#update();
  }

  /** Reload the visible tiles of a layer that has changed. */
  refresh(layer, version) {
    this.layers.versions.set(`${this.shown.job?.id}/${layer}`, version);
    this.#update();
  }

  job() {
    return this.shown.job;
  }

  layer() {
    return this.shown.layer;
  }

  /** Return the place {row, col} at a point of the window. */
  toImage(clientX, clientY) {
    return this.panes[this.#isBeside(clientX, clientY) ? "beside" : "main"].toImage(clientX, clientY);
  }

  /** Return the point {x, y} of a place, relative to the main pane. */
  toScreen(row, col) {
    return this.panes.main.toScreen(row, col);
  }

  /** Return the CSS pixels per pixel of the picture. */
  scale() {
    return this.panes.main.scale();
  }

  fit() {
    this.panes.main.fit();
  }

  /** Zoom to `factor` device pixels per pixel of the picture. */
  zoom(factor) {
    this.panes.main.zoomTo(factor / devicePixelRatio, this.cursor.isVisible ? this.cursor : null);
  }

  zoomBy(factor) {
    this.panes.main.zoomTo(this.scale() * factor, this.cursor.isVisible ? this.cursor : null);
  }

  /** Centre a place, at `scale` CSS pixels per pixel if it is set. */
  goTo(row, col, scale = null) {
    this.panes.main.centre(row, col);
    if (scale) this.panes.main.zoomTo(scale);
  }

  /** Move the picture by CSS pixels. */
  panBy(x, y) {
    const { row, col } = this.panes.main.toImage(...this.centre());
    this.panes.main.centre(row - y / this.scale(), col - x / this.scale(), true);
  }

  setTool(tool) {
    this.tool = tool;
    this.stage.dataset.tool = tool?.name ?? "";
    for (const { element } of Object.values(this.panes)) element.style.cursor = tool?.cursor ?? "";
    this.repaint();
  }

  /**
   * Call `paint(context, viewer)` to draw over the picture, in coordinates of toScreen. It returns false if it has
   * drawn nothing.
   */
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

  /** Listen to "place" (selected), "cursor" (pointer or cursor moved) or "changed" (view or layers). */
  on(name, listener) {
    this.#listeners[name].add(listener);
    return () => this.#listeners[name].delete(listener);
  }

  paneAt(target) {
    if (!this.shown.job || target.closest?.(".divider")) return null;
    return target.closest?.(".pane");
  }

  /** Report the place of the pointer; null if it has left. */
  setPointer(place) {
    this.#emit("cursor", place);
  }

  selectPlace({ row, col }) {
    const place = { row: Math.round(row), col: Math.round(col) };
    if (!this.shown.job) return;
    const { width, height } = this.shown.job.result;
    if (place.row < 0 || place.col < 0 || place.row >= height || place.col >= width) return;
    Object.assign(this.cursor, place);
    this.#emit("place", place);
    this.repaint();
  }

  /** Update the panes, captions and controls. */
  #update() {
    const { job, layer, compared, beside, overlay, opacity } = this.shown;
    const { main, beside: second } = this.panes;
    second.element.hidden = !beside;
    this.empty.hidden = Boolean(job);
    this.stage.classList.toggle("two", Boolean(beside));
    main.set("base", this.layers.tiles(layer));
    main.set("compared", this.layers.tiles(compared));
    main.setSplit(this.shown.position);
    this.divider.setVisible(Boolean(compared));
    second.set("base", this.layers.tiles(beside));
    for (const pane of [main, second]) pane.set("overlay", this.layers.tiles(overlay), { opacity });
    this.captions.main.textContent = this.layers.caption(layer);
    this.captions.compared.textContent = this.layers.caption(compared);
    this.captions.beside.textContent = this.layers.caption(beside);
    this.controls.update();
    this.repaint();
    this.#emit("changed", this);
  }

  /** Follow the jobs: new strokes, new results to compare with, or the shown job was deleted. */
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
    this.#update();
  }

  #onMove(pane) {
    if (!this.controls) return; // during construction
    if (this.shown.beside && pane === this.leader) {
      const { main, beside } = this.panes;
      (pane === main ? beside : main).follow(pane);
    }
    this.controls.updateLine();
    this.#emit("changed", this);
  }

  #isBeside(clientX, clientY) {
    const { left, right, top, bottom } = this.panes.beside.element.getBoundingClientRect();
    return clientX >= left && clientX < right && clientY >= top && clientY < bottom; // the rectangle of a hidden pane is empty
  }

  /** Return the centre of the main pane, in the window. */
  centre() {
    const { left, top, width, height } = this.panes.main.element.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  }

  #emit(name, value) {
    for (const listener of this.#listeners[name]) listener(value);
  }
}
