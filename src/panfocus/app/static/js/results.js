// The fusions of the open stack, each to look at, to cancel or to delete; and its learnings, which keep files too.
import { element, keepFocus, secondsText, setItems, setLines, setText, sizeText } from "./dom.js";
import { act, setBar, WORDS } from "./progress.js";
import { followSpace, spaceText } from "./space.js";

/** The list of this stack's jobs, and a line for what runs in other stacks. */
export function mount(root, app) {
  const list = element("ul", { class: "results" });
  const space = element("p", { class: "quiet", id: "space" });
  const elsewhere = element("p", { class: "quiet" });
  const report = element("ul", { class: "warnings", "aria-label": "Said about this result" });
  const lines = element("ul", { class: "said" });
  const notes = element("details", { class: "more" }, element("summary", {}, "What was done"), lines);
  root.append(element("h3", { id: "results-title" }, "Results"), list, space, report, notes, elsewhere);

  async function remove(job) {
    // What failed or was cancelled holds nothing that could be missed.
    if (job.state === "done" && !confirm(questionFor(job))) return;
    try {
      await app.api.remove(`/api/jobs/${job.id}`);
      app.accept({ kind: "gone", id: job.id });
    } catch (error) {
      app.complain(error);
    }
  }

  const rows = new Map();

  function newRow({ id, kind }) {
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
    row.open =
      kind === "fuse"
        ? element(
            "button",
            { type: "button", class: "plain grow", onclick: () => app.select(current().stack, id) },
            row.name,
            row.facts,
          )
        : element("div", { class: "grow", tabIndex: -1 }, row.name, row.facts); // it has no picture to look at
    row.node = element("li", {}, row.open, row.stop, row.remove, row.bar);
    return row;
  }

  function drawRow(row, job, selected, bytes) {
    const going = job.state === "running" || job.state === "queued";
    const name = job.kind === "fuse" ? `fusion ${job.name}` : `learning of ${job.name}`;
    setText(row.name, job.kind === "fuse" ? job.name : `Learning of ${job.name}`);
    setText(row.facts, factsOf(job, bytes));
    if (job.kind === "fuse") row.open.setAttribute("aria-current", String(job.id === selected));
    setBar(row.bar, job);
    row.bar.setAttribute("aria-label", `Progress of ${name}`);
    const swap = () => {
      row.stop.hidden = !going;
      row.remove.hidden = going;
    };
    keepFocus(row.node, swap, () => row.open); // not what deletes it: the key may be pressed twice
    row.stop.setAttribute("aria-label", `Cancel ${name}`);
    row.remove.setAttribute("aria-label", `Delete ${name}`);
  }

  followSpace(app);
  app.state.on((now, before) => {
    if (now.jobs === before.jobs && now.selected === before.selected && now.space === before.space) return;
    const jobs = now.jobs.filter((job) => job.stack === now.selected.stack);
    for (const id of [...rows.keys()]) if (!jobs.some((job) => job.id === id)) rows.delete(id);
    for (const job of jobs) {
      if (!rows.has(job.id)) rows.set(job.id, newRow(job));
      drawRow(rows.get(job.id), job, now.selected.job, now.space?.jobs[job.id]);
    }
    setItems(list, jobs.map(({ id }) => rows.get(id).node), document.getElementById("stack-title"));
    setText(space, spaceText(now.space, jobs));
    const others = now.jobs.filter(
      (job) => (job.state === "running" || job.state === "queued") && !jobs.includes(job),
    );
    setText(elsewhere, others.length ? `${others.length} more in other stacks.` : "");
    const shown = app.job();
    const ended = shown?.state === "done" ? shown : { warnings: [], said: [] };
    setLines(report, ended.warnings);
    setLines(lines, ended.said);
    notes.hidden = ended.said.length === 0;
    root.hidden = jobs.length === 0 && others.length === 0;
  });
}

function questionFor({ kind, retouch }) {
  if (kind === "learn") return "Delete the rectangles and frames of this learning? Its dictionary stays.";
  return `Delete this result${retouch?.n_strokes ? ", its retouching too" : ""}?`;
}

/** What a job came to, how long it took and how much room it takes; a fusion that was not done takes none. */
function factsOf({ kind, state, result }, bytes) {
  const time = state === "done" && result?.seconds ? ` in ${secondsText(result.seconds)}` : "";
  const size = bytes && (state === "done" || kind === "learn") ? `, ${sizeText(bytes)}` : "";
  return `${WORDS[state]}${time}${size}`;
}
