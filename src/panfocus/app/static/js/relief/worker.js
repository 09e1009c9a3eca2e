// Loads the depth map and the picture of a job and draws the relief, outside the main thread.
//
// Input: {canvas} once; {job} to show its relief; {view, width, height} when the view changes.
// Output: {job: id, error: ""} when it is loaded, else with an error message ("webgl": not supported).

import { createSurface } from "./surface.js";

const GRID = 256; // points of the mesh along the longer side

let surface = null;
let requested = null; // job
let view = null;
let isPending = false; // a frame was requested

self.addEventListener("message", ({ data: { canvas, job, ...newView } }) => {
  if (canvas) surface = createSurface(canvas, draw);
  else if (job) load(job);
  else {
    view = newView;
    draw();
  }
});

function draw() {
  if (isPending) return;
  isPending = true;
  requestAnimationFrame(() => {
    isPending = false;
    if (view) surface?.draw(view);
  });
}

async function load(job) {
  requested = job;
  let error = surface ? "" : "webgl";
  try {
    if (surface) {
      const [depth, picture] = await Promise.all([loadDepth(job), loadPicture(job)]);
      if (requested !== job) return;
      surface.set(depth, picture);
    }
  } catch (problem) {
    error = problem.message;
  }
  postMessage({ job: job.id, error });
}

/** Return the depth on a grid, normalised to 0..1; places without a depth are 0. */
async function loadDepth(job) {
  const response = await fetch(`/api/jobs/${encodeURIComponent(job.id)}/relief?side=${GRID}`);
  if (!response.ok) throw new Error((await response.json()).error);
  const values = new Float32Array(await response.arrayBuffer());
  let [min, max] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < min) min = value;
    if (value > max) max = value;
  }
  const range = max - min || 1;
  for (let i = 0; i < values.length; i++) {
    values[i] = Number.isFinite(values[i]) ? (values[i] - min) / range : 0;
  }
  return { values, width: Number(response.headers.get("X-Width")), height: Number(response.headers.get("X-Height")) };
}

/** Return the fused picture, reduced to at most two by two tiles. */
async function loadPicture(job) {
  const { width, height, levels, tile } = job.result;
  const halvings = Math.max(0, levels - 2);
  const sides = [width, height].map((side) => Math.ceil(side / 2 ** halvings));
  const canvas = new OffscreenCanvas(...sides);
  const context = canvas.getContext("2d");
  const counts = sides.map((side) => Math.ceil(side / tile));
  const path = `/api/jobs/${encodeURIComponent(job.id)}/tiles/fused/${halvings}`;
  await Promise.all(
    Array.from({ length: counts[0] * counts[1] }, async (_, i) => {
      const [col, row] = [i % counts[0], Math.floor(i / counts[0])];
      const response = await fetch(`${path}/${col}_${row}?v=${encodeURIComponent(job.ended)}`);
      if (!response.ok) throw new Error("the picture is not available");
      context.drawImage(await createImageBitmap(await response.blob()), col * tile, row * tile);
    }),
  );
  return canvas;
}
