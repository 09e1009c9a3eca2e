// The brush: a tool of the viewer that creates strokes, with an outline and a preview.

import { Preview } from "./preview.js";

const MAX_SIZE = 2000; // px, diameter
const STEP = 1.15; // factor of size for [ and ]
const PREVIEW_TIMEOUT = 10_000; // ms until a preview ends even if the retouched picture is not loaded

export class Brush {
  name = "retouch";
  cursor = "none";
  size = 60; // px, diameter
  hardness = 0.5;
  opacity = 1;
  frame = 0;
  match = false; // match the brightness of the result
  isPicking = false; // the next click selects a frame
  #place = null; // of the pointer or the keyboard cursor
  #current = null; // the stroke that is being painted
  #previewed = []; // strokes that the picture does not show yet
  #last = null; // end of the last stroke

  /** `handlers` has onPaint(stroke), onPick(place) and onChange() for the brush's properties. */
  constructor(viewer, handlers) {
    Object.assign(this, { viewer, handlers });
    this.preview = new Preview(viewer);
    viewer.addPainter((context) => this.#paint(context));
    viewer.on("cursor", (place) => {
      this.#place = place ? { row: place.row, col: place.col } : null;
      if (this.isActive) viewer.repaint();
      if (this.isActive && place && viewer.job()) this.preview.prepare(viewer.job(), this.#stroke(place));
    });
  }

  get isActive() {
    return this.viewer.tool === this;
  }

  set(properties) {
    Object.assign(this, properties);
    this.size = Math.min(MAX_SIZE, Math.max(1, this.size));
    this.hardness = Math.min(1, Math.max(0, this.hardness));
    this.handlers.onChange();
    this.viewer.repaint();
  }

  onDown(place) {
    if (this.isPicking) this.handlers.onPick(place);
    else this.#current = this.#stroke(place);
    this.viewer.repaint();
  }

  onMove(place, event, isDown) {
    if (!isDown || !this.#current) return;
    const [row, col] = this.#current.points.at(-1);
    const distance = Math.hypot(place.row - row, place.col - col);
    if (distance < Math.max(0.03 * this.size, 0.5 / this.viewer.scale())) return;
    this.#current.points.push(toPoint(place));
    this.viewer.repaint();
  }

  onUp(place, event) {
    const stroke = this.#current;
    this.#current = null;
    if (event.type === "pointerup" && stroke) this.#finish(stroke);
    this.viewer.repaint();
  }

  /** Space paints at the keyboard cursor, with Shift in a line from the last point. */
  onKey(event, cursor) {
    if (event.ctrlKey || event.metaKey) return false;
    const { key, shiftKey, code } = event;
    if (key === " ") {
      if (!cursor.isVisible) cursor.setVisible(true);
      else if (this.isPicking) this.handlers.onPick(cursor);
      else this.#finish(this.#stroke(cursor, shiftKey && this.#last ? [this.#last] : []));
      return true;
    }
    const bracket = { "[": -1, "{": -1, "]": 1, "}": 1 }[key];
    if (bracket) {
      const isHardness = shiftKey && code.startsWith("Bracket");
      this.set(isHardness ? { hardness: this.hardness + 0.1 * bracket } : { size: this.size * STEP ** bracket });
      return true;
    }
    const step = { ",": -1, ".": 1 }[key];
    if (step) {
      const n = this.viewer.job().result.n_frames;
      this.set({ frame: (this.frame + step + n) % n });
      return true;
    }
    if (key.toLowerCase() !== "b") return false; // also with Caps Lock
    this.handlers.onPick(this.#place ?? cursor);
    return true;
  }

  /** Remove the previews of strokes that were undone or rejected. */
  keepPreviews(strokes) {
    this.#previewed = this.#previewed.filter((stroke) => strokes.includes(stroke));
    this.viewer.repaint();
  }

  /** End the previews of these strokes when the picture that includes them is loaded. */
  async endPreviews(strokes) {
    const { main } = this.viewer.panes;
    for (const end = performance.now() + PREVIEW_TIMEOUT; !main.isLoaded && performance.now() < end; ) {
      await new Promise(requestAnimationFrame);
    }
    this.#previewed = this.#previewed.filter((stroke) => !strokes.includes(stroke));
    this.viewer.repaint();
  }

  reset() {
    this.#previewed = [];
    this.#current = null;
    this.#last = null;
  }

  #stroke(place, before = []) {
    const { frame, size, hardness, opacity, match } = this;
    const points = [...before, toPoint(place)];
    return { frame, points, radius: size / 2, hardness, opacity, gain: null, ...(match ? { match } : {}) };
  }

  #finish(stroke) {
    const { width, height } = this.viewer.job().result;
    const reaches = ([row, col]) =>
      row > -stroke.radius && col > -stroke.radius && row < height + stroke.radius && col < width + stroke.radius;
    if (!stroke.points.some(reaches)) return; // outside the picture
    this.#last = stroke.points.at(-1);
    this.#previewed.push(stroke);
    this.handlers.onPaint(stroke);
    this.viewer.repaint();
  }

  #paint(context) {
    const { viewer } = this;
    const strokes = this.#current ? [...this.#previewed, this.#current] : this.#previewed;
    const isMain = context.canvas === viewer.panes.main.canvas; // no preview in the second pane
    if (isMain && strokes.length) this.preview.paint(context, viewer.job(), strokes);
    if (!this.isActive) return;
    const place = this.#place ?? (viewer.cursor.isVisible ? viewer.cursor : null);
    if (!place) return;
    const { x, y } = viewer.toScreen(place.row, place.col);
    const radius = Math.max((this.size / 2) * viewer.scale(), 2);
    const circle = (part) => {
      context.beginPath();
      context.arc(x, y, radius * part, 0, 2 * Math.PI);
      context.stroke();
    };
    for (const [width, colour] of [[3, "#000a"], [1, "#fff"]]) {
      Object.assign(context, { lineWidth: width, strokeStyle: colour });
      circle(1);
      context.setLineDash([3, 4]);
      if (this.hardness > 0 && this.hardness < 1) circle(this.hardness);
      context.setLineDash([]);
    }
    context.fillStyle = this.isPicking ? "#ffd54a" : "#fff";
    context.fillRect(x - 1, y - 1, 2, 2);
  }
}

const toPoint = ({ row, col }) => [Math.round(row * 100) / 100, Math.round(col * 100) / 100];
