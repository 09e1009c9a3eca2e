/* Depth as a relief that can be turned: what is seen and touched. It is fetched and drawn by relief/worker.js, so
   that the page answers while a slow graphics card works. */

import { element } from "./dom.js";

const START = { turn: 0, tilt: 0.7, distance: 2.4, height: 0.3 };
const TURN = 0.1; // by one press of an arrow key, in radians
const LIMITS = { tilt: [-1.4, 1.4], distance: [1.2, 12], height: [-1, 1] };
const NEEDED = "The relief needs WebGL 2, which this browser does not offer.";

export function mount(panel, app) {
  const note = element("p", {}, "The relief is shown once there is a result.");
  const canvas = element("canvas", {
    tabIndex: 0,
    role: "application",
    "aria-label": "Relief of the depth. Arrow keys turn it, plus and minus zoom, 0 resets it.",
  });
  const slider = element("input", { type: "range", min: -100, max: 100, step: 5 });
  slider.addEventListener("input", () => move({ height: slider.value / 100 }));
  const reset = element("button", { type: "button", onclick: () => move(START) }, "Reset");
  const bar = element("div", { class: "choices" }, element("label", {}, "Height", slider), reset);
  panel.classList.add("relief");
  panel.append(note, canvas, bar);

  const view = { ...START };
  let worker = null;
  let shown = null; // the job whose relief is loaded or being loaded
  let visible = false;

  function move(changes) {
    for (const [name, value] of Object.entries(changes)) {
      const [least, most] = LIMITS[name] ?? [-Infinity, Infinity];
      view[name] = Math.min(most, Math.max(least, value));
    }
    slider.value = Math.round(view.height * 100);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((side) => Math.round(side * devicePixelRatio));
    if (width && height) worker?.postMessage({ view, width, height });
  }

  function say(text) {
    note.textContent = text;
    note.hidden = !text;
    canvas.hidden = bar.hidden = Boolean(text);
    if (!text) move({});
  }

  function start() {
    const drawn = canvas.transferControlToOffscreen();
    worker = new Worker(new URL("./relief/worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data: { job, fault } }) => {
      if (job === shown?.id) say(fault === "webgl" ? NEEDED : fault && `The relief cannot be shown: ${fault}`);
    });
    worker.postMessage({ canvas: drawn }, [drawn]);
  }

  function load() {
    const job = app.viewer.job();
    if (!visible || (job?.id === shown?.id && job?.ended === shown?.ended)) return;
    shown = job;
    if (!job) return say("The relief is shown once there is a result.");
    if (!job.result.layers.includes("depth")) return say("This method gives no depth; another one does.");
    if (!canvas.transferControlToOffscreen) return say(NEEDED);
    if (!worker) start();
    say("Loading the relief …");
    Object.assign(view, START);
    worker.postMessage({ job: { id: job.id, ended: job.ended, result: { ...job.result, report: null } } });
  }

  turnBy(canvas, () => view, move);
  new ResizeObserver(() => move({})).observe(canvas);
  new IntersectionObserver(([entry]) => {
    visible = entry.isIntersecting;
    load();
  }).observe(panel);
  app.viewer.on("changed", load);
  canvas.hidden = bar.hidden = true;
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
