/* The brush on the picture: a tool of the viewer that makes strokes, its outline, and a preview of its paint. */

import { Preview } from "./preview.js";

const LARGEST = 2000; // pixels across
const STEP = 1.15; // by which [ and ] change the size
const PATIENCE = 10_000; // ms: so long a preview waits for the picture that takes its place

export class Brush {
  name = "retouch";
  cursor = "none";
  size = 60; // pixels across
  hardness = 0.5;
  opacity = 1;
  frame = 0;
  match = false;
  picking = false; // the next click chooses a frame
  #place = null; // of the pointer, or of the keyboard cursor
  #drawn = null; // the stroke that is being drawn
  #fresh = []; // strokes that the picture does not show yet
  #last = null; // where the last stroke ended

  /* `on` has painted(stroke), pick(place), changed() (of the brush's properties). */
  constructor(viewer, on) {
    Object.assign(this, { viewer, on });
    this.preview = new Preview(viewer);
    viewer.addPainter((context) => this.#paint(context));
    viewer.on("cursor", (place) => {
      this.#place = place ? { row: place.row, col: place.col } : null;
      if (this.isSet) viewer.repaint();
      if (this.isSet && place && viewer.job()) this.preview.prepare(viewer.job(), this.#stroke(place));
    });
  }

  get isSet() {
    return this.viewer.tool === this;
  }

  set(properties) {
    Object.assign(this, properties);
    this.size = Math.min(LARGEST, Math.max(1, this.size));
    this.hardness = Math.min(1, Math.max(0, this.hardness));
    this.on.changed();
    this.viewer.repaint();
  }

  onDown(place) {
    if (this.picking) this.on.pick(place);
    else this.#drawn = this.#stroke(place);
    this.viewer.repaint();
  }

  onMove(place, event, down) {
    if (!down || !this.#drawn) return;
    const [row, col] = this.#drawn.points.at(-1);
    const moved = Math.hypot(place.row - row, place.col - col);
    if (moved < Math.max(0.03 * this.size, 0.5 / this.viewer.scale())) return;
    this.#drawn.points.push(point(place));
    this.viewer.repaint();
  }

  onUp(place, event) {
    const stroke = this.#drawn;
    this.#drawn = null;
    if (event.type === "pointerup" && stroke) this.#finish(stroke);
    this.viewer.repaint();
  }

  /* Space paints at the keyboard cursor, with Shift in a line from the last place. */
  onKey(event, cursor) {
    if (event.ctrlKey || event.metaKey) return false;
    const { key, shiftKey, code } = event;
    if (key === " ") {
      if (!cursor.shown) cursor.show(true);
      else if (this.picking) this.on.pick(cursor);
      else this.#finish(this.#stroke(cursor, shiftKey && this.#last ? [this.#last] : []));
      return true;
    }
    const bracket = { "[": -1, "{": -1, "]": 1, "}": 1 }[key];
    if (bracket) {
      const harder = shiftKey && code.startsWith("Bracket");
      this.set(harder ? { hardness: this.hardness + 0.1 * bracket } : { size: this.size * STEP ** bracket });
      return true;
    }
    const step = { ",": -1, ".": 1 }[key];
    if (step) {
      const n = this.viewer.job().result.n_frames;
      this.set({ frame: (this.frame + step + n) % n });
      return true;
    }
    if (key.toLowerCase() !== "b") return false; // with Caps Lock too
    this.on.pick(this.#place ?? cursor);
    return true;
  }

  /* Preview none but these: the others were taken back, or refused. */
  keepPreviews(strokes) {
    this.#fresh = this.#fresh.filter((stroke) => strokes.includes(stroke));
    this.viewer.repaint();
  }

  /* The picture with these strokes was asked for: their previews end when it has come. */
  async endPreviews(strokes) {
    const { main } = this.viewer.panes;
    for (const end = performance.now() + PATIENCE; !main.loaded && performance.now() < end; ) {
      await new Promise(requestAnimationFrame);
    }
    this.#fresh = this.#fresh.filter((stroke) => !strokes.includes(stroke));
    this.viewer.repaint();
  }

  forget() {
    this.#fresh = [];
    this.#drawn = null;
    this.#last = null;
  }

  #stroke(place, before = []) {
    const { frame, size, hardness, opacity, match } = this;
    const points = [...before, point(place)];
    return { frame, points, radius: size / 2, hardness, opacity, gain: null, ...(match ? { match } : {}) };
  }

  #finish(stroke) {
    const { width, height } = this.viewer.job().result;
    const reaches = ([row, col]) =>
      row > -stroke.radius && col > -stroke.radius && row < height + stroke.radius && col < width + stroke.radius;
    if (!stroke.points.some(reaches)) return; // beside the picture
    this.#last = stroke.points.at(-1);
    this.#fresh.push(stroke);
    this.on.painted(stroke);
    this.viewer.repaint();
  }

  #paint(context) {
    const { viewer } = this;
    const strokes = this.#drawn ? [...this.#fresh, this.#drawn] : this.#fresh;
    const onPicture = context.canvas === viewer.panes.main.canvas; // a pane beside it shows what there is
    if (onPicture && strokes.length) this.preview.paint(context, viewer.job(), strokes);
    if (!this.isSet) return;
    const place = this.#place ?? (viewer.cursor.shown ? viewer.cursor : null);
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
    context.fillStyle = this.picking ? "#ffd54a" : "#fff";
    context.fillRect(x - 1, y - 1, 2, 2);
  }
}

const point = ({ row, col }) => [Math.round(row * 100) / 100, Math.round(col * 100) / 100];
