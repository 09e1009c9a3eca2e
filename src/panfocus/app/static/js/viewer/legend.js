/* What the colours of maps mean, below the picture while a map is seen. */

import { element } from "../dom.js";
import { MAPS, nameOf } from "./layers.js";

/* A list with an entry for each map that is shown or laid over; `update()` fits it to what the viewer shows. */
export function createLegend(viewer) {
  const list = element("ul", { class: "legend", "aria-label": "Colours of the maps", hidden: true });
  let known = "[]";

  function update() {
    const { job, layer, overlay } = viewer.shown;
    const maps = job ? [...new Set([layer, overlay])].filter((name) => MAPS.includes(name)) : [];
    const entries = maps.map((name) => ({ name: nameOf(job, name), map: name, ...meaningOf(job, name) }));
    if (JSON.stringify(entries) === known) return;
    known = JSON.stringify(entries);
    list.hidden = entries.length === 0;
    list.replaceChildren(...entries.map(entryOf));
    if (entries.length) viewer.app.announce(entries.map(({ name, words }) => `${name}: ${words}.`).join(" "));
  }

  return { element: list, update };
}

/* The texts at both ends of the bar, or beside the patch of a map that has but one colour; the same in words. */
function meaningOf(job, map) {
  if (map === "never_in_focus") return { to: "in focus in no frame", words: "pink is in focus in no frame" };
  if (map === "confidence") return { from: "unsure", to: "certain", words: "black is unsure, white is certain" };
  const [from, to] = map === "depth" ? depthEnds(job) : ["frame 1", `frame ${job.result.n_frames}`];
  return { from, to, words: `dark violet is ${from}, yellow is ${to}` };
}

/* Depth is told by frames, and as a length where it is known how far it is from frame to frame. */
function depthEnds({ result: { n_frames: n, report } }) {
  const { step = 1, unit = "frames" } = report?.depth ?? {};
  if (unit === "frames") return ["frame 1", `frame ${n}`];
  const shown = unit === "um" ? "µm" : unit;
  const far = Number(((n - 1) * step).toPrecision(4));
  return [`frame 1 (0 ${shown})`, `frame ${n} (${far} ${shown})`];
}

function entryOf({ name, map, from, to, words }) {
  const shown = [element("b", {}, name), from, element("span", { class: `colours ${map}` }), to];
  return element(
    "li",
    {},
    element("span", { class: "legend-entry", "aria-hidden": "true" }, ...shown),
    element("span", { class: "unseen" }, `${name}: ${words}`),
  );
}
