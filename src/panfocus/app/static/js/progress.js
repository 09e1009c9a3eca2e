// The selected fusion while it is queued or running, with a live label map, or after it failed.
import { element, keepFocus, secondsText, setLines, setText } from "./dom.js";
import { requireFrameChanges } from "./frame_changes.js";

export const STAGES = {
  read: "Reading the frames",
  check: "Checking the frames",
  compile: "Compiling (once after installation, up to 30 s)",
  align: "Aligning the frames",
  resample: "Resampling the frames",
  fuse: "Fusing the frames",
  refine: "Refining the picture",
  keep: "Saving the result",
  cancelling: "Cancelling",
};
const LIVE_CAPTION = "Colours show the source frame of each pixel decided so far.";
const START_CAPTION = "The first frame. Colours will show the source frame of each pixel.";
const TITLES = {
  queued: "Queued",
  running: "Fusing",
  failed: "Fusion failed",
  cancelled: "Fusion cancelled",
  done: "Done",
};
export const STATE_NAMES = {
  queued: "queued",
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
    setText(hint, shown ? "" : "Press Fuse to start. The default settings suit most stacks.");
    if (shown === null) return;
    view.show(shown, now.jobs);
    const old = before.jobs.find((one) => one.id === shown.id);
    if (old && old.state !== shown.state)
      app.announce(`Fusion ${STATE_NAMES[shown.state]}.${shown.error ? ` ${shown.error}` : ""}`);
  });
}

/** Create the view of one job; `show(job, jobs)` updates it. */
function createJobView(app) {
  const title = element("h3", { tabIndex: -1 });
  const stage = element("p", { class: "stage-name" });
  const bar = element("progress", { max: 1, "aria-label": "Progress of the fusion" });
  const elapsed = createElapsed(app);
  const errorLine = element("p", { class: "error", role: "alert" });
  const cancel = element(
    "button",
    { type: "button", id: "cancel", onclick: () => sendJobAction(app, "cancel") },
    "Cancel",
  );
  const again = element(
    "button",
    { type: "button", class: "main", onclick: () => sendJobAction(app, "again") },
    "Run again",
  );
  const hint = element(
    "p",
    { class: "muted" },
    "“Run again” uses the settings of this fusion and the current frames.",
  );
  const picture = createLivePicture(app);
  const messages = element("ul", { class: "messages" });

  function show(job, jobs) {
    setText(title, TITLES[job.state]);
    setText(stage, stageText(job, jobs));
    updateProgressBar(bar, job);
    elapsed.show();
    setText(errorLine, job.error ?? "");
    errorLine.classList.toggle("error", job.state === "failed"); // cancelling is no error
    const swap = () => {
      cancel.hidden = job.state !== "running" && job.state !== "queued";
      again.hidden = job.state !== "failed" && job.state !== "cancelled";
    };
    keepFocus(buttons, swap, () => [cancel, again].find((button) => !button.hidden) ?? app.viewer?.stage);
    hint.hidden = again.hidden;
    picture.show(job);
    setLines(messages, [...job.warnings, ...job.said]);
  }

  const buttons = element("div", { class: "row" }, cancel, again);
  const parts = [title, stage, bar, elapsed.line, errorLine, buttons, hint, picture.figure, messages];
  return { element: element("div", { class: "job" }, ...parts), show };
}

/** Create the line with the running time of the selected job. */
function createElapsed(app) {
  const line = element("p", { class: "muted" });

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

/** Create the picture of a running fusion: its live label map over the first frame. */
function createLivePicture(app) {
  const background = element("img", { alt: "", class: "live-background" });
  const map = element("img", { alt: "", class: "live-map" });
  const caption = element("figcaption", { class: "muted" });
  const figure = element("figure", { class: "live" }, element("div", { class: "live-box" }, background, map), caption);
  let mapUrl = ""; // of the map that is shown or loading

  function show(job) {
    const thumbnail = thumbnailUrl(app.stack());
    if (background.dataset.src !== thumbnail) {
      background.dataset.src = thumbnail;
      background.src = thumbnail;
    }
    figure.hidden = job.state !== "running" || !thumbnail;
    setText(caption, job.live ? LIVE_CAPTION : START_CAPTION);
    showMap(job.live ? `/api/jobs/${job.id}/live.png?v=${job.live}` : "");
  }

  function showMap(url) {
    if (url === mapUrl) return;
    mapUrl = url;
    if (!url) {
      map.removeAttribute("src");
      return;
    }
    const next = new Image(); // decoded first, so that the map does not flicker
    next.src = url;
    next.decode().then(
      () => {
        if (mapUrl === url) map.src = url;
      },
      () => {},
    );
  }

  return { figure, show };
}

function thumbnailUrl(stack) {
  const frame = stack?.frames.find((one) => one.state === "ready" && !one.excluded);
  return frame ? `/api/stacks/${stack.id}/thumbnails/${frame.key}` : "";
}

function stageText(job, jobs) {
  if (job.state === "queued") {
    const active = jobs.filter(({ state }) => state === "running" || state === "queued");
    const nBefore = active.findIndex(({ id }) => id === job.id);
    if (nBefore <= 0) return "Next in the queue.";
    return nBefore === 1 ? "Waiting for another job." : `Waiting for ${nBefore} other jobs.`;
  }
  if (job.state !== "running") return "";
  const text = STAGES[job.stage] ?? (job.stage || "Starting");
  return job.done > 0 && job.done < 1 ? `${text} · ${Math.round(job.done * 100)} %` : text;
}

/** Show the progress of a job; the bar is indeterminate while a stage reports none. */
export function updateProgressBar(bar, job) {
  bar.hidden = job.state !== "running";
  if (job.done > 0 && job.done < 1) bar.value = job.done;
  else bar.removeAttribute("value");
}

/** Cancel a job, or run it again: `action` is "cancel" or "again". */
export async function sendJobAction(app, action, job = app.job()) {
  const isNewFusion = action === "again" && job.kind === "fuse";
  try {
    if (isNewFusion) await requireFrameChanges();
    const changed = await app.api.post(`/api/jobs/${job.id}/${action}`);
    app.applyMessage({ kind: "job", job: changed });
    if (isNewFusion && app.stack()?.id === changed.stack) app.select(changed.stack, changed.id);
  } catch (error) {
    app.showNotice(error);
  }
}
