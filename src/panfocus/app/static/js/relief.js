/* Depth as a relief that can be turned: a mesh of the depth map under the fused picture, drawn by WebGL. */

import { element } from "./dom.js";
import { createSurface } from "./relief/surface.js";

const GRID = 256; // points of the mesh along the longer side
const START = { turn: 0, tilt: 0.7, distance: 2.4, height: 0.3 };
const TURN = 0.1; // by one press of an arrow key, in radians
const LIMITS = { tilt: [-1.4, 1.4], distance: [1.2, 12], height: [-1, 1] };

export function mount(panel, app) {
  const note = element("p");
  const canvas = element("canvas", {
    tabIndex: 0,
    role: "application",
    "aria-label": "Relief of the depth. Arrow keys turn it, plus and minus zoom, 0 resets it.",
  });
  const slider = element("input", { type: "range", min: -100, max: 100, step: 5 });
  const reset = element("button", { type: "button", onclick: () => move(START) }, "Reset");
  const bar = element("div", { class: "choices" }, element("label", {}, "Height", slider), reset);
  panel.classList.add("relief");
  panel.append(note, canvas, bar);

  let view = { ...START };
  let surface = null;
  let shown = null; // the job whose relief is loaded or being loaded
  let visible = false;
  let due = null;

  function move(changes) {
    for (const [name, value] of Object.entries(changes)) {
      const [least, most] = LIMITS[name] ?? [-Infinity, Infinity];
      view[name] = Math.min(most, Math.max(least, value));
    }
    slider.value = Math.round(view.height * 100);
    due ??= requestAnimationFrame(() => {
      due = null;
      surface?.draw(view);
    });
  }

  function say(text) {
    note.textContent = text;
    note.hidden = !text;
    canvas.hidden = bar.hidden = Boolean(text);
  }

  async function load() {
    const job = app.viewer.job();
    if (!visible || job?.id === shown?.id) return;
    shown = job;
    if (!job) return say("The relief is shown once there is a result.");
    if (!job.result.layers.includes("depth")) return say("This method gives no depth; another one does.");
    say("Loading the relief …");
    try {
      const [depth, picture] = await Promise.all([depthOf(job), pictureOf(job)]);
      if (shown !== job) return;
      say("");
      surface ??= createSurface(canvas, () => move({}));
      if (!surface) return say("The relief needs WebGL 2, which this browser does not offer.");
      surface.set(depth, picture);
      move(START);
    } catch (error) {
      say(`The relief cannot be shown: ${error.message}`);
    }
  }

  slider.addEventListener("input", () => move({ height: slider.value / 100 }));
  turnBy(canvas, () => view, move);
  new ResizeObserver(() => move({})).observe(canvas);
  new IntersectionObserver(([entry]) => {
    visible = entry.isIntersecting;
    load();
  }).observe(panel);
  app.viewer.on("changed", load);
  say("The relief is shown once there is a result.");
}

/* Drag, two fingers, wheel and keys. */
function turnBy(canvas, view, move) {
  const held = new Map(); // pointers that are pressed, and where they are
  const spread = () => {
    const [one, other] = [...held.values()];
    return Math.hypot(one.x - other.x, one.y - other.y);
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    if (!before) return;
    const { turn, tilt, distance } = view();
    const apart = held.size === 2 ? spread() : 0;
    held.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (apart) move({ distance: (distance * apart) / Math.max(1, spread()) });
    else move({ turn: turn + (event.clientX - before.x) / 150, tilt: tilt + (event.clientY - before.y) / 150 });
  });
  for (const kind of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(kind, (event) => held.delete(event.pointerId));
  }
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    move({ distance: view().distance * Math.exp(event.deltaY / 800) });
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const { turn, tilt, distance } = view();
    const change = {
      ArrowLeft: { turn: turn - TURN },
      ArrowRight: { turn: turn + TURN },
      ArrowUp: { tilt: tilt - TURN },
      ArrowDown: { tilt: tilt + TURN },
      "+": { distance: distance / 1.2 },
      "=": { distance: distance / 1.2 },
      "-": { distance: distance * 1.2 },
      0: START,
    }[event.key];
    if (!change || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move(change);
  });
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
