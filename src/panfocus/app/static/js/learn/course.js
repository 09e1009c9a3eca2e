/* The course of a learning: its objective round by round, and the atoms as they become. */

import { element, setText } from "../dom.js";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, EDGE] = [320, 130, 12];

export function createCourse() {
  const text = element("p", {});
  const plot = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "img" });
  const atoms = element("img", { class: "atoms", alt: "The atoms: above the focused and the blurred ones, below in pairs" });
  const whole = element("div", { class: "tool-part" }, text, plot, atoms);
  let shown = "";

  function draw(job) {
    const { objective = [], atoms_version: version = 0 } = job.learning ?? {};
    const values = objective.length ? objective : (job.result?.objective ?? []);
    plot.toggleAttribute("hidden", values.length === 0);
    const rounds = job.options?.settings?.rounds;
    setText(text, values.length ? `Round ${values.length} of ${rounds}: objective ${short(values.at(-1))}, at first ${short(values[0])}.` : "");
    if (shown !== `${job.id} ${values.length}`) {
      shown = `${job.id} ${values.length}`;
      drawPlot(values, rounds);
    }
    atoms.hidden = version === 0;
    const src = `/api/jobs/${job.id}/atoms.png?v=${version}`;
    if (version && atoms.getAttribute("src") !== src) atoms.src = src;
  }

  function drawPlot(values, rounds) {
    const top = Math.max(...values);
    const bottom = Math.min(...values);
    const x = (i) => EDGE + ((WIDTH - 2 * EDGE) * i) / Math.max(1, (rounds ?? values.length) - 1);
    const y = (value) => EDGE + ((HEIGHT - 2 * EDGE) * (top - value)) / (top - bottom || 1);
    const points = values.map((value, i) => [x(i), y(value)].map((at) => at.toFixed(1)));
    plot.setAttribute("aria-label", `Objective of each round: ${values.map(short).join(", ")}`);
    plot.replaceChildren(
      svg("polyline", { points: points.map((point) => point.join(",")).join(" ") }),
      ...points.map(([cx, cy]) => svg("circle", { cx, cy, r: 3 })),
    );
  }

  return { element: whole, draw };
}

const short = (value) => Number(value.toPrecision(4)).toString();

function svg(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}
