/* The layers of a job: what they are called on the page, and where their tiles come from.

   A reference is the name of a layer ("fused", "frame-3") of the job that is shown, or "JOB/LAYER" for a layer
   of another job. */

const NAMES = {
  fused: "Result",
  retouched: "Result, retouched",
  labels: "Labels",
  depth: "Depth",
  confidence: "Confidence",
  never_in_focus: "Never in focus",
};
export const MAPS = ["labels", "depth", "confidence", "never_in_focus"];

export function layersOf(job) {
  const has = new Set(job.result.layers);
  return {
    pictures: ["fused", ...(has.has("retouched") || job.retouch?.n_strokes ? ["retouched"] : [])],
    frames: job.result.names.map((_, k) => `frame-${k}`),
    maps: MAPS.filter((name) => has.has(name)),
  };
}

export function nameOf(job, layer) {
  const frame = /^frame-(\d+)$/.exec(layer);
  if (!frame) return NAMES[layer] ?? layer;
  return `Frame ${Number(frame[1]) + 1}: ${job.result.names[frame[1]] ?? ""}`;
}

/* Other results of the stack, as [reference, text, whether it cannot be compared]: pixels must lie on pixels. */
export function rivalsOf(job, jobs) {
  const others = jobs.filter(
    ({ id, stack, kind, state }) => id !== job.id && stack === job.stack && kind === "fuse" && state === "done",
  );
  return others.map(({ id, name, result: { width, height } }) => {
    const unlike = width !== job.result.width || height !== job.result.height;
    return [`${id}/fused`, unlike ? `${name} (other size: ${width} × ${height})` : name, unlike];
  });
}

/* What references mean to a viewer, by the job that it shows. */
export class Layers {
  versions = new Map(); // of layers that have changed since they were first shown, by "JOB/LAYER"

  constructor(viewer) {
    this.viewer = viewer;
  }

  tiles(reference) {
    const { job, layer } = this.#resolve(reference);
    if (!job?.result) return null;
    // Versions rise: what was just painted may be known here before the job tells it, or the other way round.
    const known = this.versions.get(`${job.id}/${layer}`) ?? 0;
    return tilesOf(job, layer, layer === "retouched" ? Math.max(known, job.retouch?.version ?? 0) : known || job.ended);
  }

  caption(reference) {
    const { job, layer } = this.#resolve(reference);
    if (!job?.result) return "";
    return job === this.viewer.job() ? nameOf(job, layer) : `${job.name}: ${nameOf(job, layer)}`;
  }

  #resolve(reference) {
    const shown = this.viewer.job();
    if (!reference || !shown) return { job: null, layer: null };
    const [layer, id] = reference.split("/").reverse();
    if (!id || id === shown.id) return { job: shown, layer };
    return { job: this.viewer.app.state.get().jobs.find((job) => job.id === id), layer };
  }
}

function tilesOf(job, layer, version) {
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
