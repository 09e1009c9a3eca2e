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
    const { width, height } = context.canvas;
    for (const sheet of [this.#sheet, this.#frame]) {
      if (sheet.width !== width || sheet.height !== height) Object.assign(sheet, { width, height });
    }
    for (const stroke of strokes) this.#paintOne(context, job, stroke);
  }

  /* Ask for the tiles below a brush before it is pressed. */
  prepare(job, stroke) {
    for (const part of this.#parts(job, stroke)) this.#tile(part.url);
  }

  #paintOne(context, job, stroke) {
    const part = this.#extent(context.canvas, stroke);
    if (!part) return;
    const brush = this.#begin(this.#sheet, part);
    this.#mask(brush, stroke);
    this.#fill(this.#begin(this.#frame, part), part, job, stroke);
    brush.globalCompositeOperation = "source-in";
    brush.setTransform(1, 0, 0, 1, 0, 0);
    brush.drawImage(this.#frame, ...part, ...part);
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.globalAlpha = stroke.opacity;
    context.drawImage(this.#sheet, ...part, ...part);
    context.restore();
  }

  /* What a stroke reaches of a canvas: left, top, width and height, in its pixels. */
  #extent(canvas, { points, radius }) {
    const from = this.viewer.toScreen(least(points, 0) - radius, least(points, 1) - radius);
    const to = this.viewer.toScreen(most(points, 0) + radius, most(points, 1) + radius);
    const edge = (value, size) => Math.min(size, Math.max(0, Math.round(value * devicePixelRatio)));
    const [left, top] = [edge(from.x - 2, canvas.width), edge(from.y - 2, canvas.height)];
    const [width, height] = [edge(to.x + 2, canvas.width) - left, edge(to.y + 2, canvas.height) - top];
    return width > 0 && height > 0 ? [left, top, width, height] : null;
  }

  /* An empty part of a sheet, to be drawn on in the pixels of the page. */
  #begin(sheet, part) {
    const context = sheet.getContext("2d");
    context.reset();
    context.beginPath();
    context.rect(...part);
    context.clip();
    context.scale(devicePixelRatio, devicePixelRatio);
    return context;
  }

  /* How much of the frame is painted, as alpha: wide rings below narrow ones add up to an even slope. */
  #mask(brush, { points, radius, hardness }) {
    const scale = this.viewer.scale();
    const origin = this.viewer.toScreen(0, 0);
    const soft = (1 - hardness) * radius * scale > 1;
    const rings = soft ? RINGS : 1;
    const line = new Path2D();
    const [[row, col]] = points;
    line.moveTo(origin.x + col * scale - 0.01, origin.y + row * scale); // one of no length would not be drawn
    for (const [y, x] of points) line.lineTo(origin.x + x * scale, origin.y + y * scale);
    brush.lineCap = "round";
    brush.lineJoin = "round";
    for (let i = 1; i <= rings; i += 1) {
      brush.globalAlpha = 1 - (1 - i / rings) / (1 - (i - 1) / rings);
      const part = soft ? hardness + (1 - hardness) * (1 - (i - 0.5) / rings) : 1;
      brush.lineWidth = Math.max(2 * radius * part * scale, 1);
      brush.stroke(line);
    }
    brush.globalAlpha = 1;
  }

  /* The frame, and a trace where a tile of it has not come yet. */
  #fill(context, part, job, stroke) {
    const scale = this.viewer.scale();
    context.fillStyle = "#8ab4ff66";
    context.fillRect(...part.map((value) => value / devicePixelRatio));
    context.imageSmoothingEnabled = scale * devicePixelRatio < 0.999;
    for (const { url, top, left, side } of this.#parts(job, stroke)) {
      const tile = this.#tile(url);
      if (!tile.bitmap) continue;
      const from = this.viewer.toScreen(top - 0.5, left - 0.5);
      const { width, height } = tile.bitmap;
      context.drawImage(tile.bitmap, from.x, from.y, width * side * scale, height * side * scale);
    }
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
      const first = Math.max(0, from, least(points, at) - radius);
      const last = Math.min(length - 1, to, most(points, at) + radius);
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

  /* A tile, whose bitmap comes later: decoded aside, so that the page goes on meanwhile. */
  #tile(url) {
    const tile = this.#tiles.get(url) ?? this.#fetched(url);
    this.#tiles.delete(url);
    this.#tiles.set(url, tile);
    if (this.#tiles.size > MOST_TILES) this.#tiles.delete(this.#tiles.keys().next().value);
    return tile;
  }

  #fetched(url) {
    const tile = { bitmap: null };
    fetch(url)
      .then((answer) => answer.blob())
      .then(createImageBitmap)
      .then((bitmap) => {
        tile.bitmap = bitmap;
        this.viewer.repaint();
      })
      .catch(() => this.#tiles.delete(url)); // asked for again when it is needed again
    return tile;
  }
}

const least = (points, at) => points.reduce((value, point) => Math.min(value, point[at]), Infinity);
const most = (points, at) => points.reduce((value, point) => Math.max(value, point[at]), -Infinity);
