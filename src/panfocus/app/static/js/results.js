// The fusions of the open stack, each to look at, to cancel or to delete.
import { element, secondsText, setLines, setText, sizeText } from "./dom.js";
import { act, setBar, WORDS } from "./progress.js";
import { followSpace, spaceText } from "./space.js";

/** The list of this stack's fusions, and a line for what runs in other stacks. */
export function mount(root, app) {
  const list = element("ul", { class: "results" });
  const space = element("p", { class: "quiet", id: "space" });
  const elsewhere = element("p", { class: "quiet" });
  const report = element("ul", { class: "warnings", "aria-label": "Said about this result" });
  const lines = element("ul", { class: "said" });
  const notes = element("details", { class: "more" }, element("summary", {}, "What was done"), lines);
  root.append(element("h3", { id: "results-title" }, "Results"), list, space, report, notes, elsewhere);

  async function remove(job) {
    const strokes = job.retouch?.n_strokes ? ", its retouching too" : "";
    // What failed or was cancelled holds nothing that could be missed.
    if (job.state === "done" && !confirm(`Delete this result${strokes}?`)) return;
    try {
      await app.api.remove(`/api/jobs/${job.id}`);
      app.accept({ kind: "gone", id: job.id });
    } catch (error) {
      app.complain(error);
    }
  }

  const rows = new Map();

  function newRow(id) {
    const current = () => app.state.get().jobs.find((job) => job.id === id);
    const row = {
      name: element("span", {}),
      facts: element("small", {}),
      bar: element("progress", { max: 1 }),
      stop: element(
        "button",
        { type: "button", class: "plain small", onclick: () => act(app, "cancel", current()) },
        "Cancel",
      ),
      remove: element(
        "button",
        { type: "button", class: "plain small", onclick: () => remove(current()) },
        "Delete",
      ),
    };
    row.open = element(
      "button",
      { type: "button", class: "plain grow", onclick: () => app.select(current().stack, id) },
      row.name,
      row.facts,
    );
    row.node = element("li", {}, row.open, row.stop, row.remove, row.bar);
    return row;
  }

  function drawRow(row, job, selected, bytes) {
    const going = job.state === "running" || job.state === "queued";
    setText(row.name, job.name);
    const time = job.state === "done" && job.result?.seconds ? ` in ${secondsText(job.result.seconds)}` : "";
    const size = job.state === "done" && bytes ? `, ${sizeText(bytes)}` : "";
    setText(row.facts, `${WORDS[job.state]}${time}${size}`);
    row.open.setAttribute("aria-current", String(job.id === selected));
    setBar(row.bar, job);
    row.bar.setAttribute("aria-label", `Progress of fusion ${job.name}`);
    row.stop.hidden = !going;
    row.stop.setAttribute("aria-label", `Cancel fusion ${job.name}`);
    row.remove.hidden = going;
    row.remove.setAttribute("aria-label", `Delete fusion ${job.name}`);
  }

  followSpace(app);
  app.state.on((now, before) => {
    if (now.jobs === before.jobs && now.selected === before.selected && now.space === before.space) return;
    const jobs = now.jobs.filter((job) => job.stack === now.selected.stack && job.kind === "fuse");
    for (const [id, row] of rows) {
      if (jobs.some((job) => job.id === id)) continue;
      row.node.remove();
      rows.delete(id);
    }
    for (const job of jobs) {
      if (!rows.has(job.id)) {
        rows.set(job.id, newRow(job.id));
        list.append(rows.get(job.id).node);
      }
      drawRow(rows.get(job.id), job, now.selected.job, now.space?.jobs[job.id]);
    }
    setText(space, spaceText(now.space, jobs));
    const others = now.jobs.filter(
      (job) => (job.state === "running" || job.state === "queued") && !jobs.includes(job),
    );
    setText(elsewhere, others.length ? `${others.length} more in other stacks or learning.` : "");
    const shown = app.job();
    const ended = shown?.state === "done" ? shown : { warnings: [], said: [] };
    setLines(report, ended.warnings);
    setLines(lines, ended.said);
    notes.hidden = ended.said.length === 0;
    root.hidden = jobs.length === 0 && others.length === 0;
  });
}
