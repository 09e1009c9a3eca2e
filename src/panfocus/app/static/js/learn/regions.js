/* Rectangles on the picture: drawn with pointer or keyboard cursor, kept as long as the page is open. */

import { keep, kept } from "../kept.js";

const SMALLEST = 4; // pixels a side: less is a click

export class Regions {
  name = "rectangles";
  list = []; // {top, left, height, width, focused, blurred}
  chosen = null;
  #job = null;
  #corner = null; // where a rectangle began
  #end = null;

  /* `on` has drawn(rectangle), changed(), and shown(): whether they are to be seen. */
  constructor(viewer, on) {
    Object.assign(this, { viewer, on });
    viewer.addPainter((context) => this.#paint(context));
    viewer.on("cursor", (place) => {
      if (!this.#corner || place !== viewer.cursor) return;
      this.#end = { ...place };
      viewer.repaint();
    });
  }

  get isSet() {
    return this.viewer.tool === this;
  }

  open(job) {
    this.#job = job;
    this.list = (job && kept(key(job))) ?? [];
    this.chosen = null;
    this.#corner = null;
    this.changed();
  }

  /* Some of the list is another now. */
  changed() {
    if (this.#job) keep(key(this.#job), this.list);
    this.on.changed();
    this.viewer.repaint();
  }

  choose(region) {
    this.chosen = region;
    this.viewer.repaint();
  }

  onDown(place) {
    this.#corner = place;
    this.#end = place;
  }

  onMove(place, event, down) {
    if (!down || !this.#corner) return;
    this.#end = place;
    this.viewer.repaint();
  }

  onUp(place, event) {
    if (event.type === "pointerup") this.#finish(place);
    this.#corner = null;
    this.viewer.repaint();
  }

  /* Space puts one corner at the keyboard cursor, then the other. */
  onKey(event, cursor) {
    if (event.key === "Escape" && this.#corner) {
      this.#corner = null;
      this.viewer.repaint();
      return true;
    }
    if (event.key !== " ") return false;
    if (!cursor.shown) {
      cursor.show(true);
    } else if (this.#corner) {
      this.#finish(cursor);
      this.#corner = null;
    } else {
      this.#corner = { row: cursor.row, col: cursor.col };
      this.#end = this.#corner;
    }
    this.viewer.repaint();
    return true;
  }

  #finish(place) {
    const made = this.#corner && rectangle(this.#corner, place, this.#job.result);
    if (made && made.height >= SMALLEST && made.width >= SMALLEST) this.on.drawn(made);
  }

  #paint(context) {
    if (!this.on.shown()) return;
    const { result } = this.#job ?? {};
    const begun = this.#corner && result ? [{ ...rectangle(this.#corner, this.#end, result), begun: true }] : [];
    context.font = "600 15px system-ui, sans-serif";
    [...this.list, ...begun].forEach((region, i) => {
      const from = this.viewer.toScreen(region.top - 0.5, region.left - 0.5);
      const [width, height] = [region.width * this.viewer.scale(), region.height * this.viewer.scale()];
      for (const [line, colour] of [[4, "#000a"], [2, region === this.chosen || region.begun ? "#ffd54a" : "#fff"]]) {
        Object.assign(context, { lineWidth: line, strokeStyle: colour });
        context.strokeRect(from.x, from.y, width, height);
      }
      if (region.begun) return;
      const label = `${i + 1}`;
      context.fillStyle = "#000c";
      context.fillRect(from.x, from.y, context.measureText(label).width + 12, 22);
      context.fillStyle = "#fff";
      context.fillText(label, from.x + 6, from.y + 16);
    });
  }
}

/* The pixels between two places, within the picture. */
function rectangle(one, other, { width, height }) {
  const span = (a, b, length) => {
    const clamp = (value) => Math.min(length - 1, Math.max(0, Math.round(value)));
    const [first, last] = [clamp(Math.min(a, b)), clamp(Math.max(a, b))];
    return [first, last - first + 1];
  };
  const [top, rows] = span(one.row, other.row, height);
  const [left, cols] = span(one.col, other.col, width);
  return { top, left, height: rows, width: cols };
}

const key = (job) => `panfocus-regions-${job.id}`;
