// The jobs of the open stack: fusions to show, cancel or delete, and training runs, which use disk space, too.
import { diskSpaceText, followDiskSpace } from "./disk_space.js";
import { element, keepFocus, secondsText, setItems, setLines, setText, sizeText } from "./dom.js";
import { sendJobAction, STATE_NAMES, updateProgressBar } from "./progress.js";

/** Create the list of jobs, and a line about active jobs of other stacks. */
export function mount(root, app) {
  const list = element("ul", { class: "results" });
  const space = element("p", { class: "muted", id: "space" });
  const elsewhere = element("p", { class: "muted" });
  const warnings = element("ul", { class: "warnings", "aria-label": "Warnings for this result" });
  const messages = element("ul", { class: "messages" });
  const log = element("details", { class: "more" }, element("summary", {}, "Log"), messages);
  root.append(element("h3", { id: "results-title" }, "Results"), list, space, warnings, log, elsewhere);

  async function remove(job) {
    // A failed or cancelled job has no result to lose.
    if (job.state === "done" && !confirm(deleteQuestion(job))) return;
    try {
      await app.api.remove(`/api/jobs/${job.id}`);
      app.applyMessage({ kind: "gone", id: job.id });
    } catch (error) {
      app.showNotice(error);
    }
  }

  const rows = new Map();

  function createRow({ id, kind }) {
    const current = () => app.state.get().jobs.find((job) => job.id === id);
    const row = {
      name: element("span", {}),
      facts: element("small", {}),
      bar: element("progress", { max: 1 }),
      stop: element(
        "button",
        { type: "button", class: "plain small", onclick: () => sendJobAction(app, "cancel", current()) },
        "Cancel",
      ),
      remove: element(
        "button",
        { type: "button", class: "plain small", onclick: () => remove(current()) },
        "Delete",
      ),
    };
    row.open =
      kind === "fuse"
        ? element(
            "button",
            { type: "button", class: "plain grow", onclick: () => app.select(current().stack, id) },
            row.name,
            row.facts,
          )
        : element("div", { class: "grow", tabIndex: -1 }, row.name, row.facts); // a training run has no picture
    row.node = element("li", {}, row.open, row.stop, row.remove, row.bar);
    return row;
  }

  function drawRow(row, job, selected, bytes) {
    const isActive = job.state === "running" || job.state === "queued";
    const name = job.kind === "fuse" ? `fusion ${job.name}` : `training of ${job.name}`;
    setText(row.name, job.kind === "fuse" ? job.name : `Training of ${job.name}`);
    setText(row.facts, jobFacts(job, bytes));
    if (job.kind === "fuse") row.open.setAttribute("aria-current", String(job.id === selected));
    updateProgressBar(row.bar, job);
    row.bar.setAttribute("aria-label", `Progress of ${name}`);
    const swap = () => {
      row.stop.hidden = !isActive;
      row.remove.hidden = isActive;
    };
    keepFocus(row.node, swap, () => row.open); // not the Delete button: the key may be pressed twice
    row.stop.setAttribute("aria-label", `Cancel ${name}`);
    row.remove.setAttribute("aria-label", `Delete ${name}`);
  }

  followDiskSpace(app);
  app.state.on((now, before) => {
    if (now.jobs === before.jobs && now.selected === before.selected && now.space === before.space) return;
    const jobs = now.jobs.filter((job) => job.stack === now.selected.stack);
    for (const id of [...rows.keys()]) if (!jobs.some((job) => job.id === id)) rows.delete(id);
    for (const job of jobs) {
      if (!rows.has(job.id)) rows.set(job.id, createRow(job));
      drawRow(rows.get(job.id), job, now.selected.job, now.space?.jobs[job.id]);
    }
    setItems(list, jobs.map(({ id }) => rows.get(id).node), document.getElementById("stack-title"));
    setText(space, diskSpaceText(now.space, jobs));
    const others = now.jobs.filter(
      (job) => (job.state === "running" || job.state === "queued") && !jobs.includes(job),
    );
    setText(elsewhere, others.length ? `Active jobs in other stacks: ${others.length}.` : "");
    const shown = app.job();
    const ended = shown?.state === "done" ? shown : { warnings: [], said: [] };
    setLines(warnings, ended.warnings);
    setLines(messages, ended.said);
    log.hidden = ended.said.length === 0;
    root.hidden = jobs.length === 0 && others.length === 0;
  });
}

function deleteQuestion({ kind, retouch }) {
  if (kind === "learn") return "Delete the rectangles and frames of this training run? The dictionary is kept.";
  return `Delete this result${retouch?.n_strokes ? " and its retouching" : ""}?`;
}

/** Describe the state, time and size of a job; an unfinished fusion takes no space. */
function jobFacts({ kind, state, result }, bytes) {
  const time = state === "done" && result?.seconds ? ` in ${secondsText(result.seconds)}` : "";
  const size = bytes && (state === "done" || kind === "learn") ? `, ${sizeText(bytes)}` : "";
  return `${STATE_NAMES[state]}${time}${size}`;
}
