// The selected fusion while it waits or runs, with its growing decision map, and if it failed.
import { element, keepFocus, secondsText, setLines, setText } from "./dom.js";
import { checkFramesSaved } from "./frame_changes.js";

export const STAGES = {
  read: "Reading the frames",
  check: "Checking the frames",
  compile: "Compiling, once after installing: up to half a minute",
  align: "Aligning the frames",
  resample: "Moving the frames into place",
  fuse: "Deciding what is sharp",
  refine: "Refining the picture",
  keep: "Keeping the result",
  cancelling: "Cancelling",
};
const DECIDED = "Which frame each place is taken from, as far as decided.";
const UNDECIDED = "A frame. Colours will show, as it is decided, which frame each place is taken from.";
const TITLES = {
  queued: "Waiting for its turn",
  running: "Fusing",
  failed: "The fusion failed",
  cancelled: "The fusion was cancelled",
  done: "Done",
};
export const WORDS = {
  queued: "waiting",
  running: "running",
  done: "done",
  failed: "failed",
  cancelled: "cancelled",
};

export function mount(root, app) {
  const hint = element("p", { class: "hint" });
  const view = createJobView(app);
  root.append(hint, view.element);

  app.state.on((now, before) => {
    if (
      now.jobs === before.jobs &&
      now.selected === before.selected &&
      now.stacks === before.stacks &&
      now.loaded === before.loaded
    )
      return;
    const shown = app.job();
    view.element.hidden = shown === null;
    hint.hidden = shown !== null;
    setText(hint, shown ? "" : "Press Fuse when the frames are those you want. The settings need no change.");
    if (shown === null) return;
    view.show(shown, now.jobs);
    const old = before.jobs.find((one) => one.id === shown.id);
    if (old && old.state !== shown.state)
      app.announce(`The fusion: ${WORDS[shown.state]}.${shown.error ? ` ${shown.error}` : ""}`);
  });
}

/** What is seen of one job; `show(job, jobs)` draws it, with its place among all. */
function createJobView(app) {
  const title = element("h3", { tabIndex: -1 });
  const stage = element("p", { class: "stage-name" });
  const bar = element("progress", { max: 1, "aria-label": "Progress of the fusion" });
  const elapsed = createElapsed(app);
  const fault = element("p", { class: "fault", role: "alert" });
  const cancel = element(
    "button",
    { type: "button", id: "cancel", onclick: () => act(app, "cancel") },
    "Cancel",
  );
  const again = element(
    "button",
    { type: "button", class: "main", onclick: () => act(app, "again") },
    "Run again",
  );
  const onWhat = element(
    "p",
    { class: "quiet" },
    "“Run again” takes the settings of this fusion, and the frames as they are now.",
  );
  const picture = createLivePicture(app);
  const said = element("ul", { class: "said" });

  function show(job, jobs) {
    setText(title, TITLES[job.state]);
    setText(stage, stageText(job, jobs));
    setBar(bar, job);
    elapsed.show();
    setText(fault, job.error ?? "");
    fault.classList.toggle("fault", job.state === "failed"); // what was cancelled is as it was wanted
    const swap = () => {
      cancel.hidden = job.state !== "running" && job.state !== "queued";
      again.hidden = job.state !== "failed" && job.state !== "cancelled";
    };
    keepFocus(buttons, swap, () => [cancel, again].find((button) => !button.hidden) ?? app.viewer?.stage);
    onWhat.hidden = again.hidden;
    picture.show(job);
    setLines(said, [...job.warnings, ...job.said]);
  }

  const buttons = element("div", { class: "row" }, cancel, again);
  const parts = [title, stage, bar, elapsed.line, fault, buttons, onWhat, picture.figure, said];
  return { element: element("div", { class: "job" }, ...parts), show };
}

/** For how long the selected job has been running, every second anew. */
function createElapsed(app) {
  const line = element("p", { class: "quiet" });

  function show() {
    const job = app.job();
    line.hidden = job?.state !== "running" || !job.started;
    if (line.hidden) return;
    const seconds = Math.max(Math.round(Date.now() / 1000 - job.started), 0);
    setText(line, `Running for ${secondsText(seconds)}`);
  }

  setInterval(show, 1000);
  return { line, show };
}

/** The map of decisions as far as they are made, over a frame. */
function createLivePicture(app) {
  const below = element("img", { alt: "", class: "live-below" });
  const map = element("img", { alt: "", class: "live-map" });
  const caption = element("figcaption", { class: "quiet" });
  const figure = element("figure", { class: "live" }, element("div", { class: "live-box" }, below, map), caption);
  let live = ""; // address of the map that is shown, or comes

  function show(job) {
    const thumbnail = thumbnailOf(app.stack());
    if (below.dataset.src !== thumbnail) {
      below.dataset.src = thumbnail;
      below.src = thumbnail;
    }
    figure.hidden = job.state !== "running" || !thumbnail;
    setText(caption, job.live ? DECIDED : UNDECIDED);
    showMap(job.live ? `/api/jobs/${job.id}/live.png?v=${job.live}` : "");
  }

  function showMap(wanted) {
    if (wanted === live) return;
    live = wanted;
    if (!wanted) {
      map.removeAttribute("src");
      return;
    }
    const next = new Image(); // decoded out of sight, so that the map does not flicker
    next.src = wanted;
    next.decode().then(
      () => {
        if (live === wanted) map.src = wanted;
      },
      () => {},
    );
  }

  return { figure, show };
}

function thumbnailOf(stack) {
  const frame = stack?.frames.find((one) => one.state === "ready" && !one.excluded);
  return frame ? `/api/stacks/${stack.id}/thumbnails/${frame.key}` : "";
}

function stageText(job, jobs) {
  if (job.state === "queued") {
    const waiting = jobs.filter((one) => one.state === "running" || one.state === "queued");
    const place = waiting.findIndex((one) => one.id === job.id);
    if (place <= 0) return "It begins next.";
    return place === 1 ? "Another job goes first." : `${place} other jobs go first.`;
  }
  if (job.state !== "running") return "";
  const words = STAGES[job.stage] ?? (job.stage || "Starting");
  return job.done > 0 && job.done < 1 ? `${words} · ${Math.round(job.done * 100)} %` : words;
}

/** Where a stage has not told how far it is the bar says that something is at work, and no more. */
export function setBar(bar, job) {
  bar.hidden = job.state !== "running";
  if (job.done > 0 && job.done < 1) bar.value = job.done;
  else bar.removeAttribute("value");
}

export async function act(app, what, job = app.job()) {
  const fusesAgain = what === "again" && job.kind === "fuse"; // a learning takes no frames anew, and is shown elsewhere
  try {
    if (fusesAgain) await checkFramesSaved();
    const changed = await app.api.post(`/api/jobs/${job.id}/${what}`);
    app.accept({ kind: "job", job: changed });
    if (fusesAgain && app.stack()?.id === changed.stack) app.select(changed.stack, changed.id);
  } catch (error) {
    app.complain(error);
  }
}
