// The preview of a stroke: tiles of the source frame, masked by the brush.

const MAX_TILES = 96; // in the cache; 512 x 512 pixels each
const RINGS = 10; // steps of a soft edge

export class Preview {
  #tiles = new Map(); // by URL, least recently used first
  #masked = document.createElement("canvas");
  #frame = document.createElement("canvas");

  constructor(viewer) {
    this.viewer = viewer;
  }

  /** Draw strokes over the picture; `context` is that of a painter. */
  paint(context, job, strokes) {
    const { width, height } = context.canvas;
    for (const canvas of [this.#masked, this.#frame]) {
      if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    }
    for (const stroke of strokes) this.#paintOne(context, job, stroke);
  }

  /** Request the tiles below the brush before it is pressed. */
  prepare(job, stroke) {
    for (const { url } of this.#listTiles(job, stroke)) this.#getTile(url);
  }

  #paintOne(context, job, stroke) {
    const part = this.#getExtent(context.canvas, stroke);
    if (!part) return;
    const brush = this.#prepareCanvas(this.#masked, part);
    this.#paintMask(brush, stroke);
    this.#paintFrame(this.#prepareCanvas(this.#frame, part), part, job, stroke);
    brush.globalCompositeOperation = "source-in";
    brush.setTransform(1, 0, 0, 1, 0, 0);
    brush.drawImage(this.#frame, ...part, ...part);
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.globalAlpha = stroke.opacity;
    context.drawImage(this.#masked, ...part, ...part);
    context.restore();
  }

  /** Return the part of a canvas that a stroke covers: left, top, width, height, in pixels; null if none. */
  #getExtent(canvas, { points, radius }) {
    const from = this.viewer.toScreen(lowest(points, 0) - radius, lowest(points, 1) - radius);
    const to = this.viewer.toScreen(highest(points, 0) + radius, highest(points, 1) + radius);
    const edge = (value, size) => Math.min(size, Math.max(0, Math.round(value * devicePixelRatio)));
    const [left, top] = [edge(from.x - 2, canvas.width), edge(from.y - 2, canvas.height)];
    const [width, height] = [edge(to.x + 2, canvas.width) - left, edge(to.y + 2, canvas.height) - top];
    return width > 0 && height > 0 ? [left, top, width, height] : null;
  }

  /** Clear a canvas and clip it to a part; units are CSS pixels. */
  #prepareCanvas(canvas, part) {
    const context = canvas.getContext("2d");
    context.reset();
    context.beginPath();
    context.rect(...part);
    context.clip();
    context.scale(devicePixelRatio, devicePixelRatio);
    return context;
  }

  /** Paint the opacity of the stroke: rings of decreasing width add up to a linear slope. */
  #paintMask(brush, { points, radius, hardness }) {
    const scale = this.viewer.scale();
    const origin = this.viewer.toScreen(0, 0);
    const isSoft = (1 - hardness) * radius * scale > 1;
    const rings = isSoft ? RINGS : 1;
    const line = new Path2D();
    const [[row, col]] = points;
    line.moveTo(origin.x + col * scale - 0.01, origin.y + row * scale); // a line without length is not drawn
    for (const [y, x] of points) line.lineTo(origin.x + x * scale, origin.y + y * scale);
    brush.lineCap = "round";
    brush.lineJoin = "round";
    for (let i = 1; i <= rings; i += 1) {
      brush.globalAlpha = 1 - (1 - i / rings) / (1 - (i - 1) / rings);
      const part = isSoft ? hardness + (1 - hardness) * (1 - (i - 0.5) / rings) : 1;
      brush.lineWidth = Math.max(2 * radius * part * scale, 1);
      brush.stroke(line);
    }
    brush.globalAlpha = 1;
  }

  /** Paint the frame, or a plain colour where a tile is not loaded yet. */
  #paintFrame(context, part, job, stroke) {
    const scale = this.viewer.scale();
    context.fillStyle = "#8ab4ff66";
    context.fillRect(...part.map((value) => value / devicePixelRatio));
    context.imageSmoothingEnabled = scale * devicePixelRatio < 0.999;
    for (const { url, top, left, side } of this.#listTiles(job, stroke)) {
      const tile = this.#getTile(url);
      if (!tile.bitmap) continue;
      const from = this.viewer.toScreen(top - 0.5, left - 0.5);
      const { width, height } = tile.bitmap;
      context.drawImage(tile.bitmap, from.x, from.y, width * side * scale, height * side * scale);
    }
  }

  /** List the tiles that the visible part of a stroke touches, at the level of the screen. */
  #listTiles(job, { frame, points, radius }) {
    const { width, height, levels, tile } = job.result;
    const e = Math.min(levels - 1, Math.max(0, Math.floor(-Math.log2(this.viewer.scale() * devicePixelRatio) + 0.01)));
    const side = 2 ** e;
    const step = tile * side;
    const { clientWidth, clientHeight } = this.viewer.panes.main.element;
    const { x, y } = this.viewer.toScreen(0, 0);
    const scale = this.viewer.scale();
    const span = (at, from, to, length) => {
      const first = Math.max(0, from, lowest(points, at) - radius);
      const last = Math.min(length - 1, to, highest(points, at) + radius);
      const indices = [];
      for (let k = Math.floor(first / step); k * step <= last; k += 1) indices.push(k);
      return indices;
    };
    const rows = span(0, -y / scale, (clientHeight - y) / scale, height);
    const cols = span(1, -x / scale, (clientWidth - x) / scale, width);
    const path = `/api/jobs/${encodeURIComponent(job.id)}/tiles/frame-${frame}/${e}`;
    const query = `?v=${encodeURIComponent(job.ended)}`;
    return rows.flatMap((row) =>
      cols.map((col) => ({ url: `${path}/${col}_${row}${query}`, top: row * step, left: col * step, side })),
    );
  }

  /** Return a tile; its bitmap is null until it is loaded. */
  #getTile(url) {
    const tile = this.#tiles.get(url) ?? this.#fetchTile(url);
    this.#tiles.delete(url);
    this.#tiles.set(url, tile);
    if (this.#tiles.size > MAX_TILES) this.#tiles.delete(this.#tiles.keys().next().value);
    return tile;
  }

  #fetchTile(url) {
    const tile = { bitmap: null };
    fetch(url)
      .then((response) => response.blob())
      .then(createImageBitmap)
      .then((bitmap) => {
        tile.bitmap = bitmap;
        this.viewer.repaint();
      })
      .catch(() => this.#tiles.delete(url)); // requested again when needed
    return tile;
  }
}

const lowest = (points, at) => points.reduce((value, point) => Math.min(value, point[at]), Infinity);
const highest = (points, at) => points.reduce((value, point) => Math.max(value, point[at]), -Infinity);
