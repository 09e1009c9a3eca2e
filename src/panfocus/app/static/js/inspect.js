/* Look: the place that was chosen on the picture, cut out of the result and of every frame, with the evidence
   of focus by which the frames were weighed. */

import { nameOf } from "./viewer/layers.js";

const SIZES = [32, 64, 128, 256];
const ORDERS = {
  order: ["in the stack's order", () => 0],
  weight: ["largest weight first", (one, other) => (other.weight ?? 0) - (one.weight ?? 0)],
  sharpness: ["sharpest first", (one, other) => other.sharpness - one.sharpness],
};

export function mount(element, app) {
  const { viewer } = app;
  element.classList.add("inspect");
  const hint = add(element, "p", "Click on the picture to see a place in all frames (or press C, move by the " +
    "arrow keys, then Enter).");
  const choices = add(element, "div");
  choices.className = "choices";
  choices.hidden = true;
  const size = choice(choices, "Cut", SIZES.map((side) => [side, `${side} × ${side} pixels`]), 64);
  const order = choice(choices, "Frames", Object.entries(ORDERS).map(([name, [text]]) => [name, text]), "order");
  const summary = add(element, "dl");
  const list = add(element, "ol");
  list.className = "crops";

  let found = null; // what the server says of the place, with the job it belongs to
  let asking = null;

  viewer.on("place", look);
  viewer.on("changed", () => found && viewer.job()?.id !== found.job.id && forget());
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
      const answer = await fetch(`${path(job)}/place?row=${row}&col=${col}`, { signal: asking.signal });
      const told = await answer.json();
      if (!answer.ok) throw new Error(told.error);
      found = { job, ...told };
    } catch (error) {
      if (error.name === "AbortError") return; // another place was chosen meanwhile
      forget();
      hint.textContent = `This place cannot be shown: ${error.message}`;
      return;
    }
    draw();
    viewer.repaint();
    app.announce?.(`Row ${row}, column ${col}. ${facts(found).map((fact) => fact.join(": ")).join(". ")}`);
  }

  function forget() {
    found = null;
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
    summary.replaceChildren(
      ...facts(found).map(([name, value]) => {
        const pair = document.createElement("div");
        add(pair, "dt", name);
        add(pair, "dd", value);
        return pair;
      }),
    );
    const frames = found.frames.map((frame, k) => ({ ...frame, k }));
    list.replaceChildren(
      crop("fused", null),
      ...frames.toSorted(ORDERS[order.value][1]).map((frame) => crop(`frame-${frame.k}`, frame)),
    );
  }

  function crop(layer, frame) {
    const { job, row, col } = found;
    const item = document.createElement("li");
    const button = add(item, "button");
    button.type = "button";
    const name = nameOf(job, layer);
    button.title = `Show ${name} at this place`;
    const image = add(button, "img");
    Object.assign(image, { loading: "lazy", decoding: "async", alt: "", width: 128, height: 128 });
    image.src = `${path(job)}/crop/${layer}?row=${row}&col=${col}&size=${size.value}&v=${encodeURIComponent(job.ended)}`;
    add(button, "span", name);
    button.addEventListener("click", () => {
      viewer.show(job, layer);
      viewer.goTo(row, col, Math.max(viewer.scale(), 1 / devicePixelRatio));
    });
    if (!frame) return item;
    if (frame.k === found.label) item.className = "chosen";
    if (frame.weight !== null) bar(item, "Weight", frame.weight);
    bar(item, "Sharpness", frame.sharpness);
    return item;
  }

  /* The square that is cut out, on the picture. */
  function outline(context) {
    if (!found) return;
    const half = Number(size.value) / 2;
    const from = viewer.toScreen(found.row - half - 0.5, found.col - half - 0.5);
    const side = Math.max(2 * half * viewer.scale(), 8);
    for (const [width, colour] of [[3, "#000"], [1, "#fff"]]) {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.strokeRect(from.x, from.y, side, side);
    }
  }
}

function facts({ job, row, col, label, depth, confidence, never_in_focus: never }) {
  const told = [["Place", `row ${row}, column ${col}`]];
  if (job.result.names[label] !== undefined) told.push(["Taken from", nameOf(job, `frame-${label}`)]);
  if (depth !== null) told.push(["Depth", depth.toFixed(2)]);
  if (confidence !== null) told.push(["Confidence", percent(confidence)]);
  if (never) told.push(["Note", "in focus in no frame"]);
  return told;
}

const path = (job) => `/api/jobs/${encodeURIComponent(job.id)}`;
const percent = (value) => `${Math.round(100 * value)} %`;

function bar(item, name, value) {
  const label = add(item, "label", `${name} ${percent(value)}`);
  const meter = add(label, "meter");
  Object.assign(meter, { min: 0, max: 1, value });
}

function choice(parent, text, options, value) {
  const label = add(parent, "label");
  add(label, "span", text);
  const select = add(label, "select");
  select.append(...options.map(([name, shown]) => new Option(shown, name)));
  select.value = value;
  return select;
}

function add(parent, kind, text = "") {
  const element = document.createElement(kind);
  element.textContent = text;
  parent.append(element);
  return element;
}
