// The selected fusion while it waits or runs, with its growing decision map, and if it failed.
import { element, secondsText, setLines, setText } from "./dom.js";

const STAGES = {
  read: "Reading the frames",
  check: "Checking the frames",
  align: "Aligning the frames",
  resample: "Moving the frames into place",
  fuse: "Deciding what is sharp",
  refine: "Refining the picture",
  keep: "Keeping the result",
};
export const WORDS = {
  queued: "waiting",
  running: "running",
  done: "done",
  failed: "failed",
  cancelled: "cancelled",
};

export function mount(root, app) {
  const title = element("h3", { tabIndex: -1 });
  const stage = element("p", { class: "stage-name" });
  const bar = element("progress", { max: 1, "aria-label": "Progress of the fusion" });
  const elapsed = element("p", { class: "quiet" });
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
  const fault = element("p", { class: "fault", role: "alert" });
  const below = element("img", { alt: "", class: "live-below" });
  const map = element("img", { alt: "", class: "live-map" });
  const picture = element(
    "figure",
    { class: "live" },
    element("div", { class: "live-box" }, below, map),
    element("figcaption", { class: "quiet" }, "Which frame each place is taken from, as far as decided."),
  );
  const said = element("ul", { class: "said" });
  const hint = element("p", { class: "hint" });
  const job = element(
    "div",
    { class: "job" },
    title,
    stage,
    bar,
    elapsed,
    fault,
    element("div", { class: "row" }, cancel, again),
    picture,
    said,
  );
  root.append(hint, job);
  let live = "";

  function drawLive(now) {
    const wanted = now.live ? `/api/jobs/${now.id}/live.png?v=${now.live}` : "";
    const stack = app.stack();
    const frame = stack?.frames.find((one) => one.state === "ready" && !one.excluded);
    const thumbnail = frame ? `/api/stacks/${stack.id}/thumbnails/${frame.key}` : "";
    if (below.dataset.src !== thumbnail) {
      below.dataset.src = thumbnail;
      below.src = thumbnail;
    }
    picture.hidden = now.state !== "running" || !thumbnail;
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

  function showElapsed() {
    const now = app.job();
    elapsed.hidden = now?.state !== "running" || !now.started;
    if (!elapsed.hidden)
      setText(
        elapsed,
        `Running for ${secondsText(Math.max(Math.round(Date.now() / 1000 - now.started), 0))}`,
      );
  }
  setInterval(showElapsed, 1000);

  app.state.on((now, before) => {
    if (
      now.jobs === before.jobs &&
      now.selected === before.selected &&
      now.stacks === before.stacks &&
      now.loaded === before.loaded
    )
      return;
    const shown = app.job();
    job.hidden = shown === null;
    hint.hidden = shown !== null;
    setText(hint, shown ? "" : "Press Fuse when the frames are those you want. The settings need no change.");
    if (shown === null) return;
    const running = shown.state === "running";
    const waiting = now.jobs.filter((one) => one.state === "running" || one.state === "queued");
    setText(
      title,
      {
        queued: "Waiting for its turn",
        running: "Fusing",
        failed: "The fusion failed",
        cancelled: "The fusion was cancelled",
        done: "Done",
      }[shown.state],
    );
    const ahead = Math.max(
      waiting.findIndex((one) => one.id === shown.id),
      0,
    );
    setText(stage, running ? stageText(shown) : shown.state === "queued" ? `${ahead} before it` : "");
    setBar(bar, shown);
    showElapsed();
    setText(fault, shown.error ?? "");
    cancel.hidden = !running && shown.state !== "queued";
    again.hidden = shown.state !== "failed" && shown.state !== "cancelled";
    drawLive(shown);
    setLines(said, [...shown.warnings, ...shown.said]);
    const old = before.jobs.find((one) => one.id === shown.id);
    if (old && old.state !== shown.state)
      app.announce(`The fusion: ${WORDS[shown.state]}.${shown.error ? ` ${shown.error}` : ""}`);
  });
}

function stageText(job) {
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
  try {
    const changed = await app.api.post(`/api/jobs/${job.id}/${what}`);
    app.accept({ kind: "job", job: changed });
    if (what === "again") app.select(changed.stack, changed.id);
  } catch (error) {
    app.complain(error);
  }
}
