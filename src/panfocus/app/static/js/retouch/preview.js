/* What a stroke will give, drawn at once: the source frame's tiles, cut out by the brush. */

const MOST_TILES = 96; // kept; of 512 x 512 pixels each
const RINGS = 10; // steps of a soft edge

export class Preview {
  #tiles = new Map(); // by address, the longest unused first
  #sheet = document.createElement("canvas");
  #frame = document.createElement("canvas");

  constructor(viewer) {
    this.viewer = viewer;
  }

  /* Draw strokes over the picture; `context` is that of a painter. */
  paint(context, job, strokes) {
    const { canvas } = context;
    const sheet = this.#sheet;
    const ratio = devicePixelRatio;
    for (const stroke of strokes) {
      if (sheet.width !== canvas.width || sheet.height !== canvas.height) {
        Object.assign(sheet, { width: canvas.width, height: canvas.height });
      }
      const brush = sheet.getContext("2d");
      brush.setTransform(1, 0, 0, 1, 0, 0);
      brush.globalCompositeOperation = "source-over";
      brush.clearRect(0, 0, sheet.width, sheet.height);
      brush.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.#mask(brush, stroke);
      brush.globalCompositeOperation = "source-in";
      brush.imageSmoothingEnabled = this.viewer.scale() * ratio < 0.999;
      this.#fill(brush, job, stroke);
      context.save();
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.globalAlpha = stroke.opacity;
      context.drawImage(sheet, 0, 0);
      context.restore();
    }
  }

  /* Ask for the tiles below a brush before it is pressed. */
  prepare(job, stroke) {
    for (const part of this.#parts(job, stroke)) this.#tile(part.url);
  }

  /* How much of the frame is painted, as alpha: wide rings below narrow ones add up to an even slope. */
  #mask(brush, { points, radius, hardness }) {
    const scale = this.viewer.scale();
    const soft = (1 - hardness) * radius * scale > 1;
    const rings = soft ? RINGS : 1;
    brush.lineCap = "round";
    brush.lineJoin = "round";
    let reached = 0;
    for (let i = 1; i <= rings; i += 1) {
      const wanted = i / rings;
      brush.globalAlpha = 1 - (1 - wanted) / (1 - reached);
      reached = wanted;
      const part = soft ? hardness + (1 - hardness) * (1 - (i - 0.5) / rings) : 1;
      brush.lineWidth = Math.max(2 * radius * part * scale, 1);
      brush.beginPath();
      points.forEach(([row, col], at) => {
        const { x, y } = this.viewer.toScreen(row, col);
        if (at === 0) brush.moveTo(x - 0.01, y); // a line of no length would not be drawn
        brush.lineTo(x, y);
      });
      brush.stroke();
    }
    brush.globalAlpha = 1;
  }

  /* Fill what is masked with the frame. `source-in` takes the rest away, so all goes through one picture. */
  #fill(brush, job, stroke) {
    const whole = this.#frame;
    const { width, height } = brush.canvas;
    if (whole.width !== width || whole.height !== height) Object.assign(whole, { width, height });
    const context = whole.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = "#8ab4ff66"; // where a tile has not come yet: a trace
    context.clearRect(0, 0, width, height);
    context.fillRect(0, 0, width, height);
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.imageSmoothingEnabled = brush.imageSmoothingEnabled;
    for (const { url, top, left, side } of this.#parts(job, stroke)) {
      const tile = this.#tile(url);
      if (!tile.complete || !tile.naturalWidth) continue;
      const from = this.viewer.toScreen(top - 0.5, left - 0.5);
      const factor = side * this.viewer.scale();
      context.drawImage(tile, from.x, from.y, tile.naturalWidth * factor, tile.naturalHeight * factor);
    }
    brush.setTransform(1, 0, 0, 1, 0, 0);
    brush.drawImage(whole, 0, 0);
  }

  /* The tiles that a stroke touches where it is seen, at the level that the screen needs. */
  #parts(job, { frame, points, radius }) {
    const { width, height, levels, tile } = job.result;
    const e = Math.min(levels - 1, Math.max(0, Math.floor(-Math.log2(this.viewer.scale() * devicePixelRatio) + 0.01)));
    const side = 2 ** e;
    const step = tile * side;
    const { clientWidth, clientHeight } = this.viewer.panes.main.element;
    const { x, y } = this.viewer.toScreen(0, 0);
    const scale = this.viewer.scale();
    const span = (at, from, to, length) => {
      const values = points.map((point) => point[at]);
      const first = Math.max(0, from, Math.min(...values) - radius);
      const last = Math.min(length - 1, to, Math.max(...values) + radius);
      const found = [];
      for (let k = Math.floor(first / step); k * step <= last; k += 1) found.push(k);
      return found;
    };
    const rows = span(0, -y / scale, (clientHeight - y) / scale, height);
    const cols = span(1, -x / scale, (clientWidth - x) / scale, width);
    const path = `/api/jobs/${encodeURIComponent(job.id)}/tiles/frame-${frame}/${e}`;
    const query = `?v=${encodeURIComponent(job.ended)}`;
    return rows.flatMap((row) =>
      cols.map((col) => ({ url: `${path}/${col}_${row}${query}`, top: row * step, left: col * step, side })),
    );
  }

  #tile(url) {
    let tile = this.#tiles.get(url);
    if (tile) {
      this.#tiles.delete(url);
    } else {
      tile = new Image();
      tile.onload = () => this.viewer.repaint();
      tile.src = url;
    }
    this.#tiles.set(url, tile);
    if (this.#tiles.size > MOST_TILES) this.#tiles.delete(this.#tiles.keys().next().value);
    return tile;
  }
}
