/* Look: the place that was chosen on the picture, cut out of the result and of every frame, with the evidence
   of focus by which the frames were weighed. */

import { get } from "./api.js";
import { element, labelled } from "./dom.js";
import { nameOf } from "./viewer/layers.js";

const SIZES = [32, 64, 128, 256];
const ORDERS = {
  order: ["in the stack's order", () => 0],
  weight: ["largest share first", (one, other) => (other.weight ?? 0) - (one.weight ?? 0)],
  sharpness: ["sharpest first", (one, other) => other.sharpness - one.sharpness],
};
const HINT = "Click on the picture to see a place in all frames (or press C, move by the arrow keys, then Enter).";

export function mount(panel, app) {
  const { viewer } = app;
  const hint = element("p", {}, HINT);
  const size = chooser(SIZES.map((side) => [side, `${side} × ${side} pixels`]), 64);
  const order = chooser(Object.entries(ORDERS).map(([name, [text]]) => [name, text]), "order");
  const choices = element("div", { class: "choices", hidden: true }, labelled("Size of the details", size), labelled("Frames", order));
  const summary = element("dl");
  const list = element("ol", { class: "crops" });
  panel.classList.add("inspect");
  panel.append(hint, choices, summary, list);

  let found = null; // what the server says of the place, with the id of the job that it is of
  let asking = null;
  let drawn = 0; // version of the retouching that the cut of the result shows

  viewer.on("place", look);
  viewer.on("changed", follow);
  viewer.addPainter(outline);
  size.addEventListener("change", () => {
    draw();
    viewer.repaint();
  });
  order.addEventListener("change", draw);

  async function look({ row, col }) {
    const job = viewer.job();
    asking?.abort();
    asking = new AbortController();
    try {
      const told = await get(`${path(job)}/place?row=${row}&col=${col}`, asking.signal);
      if (viewer.job()?.id !== job.id) return; // another result is shown by now
      found = { id: job.id, ...told };
    } catch (error) {
      if (error.name === "AbortError") return; // another place was chosen meanwhile
      forget(`This place cannot be shown: ${error.message}`);
      return;
    }
    draw();
    viewer.repaint();
    app.announce(facts(viewer.job(), found).map((fact) => fact.join(": ")).join(". "));
  }

  /* Another result is shown, or this one was retouched. */
  function follow() {
    if (!found) return;
    if (viewer.job()?.id !== found.id) forget();
    else if (versionOf(viewer.job()) !== drawn) list.firstChild.replaceWith(cropOfResult());
  }

  function forget(why = HINT) {
    found = null;
    hint.textContent = why;
    hint.hidden = false;
    choices.hidden = true;
    summary.replaceChildren();
    list.replaceChildren();
    viewer.repaint();
  }

  function draw() {
    if (!found) return;
    hint.hidden = true;
    choices.hidden = false;
    const pairs = facts(viewer.job(), found);
    summary.replaceChildren(
      ...pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
    );
    const frames = found.frames.map((frame, k) => ({ ...frame, k }));
    list.replaceChildren(
      cropOfResult(),
      ...frames.sort(ORDERS[order.value][1]).map((frame) => crop(`frame-${frame.k}`, frame)),
    );
  }

  function cropOfResult() {
    const job = viewer.job();
    drawn = versionOf(job);
    return crop(job.retouch?.n_strokes ? "retouched" : "fused", null);
  }

  function crop(layer, frame) {
    const job = viewer.job();
    const { row, col } = found;
    const version = layer === "retouched" ? versionOf(job) : job.ended;
    const query = `row=${row}&col=${col}&size=${size.value}&v=${encodeURIComponent(version)}`;
    const src = `${path(job)}/crop/${layer}?${query}`;
    const show = () => {
      viewer.show(viewer.job(), layer); // as it is then: it may have been retouched
      viewer.goTo(row, col, Math.max(viewer.scale(), 1 / devicePixelRatio));
    };
    const name = nameOf(job, layer);
    // `loading` goes before `src`: with 100 frames only the cuts in sight are asked for.
    const image = element("img", { loading: "lazy", decoding: "async", alt: "", width: 128, height: 128, src });
    const button = element("button", { type: "button", title: `Show ${name} at this place`, onclick: show }, image, name);
    if (!frame) return element("li", {}, button);
    return element(
      "li",
      { class: frame.k === found.label ? "chosen" : "" },
      button,
      frame.weight !== null && bar("Share in the decision", frame.weight),
      bar("Sharpness", frame.sharpness),
    );
  }

  /* The square that is cut out, on the picture. */
  function outline(context) {
    if (!found || panel.hidden) return false;
    const half = Number(size.value) / 2;
    const from = viewer.toScreen(found.row - half - 0.5, found.col - half - 0.5);
    const side = Math.max(2 * half * viewer.scale(), 8);
    for (const [width, colour] of [[3, "#000"], [1, "#fff"]]) {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.strokeRect(from.x, from.y, side, side);
    }
    return true;
  }
}

function facts(job, { row, col, label, depth, confidence, never_in_focus: never }) {
  const told = [["Place", `row ${row}, column ${col}`]];
  if (job.result.names[label] !== undefined) told.push(["Taken from", nameOf(job, `frame-${label}`)]);
  if (depth !== null) told.push(["Depth", depthText(job, depth)]);
  if (confidence !== null) told.push(["Confidence", percent(confidence)]);
  if (never) told.push(["Note", "in focus in no frame"]);
  return told;
}

/* Depth is kept as distance from the first frame; frames are counted from 1 wherever the page names them. */
function depthText(job, depth) {
  const frame = `frame ${(depth + 1).toFixed(2)}`;
  const { step, unit } = job.result.report.depth ?? { unit: "frames" };
  if (unit === "frames") return frame;
  const distance = Number((depth * step).toPrecision(4));
  return `${frame}, ${distance} ${unit === "um" ? "µm" : unit} from the first`;
}

const versionOf = (job) => job.retouch?.version ?? 0;
const path = (job) => `/api/jobs/${encodeURIComponent(job.id)}`;
const percent = (value) => `${Math.round(100 * value)}\u00a0%`; // on one line

function bar(name, value) {
  return element("label", {}, `${name} ${percent(value)}`, element("meter", { min: 0, max: 1, value }));
}

function chooser(options, value) {
  const select = element("select", {}, ...options.map(([name, shown]) => new Option(shown, name)));
  select.value = value;
  return select;
}
