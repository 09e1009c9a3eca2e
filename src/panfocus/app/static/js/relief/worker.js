/* Fetches the depth and the picture of a job and draws its relief, away from the page's own thread.

   Messages in: {canvas} once; {job} to show its relief; {view, width, height} when either changes.
   Messages out: {job: id, fault: ""} when it is there, else what is wrong ("webgl": there is none). */

import { createSurface } from "./surface.js";

const GRID = 256; // points of the mesh along the longer side

let surface = null;
let asked = null; // the job
let seen = null; // the view
let due = false;

self.addEventListener("message", ({ data: { canvas, job, ...view } }) => {
  if (canvas) surface = createSurface(canvas, draw);
  else if (job) load(job);
  else {
    seen = view;
    draw();
  }
});

function draw() {
  if (due) return; // one picture for all that has come since the last
  due = true;
  requestAnimationFrame(() => {
    due = false;
    if (seen) surface?.draw(seen);
  });
}

async function load(job) {
  asked = job;
  let fault = surface ? "" : "webgl";
  try {
    if (surface) {
      const [depth, picture] = await Promise.all([depthOf(job), pictureOf(job)]);
      if (asked !== job) return;
      surface.set(depth, picture);
    }
  } catch (error) {
    fault = error.message;
  }
  postMessage({ job: job.id, fault });
}

/* The depth on a grid, 0..1 of its range; places without a depth lie at the bottom. */
async function depthOf(job) {
  const answer = await fetch(`/api/jobs/${encodeURIComponent(job.id)}/relief?side=${GRID}`);
  if (!answer.ok) throw new Error((await answer.json()).error);
  const values = new Float32Array(await answer.arrayBuffer());
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  const range = most - least || 1;
  for (let i = 0; i < values.length; i++) {
    values[i] = Number.isFinite(values[i]) ? (values[i] - least) / range : 0;
  }
  return { values, width: Number(answer.headers.get("X-Width")), height: Number(answer.headers.get("X-Height")) };
}

/* The fused picture, reduced until it is at most two tiles wide and high. */
async function pictureOf(job) {
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
      const answer = await fetch(`${path}/${col}_${row}?v=${encodeURIComponent(job.ended)}`);
      if (!answer.ok) throw new Error("the picture does not come");
      context.drawImage(await createImageBitmap(await answer.blob()), col * tile, row * tile);
    }),
  );
  return canvas;
}
