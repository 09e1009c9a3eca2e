// A training run: its progress (objective and atoms), the resulting dictionary, and the equivalent command.

import { copyButton, element, keepFocus, setText } from "../dom.js";
import { sendJobAction, STAGES } from "../progress.js";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, EDGE] = [320, 130, 12];

const STATES = {
  queued: "Queued.",
  running: "Learning …",
  done: "Learned.",
};

export function createLearningView(app) {
  const title = element("h3", { id: "learned-title", tabIndex: -1 });
  const status = element("p", { role: "status" });
  const cancel = element("button", { type: "button", onclick: () => sendJobAction(app, "cancel", job) }, "Cancel");
  const again = element("button", { type: "button", onclick: () => sendJobAction(app, "again", job) }, "Run again");
  const use = element("button", { type: "button", class: "main", onclick: () => app.useOptions({ method: "coupled", dictionary: job.result.dictionary }) }, "Use dictionary");
  const row = element("div", { class: "row" }, cancel, again, use);
  const plot = createTrainingPlot();
  const links = element("p", { class: "links" });
  const command = element("code", { class: "command", tabIndex: 0, role: "region", "aria-label": "Command line for learning" });
  const section = element("section", { class: "tool-part", "aria-labelledby": title.id, hidden: true },
    title, status, row, plot.element, links,
    element("details", {}, element("summary", {}, "Command line"),
      element("p", { class: "help" }, "The same training on the command line. Run it in the folder of the saved rectangles and frames:"),
      command, copyButton(() => command.textContent, app)));
  let job = null;

  /** Show a training run, or nothing. */
  function draw(now) {
    job = now;
    section.hidden = !job;
    if (!job) return;
    setText(title, job.name);
    const isCompiling = job.state === "running" && job.stage === "compile";
    setText(status, isCompiling ? STAGES.compile : (job.error ?? STATES[job.state] ?? job.state));
    status.classList.toggle("error", job.state === "failed");
    const swap = () => {
      cancel.hidden = !["queued", "running"].includes(job.state);
      again.hidden = !["failed", "cancelled"].includes(job.state);
      use.hidden = !app.state.get().dictionaries.includes(job.result?.dictionary); // unfinished, or deleted
    };
    keepFocus(row, swap, () => [...row.children].find((button) => !button.hidden) ?? title);
    plot.draw(job);
    setText(command, job.command);
    drawLinks(job.state === "done" ? job : null);
  }

  function drawLinks(done) {
    const id = done?.id ?? "";
    if (links.dataset.job === id) return;
    links.dataset.job = id;
    links.replaceChildren();
    if (!done) return;
    const link = (file, text) => element("a", { href: `/api/jobs/${done.id}/exports/${file}`, download: file }, text);
    // The file of rectangles refers to the aligned frames, so they are saved, too.
    links.append(link("regions.toml", "Save rectangles"), ...done.result.frames.map((file) => link(file, `Save ${file}`)));
  }

  return { element: section, draw };
}

/** Create the plot of the objective of each round, and the picture of the atoms. */
function createTrainingPlot() {
  const text = element("p", {});
  const plot = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "img" });
  const atoms = element("img", { class: "atoms", alt: "Atoms: focused and blurred ones at the top, pairs below" });
  const part = element("div", { class: "tool-part" }, text, plot, atoms);
  let shown = "";

  function draw(job) {
    const { objective = [], atoms_version: version = 0 } = job.learning ?? {};
    const values = objective.length ? objective : (job.result?.objective ?? []);
    plot.toggleAttribute("hidden", values.length === 0);
    const rounds = job.options?.settings?.rounds;
    setText(text, values.length ? `Round ${values.length} of ${rounds}: objective ${short(values.at(-1))} (first round: ${short(values[0])}).` : "");
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

  return { element: part, draw };
}

const short = (value) => Number(value.toPrecision(4)).toString();

function svg(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}
