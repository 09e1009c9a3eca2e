// The layers of a job: their names and tiles.
//
// A reference is the name of a layer ("fused", "frame-3") of the shown job, or "JOB/LAYER" for another job.

const NAMES = {
  fused: "Result",
  retouched: "Result, retouched",
  labels: "Source frames",
  depth: "Depth",
  confidence: "Confidence",
  never_in_focus: "Never in focus",
};
export const MAPS = ["labels", "depth", "confidence", "never_in_focus"];

export function listLayers(job) {
  const has = new Set(job.result.layers);
  return {
    pictures: ["fused", ...(has.has("retouched") || job.retouch?.n_strokes ? ["retouched"] : [])],
    frames: job.result.names.map((_, k) => `frame-${k}`),
    maps: MAPS.filter((name) => has.has(name)),
  };
}

export function layerName(job, layer) {
  const frame = /^frame-(\d+)$/.exec(layer);
  if (!frame) return NAMES[layer] ?? layer;
  return `Frame ${Number(frame[1]) + 1}: ${job.result.names[frame[1]] ?? ""}`;
}

/** List other results of the stack: [reference, text, isDisabled]. A comparison needs the same size. */
export function listOtherResults(job, jobs) {
  const others = jobs.filter(
    ({ id, stack, kind, state }) => id !== job.id && stack === job.stack && kind === "fuse" && state === "done",
  );
  return others.map(({ id, name, result: { width, height } }) => {
    const isDisabled = width !== job.result.width || height !== job.result.height;
    return [`${id}/fused`, isDisabled ? `${name} (other size: ${width} × ${height})` : name, isDisabled];
  });
}

/** Format a place; x and y count from 0 at the top left pixel. */
export function positionText({ row, col }) {
  return `x ${Math.round(col)}, y ${Math.round(row)}`;
}

/** Resolves references for a viewer. */
export class LayerResolver {
  versions = new Map(); // of changed layers, by "JOB/LAYER"

  constructor(viewer) {
    this.viewer = viewer;
  }

  tiles(reference) {
    const { job, layer } = this.#resolve(reference);
    if (!job?.result) return null;
    // The newest version may come from the job or from a stroke painted here.
    const known = this.versions.get(`${job.id}/${layer}`) ?? 0;
    return createSource(job, layer, layer === "retouched" ? Math.max(known, job.retouch?.version ?? 0) : known || job.ended);
  }

  caption(reference) {
    const { job, layer } = this.#resolve(reference);
    if (!job?.result) return "";
    return job === this.viewer.job() ? layerName(job, layer) : `${job.name}: ${layerName(job, layer)}`;
  }

  #resolve(reference) {
    const shown = this.viewer.job();
    if (!reference || !shown) return { job: null, layer: null };
    const [layer, id] = reference.split("/").reverse();
    if (!id || id === shown.id) return { job: shown, layer };
    return { job: this.viewer.app.state.get().jobs.find((job) => job.id === id), layer };
  }
}

/** Return the source of a layer for Pane.set. */
function createSource(job, layer, version) {
  const { width, height, levels, tile } = job.result;
  const path = `/api/jobs/${encodeURIComponent(job.id)}/tiles/${layer}`;
  const query = `?v=${encodeURIComponent(version)}`;
  return {
    key: path + query,
    width,
    height,
    levels,
    tile,
    transparent: MAPS.includes(layer),
    url: (e, col, row) => `${path}/${e}/${col}_${row}${query}`,
  };
}
