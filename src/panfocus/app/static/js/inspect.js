// The Inspect tool: details of the result and of every frame at a place, with the focus measures of the frames.

import { get } from "./api.js";
import { createSelect, element, labelled } from "./dom.js";
import { layerName, positionText } from "./viewer/layers.js";

const SIZES = [32, 64, 128, 256];
const ORDERS = {
  order: ["stack order", () => 0],
  weight: ["largest weight first", (one, other) => (other.weight ?? 0) - (one.weight ?? 0)],
  sharpness: ["sharpest first", (one, other) => other.sharpness - one.sharpness],
};
const HINT = "Click on the picture to compare a place in all frames. Keyboard: C, arrow keys, Enter.";

export function mount(panel, app) {
  const { viewer } = app;
  const hint = element("p", {}, HINT);
  const size = createSelect(SIZES.map((side) => [side, `${side} × ${side} pixels`]));
  const order = createSelect(Object.entries(ORDERS).map(([name, [text]]) => [name, text]));
  size.value = 64;
  const choices = element("div", { class: "choices", hidden: true }, labelled("Detail size", size), labelled("Order", order));
  const summary = element("dl");
  const list = element("ol", { class: "crops" });
  panel.classList.add("inspect");
  panel.append(hint, choices, summary, list);

  let place = null; // the response of the server, with the id of its job
  let pending = null;
  let drawnVersion = 0; // of the retouching, in the detail of the result

  viewer.on("place", load);
  viewer.on("changed", update);
  viewer.addPainter(paintOutline);
  size.addEventListener("change", () => {
    draw();
    viewer.repaint();
  });
  order.addEventListener("change", draw);

  async function load({ row, col }) {
    const job = viewer.job();
    pending?.abort();
    pending = new AbortController();
    try {
      const response = await get(`${path(job)}/place?row=${row}&col=${col}`, pending.signal);
      if (viewer.job()?.id !== job.id) return; // another result is shown now
      place = { id: job.id, ...response };
    } catch (error) {
      if (error.name === "AbortError") return; // another place was selected
      clear(`Cannot show this place: ${error.message}`);
      return;
    }
    draw();
    viewer.repaint();
    app.announce(placeFacts(viewer.job(), place).map((fact) => fact.join(": ")).join(". "));
  }

  /** Follow the viewer: another result may be shown, or this one retouched. */
  function update() {
    if (!place) return;
    if (viewer.job()?.id !== place.id) clear();
    else if (retouchVersion(viewer.job()) !== drawnVersion) list.firstChild.replaceWith(createResultCrop());
  }

  function clear(text = HINT) {
    place = null;
    hint.textContent = text;
    hint.hidden = false;
    choices.hidden = true;
    summary.replaceChildren();
    list.replaceChildren();
    viewer.repaint();
  }

  function draw() {
    if (!place) return;
    hint.hidden = true;
    choices.hidden = false;
    const facts = placeFacts(viewer.job(), place);
    summary.replaceChildren(
      ...facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
    );
    const frames = place.frames.map((frame, k) => ({ ...frame, k }));
    list.replaceChildren(
      createResultCrop(),
      ...frames.sort(ORDERS[order.value][1]).map((frame) => createCrop(`frame-${frame.k}`, frame)),
    );
  }

  function createResultCrop() {
    const job = viewer.job();
    drawnVersion = retouchVersion(job);
    return createCrop(job.retouch?.n_strokes ? "retouched" : "fused", null);
  }

  function createCrop(layer, frame) {
    const job = viewer.job();
    const { row, col } = place;
    const version = layer === "retouched" ? retouchVersion(job) : job.ended;
    const query = `row=${row}&col=${col}&size=${size.value}&v=${encodeURIComponent(version)}`;
    const src = `${path(job)}/crop/${layer}?${query}`;
    const show = () => {
      viewer.show(viewer.job(), layer); // the current job: it may have been retouched
      viewer.goTo(row, col, Math.max(viewer.scale(), 1 / devicePixelRatio));
    };
    const name = layerName(job, layer);
    // `loading` must be set before `src`: with 100 frames only the visible details are requested.
    const image = element("img", { loading: "lazy", decoding: "async", alt: "", width: 128, height: 128, src });
    const button = element("button", { type: "button", title: `Show ${name} at this place`, onclick: show }, image, name);
    if (!frame) return element("li", {}, button);
    return element(
      "li",
      { class: frame.k === place.label ? "chosen" : "" },
      button,
      frame.weight !== null && createMeter("Weight", frame.weight),
      createMeter("Sharpness", frame.sharpness),
    );
  }

  /** Draw the outline of the detail on the picture. */
  function paintOutline(context) {
    if (!place || panel.hidden) return false;
    const half = Number(size.value) / 2;
    const from = viewer.toScreen(place.row - half - 0.5, place.col - half - 0.5);
    const side = Math.max(2 * half * viewer.scale(), 8);
    for (const [width, colour] of [[3, "#000"], [1, "#fff"]]) {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.strokeRect(from.x, from.y, side, side);
    }
    return true;
  }
}

function placeFacts(job, { row, col, label, depth, confidence, never_in_focus: never }) {
  const facts = [["Position", positionText({ row, col })]];
  if (job.result.names[label] !== undefined) facts.push(["Source", layerName(job, `frame-${label}`)]);
  if (depth !== null) facts.push(["Depth", depthText(job, depth)]);
  if (confidence !== null) facts.push(["Confidence", percent(confidence)]);
  if (never) facts.push(["Note", "never in focus"]);
  return facts;
}

/** Describe a depth, which is the distance from the first frame; the page counts frames from 1. */
function depthText(job, depth) {
  const frame = `frame ${(depth + 1).toFixed(2)}`;
  const { step, unit } = job.result.report.depth ?? { unit: "frames" };
  if (unit === "frames") return frame;
  const distance = Number((depth * step).toPrecision(4));
  return `${frame}, ${distance} ${unit === "um" ? "µm" : unit} from frame 1`;
}

const retouchVersion = (job) => job.retouch?.version ?? 0;
const path = (job) => `/api/jobs/${encodeURIComponent(job.id)}`;
const percent = (value) => `${Math.round(100 * value)}\u00a0%`; // on one line

function createMeter(name, value) {
  return element("label", {}, `${name} ${percent(value)}`, element("meter", { min: 0, max: 1, value }));
}
