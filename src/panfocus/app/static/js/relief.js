// The Relief tool: the depth map as a rotatable surface. relief/worker.js draws it, so that a slow GPU does not block
// the page.

import { element } from "./dom.js";

const START = { turn: 0, tilt: 0.7, distance: 2.4, height: 0.3 };
const TURN_STEP = 0.1; // radians per arrow key
const LIMITS = { tilt: [-1.4, 1.4], distance: [1.2, 12], height: [-1, 1] };
const NO_WEBGL = "The relief needs WebGL 2, which this browser does not support.";
const NO_RESULT = "The relief appears when there is a result.";

export function mount(panel, app) {
  const note = element("p", {}, NO_RESULT);
  const canvas = element("canvas", {
    tabIndex: 0,
    role: "application",
    "aria-label": "Relief of the depth map. Arrow keys rotate it, plus and minus zoom, 0 resets it.",
  });
  const slider = element("input", { type: "range", min: -100, max: 100, step: 5 });
  slider.addEventListener("input", () => move({ height: slider.value / 100 }));
  const reset = element("button", { type: "button", onclick: () => move(START) }, "Reset");
  const bar = element("div", { class: "choices" }, element("label", {}, "Height", slider), reset);
  panel.classList.add("relief");
  panel.append(note, canvas, bar);

  const view = { ...START };
  let worker = null;
  let shown = null; // the job whose relief is loaded or loading
  let isVisible = false;

  function move(changes) {
    for (const [name, value] of Object.entries(changes)) {
      const [min, max] = LIMITS[name] ?? [-Infinity, Infinity];
      view[name] = Math.min(max, Math.max(min, value));
    }
    slider.value = Math.round(view.height * 100);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((side) => Math.round(side * devicePixelRatio));
    if (width && height) worker?.postMessage({ view, width, height });
  }

  /** Show a text instead of the relief; an empty one shows the relief. */
  function showText(text) {
    note.textContent = text;
    note.hidden = !text;
    canvas.hidden = bar.hidden = Boolean(text);
    if (!text) move({});
  }

  function startWorker() {
    const offscreen = canvas.transferControlToOffscreen();
    worker = new Worker(new URL("./relief/worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data: { job, error } }) => {
      if (job === shown?.id) showText(error === "webgl" ? NO_WEBGL : error && `Cannot show the relief: ${error}`);
    });
    worker.postMessage({ canvas: offscreen }, [offscreen]);
  }

  function load() {
    const job = app.viewer.job();
    if (!isVisible || (job?.id === shown?.id && job?.ended === shown?.ended)) return;
    shown = job;
    if (!job) return showText(NO_RESULT);
    if (!job.result.layers.includes("depth")) return showText("This method has no depth map. Choose another method.");
    if (!canvas.transferControlToOffscreen) return showText(NO_WEBGL);
    if (!worker) startWorker();
    showText("Loading the relief …");
    Object.assign(view, START);
    worker.postMessage({ job: { id: job.id, ended: job.ended, result: { ...job.result, report: null } } });
  }

  listenToInput(canvas, () => view, move);
  new ResizeObserver(() => move({})).observe(canvas);
  new IntersectionObserver(([entry]) => {
    isVisible = entry.isIntersecting;
    load();
  }).observe(panel);
  app.viewer.on("changed", load);
  canvas.hidden = bar.hidden = true;
}

/** Rotate and zoom by drag, pinch, wheel and keys. */
function listenToInput(canvas, view, move) {
  const pointers = new Map(); // pressed pointers: id to position
  const pinchDistance = () => {
    const [one, other] = [...pointers.values()];
    return Math.hypot(one.x - other.x, one.y - other.y);
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const { turn, tilt, distance } = view();
    const distanceBefore = pointers.size === 2 ? pinchDistance() : 0;
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (distanceBefore) move({ distance: (distance * distanceBefore) / Math.max(1, pinchDistance()) });
    else move({ turn: turn + (event.clientX - before.x) / 150, tilt: tilt + (event.clientY - before.y) / 150 });
  });
  for (const kind of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(kind, (event) => pointers.delete(event.pointerId));
  }
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    move({ distance: view().distance * Math.exp(event.deltaY / 800) });
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const { turn, tilt, distance } = view();
    const change = {
      ArrowLeft: { turn: turn - TURN_STEP },
      ArrowRight: { turn: turn + TURN_STEP },
      ArrowUp: { tilt: tilt - TURN_STEP },
      ArrowDown: { tilt: tilt + TURN_STEP },
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
