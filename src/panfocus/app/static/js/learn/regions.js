// Rectangles on the picture, drawn with the pointer or the keyboard cursor and remembered by the tab.

import { session } from "../storage.js";

const MIN_SIDE = 4; // px: less is a click

export class Regions {
  name = "rectangles";
  list = []; // {top, left, height, width, focused, blurred}
  highlighted = null;
  #job = null;
  #corner = null; // the first corner of a rectangle being drawn
  #end = null;

  /** `handlers` has onDraw(rectangle), onChange() and isVisible(). */
  constructor(viewer, handlers) {
    Object.assign(this, { viewer, handlers });
    viewer.addPainter((context) => this.#paint(context));
    viewer.on("cursor", (place) => {
      if (!this.#corner || place !== viewer.cursor) return;
      this.#end = { ...place };
      viewer.repaint();
    });
  }

  get isActive() {
    return this.viewer.tool === this;
  }

  open(job) {
    this.#job = job;
    this.list = (job && session.read(storageKey(job))) ?? [];
    this.highlighted = null;
    this.#corner = null;
    this.changed();
  }

  /** Store and draw a changed list. */
  changed() {
    if (this.#job) session.write(storageKey(this.#job), this.list);
    this.handlers.onChange();
    this.viewer.repaint();
  }

  highlight(region) {
    this.highlighted = region;
    this.viewer.repaint();
  }

  onDown(place) {
    this.#corner = place;
    this.#end = place;
  }

  onMove(place, event, isDown) {
    if (!isDown || !this.#corner) return;
    this.#end = place;
    this.viewer.repaint();
  }

  onUp(place, event) {
    if (event.type === "pointerup") this.#finish(place);
    this.#corner = null;
    this.viewer.repaint();
  }

  /** Space sets one corner at the keyboard cursor, then the other. */
  onKey(event, cursor) {
    if (event.key === "Escape" && this.#corner) {
      this.#corner = null;
      this.viewer.repaint();
      return true;
    }
    if (event.key !== " ") return false;
    if (!cursor.isVisible) {
      cursor.setVisible(true);
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
    const drawn = this.#corner && getRectangle(this.#corner, place, this.#job.result);
    if (drawn && drawn.height >= MIN_SIDE && drawn.width >= MIN_SIDE) this.handlers.onDraw(drawn);
  }

  #paint(context) {
    if (!this.handlers.isVisible()) return;
    const { result } = this.#job ?? {};
    const unfinished =
      this.#corner && result ? [{ ...getRectangle(this.#corner, this.#end, result), isUnfinished: true }] : [];
    context.font = "600 15px system-ui, sans-serif";
    [...this.list, ...unfinished].forEach((region, i) => {
      const from = this.viewer.toScreen(region.top - 0.5, region.left - 0.5);
      const [width, height] = [region.width * this.viewer.scale(), region.height * this.viewer.scale()];
      for (const [line, colour] of [[4, "#000a"], [2, region === this.highlighted || region.isUnfinished ? "#ffd54a" : "#fff"]]) {
        Object.assign(context, { lineWidth: line, strokeStyle: colour });
        context.strokeRect(from.x, from.y, width, height);
      }
      if (region.isUnfinished) return;
      const label = `${i + 1}`;
      context.fillStyle = "#000c";
      context.fillRect(from.x, from.y, context.measureText(label).width + 12, 22);
      context.fillStyle = "#fff";
      context.fillText(label, from.x + 6, from.y + 16);
    });
  }
}

/** Return the rectangle between two places, clipped to the picture. */
function getRectangle(one, other, { width, height }) {
  const span = (a, b, length) => {
    const clamp = (value) => Math.min(length - 1, Math.max(0, Math.round(value)));
    const [first, last] = [clamp(Math.min(a, b)), clamp(Math.max(a, b))];
    return [first, last - first + 1];
  };
  const [top, rows] = span(one.row, other.row, height);
  const [left, cols] = span(one.col, other.col, width);
  return { top, left, height: rows, width: cols };
}

const storageKey = (job) => `panfocus-regions-${job.id}`;
