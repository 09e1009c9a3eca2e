// The legend of the visible maps, below the picture.

import { element } from "../dom.js";
import { layerName, MAPS } from "./layers.js";

/** Create the legend; `update()` shows an entry for each visible map. */
export function createLegend(viewer) {
  const list = element("ul", { class: "legend", "aria-label": "Legend", hidden: true });
  let shown = "[]";

  function update() {
    const { job, layer, overlay } = viewer.shown;
    const maps = job ? [...new Set([layer, overlay])].filter((name) => MAPS.includes(name)) : [];
    const entries = maps.map((name) => ({ name: layerName(job, name), map: name, ...describeColours(job, name) }));
    if (JSON.stringify(entries) === shown) return;
    shown = JSON.stringify(entries);
    list.hidden = entries.length === 0;
    list.replaceChildren(...entries.map(createEntry));
    if (entries.length) viewer.app.announce(entries.map(({ name, text }) => `${name}: ${text}.`).join(" "));
  }

  return { element: list, update };
}

/** Return the labels at the ends of the colour bar, and a description for screen readers. */
function describeColours(job, map) {
  if (map === "never_in_focus") return { to: "never in focus", text: "pink is never in focus" };
  if (map === "confidence") return { from: "low", to: "high", text: "black is low, white is high" };
  const [from, to] = map === "depth" ? depthLabels(job) : ["frame 1", `frame ${job.result.n_frames}`];
  return { from, to, text: `dark violet is ${from}, yellow is ${to}` };
}

/** Return the labels of the depth range: frames, and lengths if the step between frames is known. */
function depthLabels({ result: { n_frames: n, report } }) {
  const { step = 1, unit = "frames" } = report?.depth ?? {};
  if (unit === "frames") return ["frame 1", `frame ${n}`];
  const unitText = unit === "um" ? "µm" : unit;
  const far = Number(((n - 1) * step).toPrecision(4));
  return [`frame 1 (0 ${unitText})`, `frame ${n} (${far} ${unitText})`];
}

function createEntry({ name, map, from, to, text }) {
  const parts = [element("b", {}, name), from, element("span", { class: `colours ${map}` }), to];
  return element(
    "li",
    {},
    element("span", { class: "legend-entry", "aria-hidden": "true" }, ...parts),
    element("span", { class: "visually-hidden" }, `${name}: ${text}`),
  );
}
