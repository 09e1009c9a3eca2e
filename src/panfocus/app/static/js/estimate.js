// The estimate of a fusion by the server: time, memory, warnings, and the equivalent command.
import { copyButton, debounced, element, secondsText, setLines, setText, sizeText } from "./dom.js";
import { waitForFrameChanges } from "./frame_changes.js";

const DELAY = 250; // ms after the last change of a setting
const SEE_WARNING = "These frames cannot be fused together. See the warning above.";

/**
 * `getOptions()` returns the options to estimate, or null if the stack cannot be fused; `onEstimate(isRefused)` is
 * called with each estimate.
 */
export function createEstimate(app, getOptions, onEstimate) {
  const line = element("p", { class: "estimate", id: "estimate", "aria-live": "polite" });
  const warnings = element("ul", {
    class: "warnings",
    "aria-label": "Warnings for this fusion",
    hidden: true,
  });
  const command = element("code", { class: "command", tabIndex: 0, "aria-label": "Command line" });
  const commandLine = element(
    "details",
    { class: "more", hidden: true },
    element("summary", {}, "Command line"),
    element("p", { class: "help" }, "The same fusion on the command line:"),
    command,
    copyButton(() => command.textContent, app),
  );
  let pending = null;
  let shown = null; // the estimate

  const request = debounced(async () => {
    pending?.abort();
    pending = new AbortController();
    const { signal } = pending;
    await waitForFrameChanges();
    const stack = app.stack();
    const options = getOptions();
    if (signal.aborted || !stack || !options) return;
    shown = null;
    setText(line, "Estimating …");
    try {
      const estimate = await app.api.post(`/api/stacks/${stack.id}/estimate`, options, signal);
      if (!signal.aborted) show(estimate);
    } catch (error) {
      if (!signal.aborted) show({ error: error.message }, error.status === 400); // not if the server is offline
    }
  }, DELAY);

  function show(estimate, isRefused = Boolean(estimate.error)) {
    onEstimate(isRefused);
    shown = estimate;
    draw();
  }

  function draw() {
    const { error, warnings: lines = [], command: text = "" } = shown;
    const above = app.stack()?.warnings ?? [];
    const isAbove = error && above.some((warning) => hasSameProblem(warning, error));
    line.classList.toggle("error", Boolean(error));
    setText(line, isAbove ? SEE_WARNING : (error ?? estimateText(shown)));
    showDetails(text, lines.filter((warning) => !above.includes(warning)));
  }

  // The warnings of a stack may come after the estimate.
  app.state.on((now, before) => now.stacks !== before.stacks && shown && draw());

  /** Show why there is no estimate. */
  function showText(text) {
    pending?.abort();
    shown = null;
    onEstimate(false);
    line.classList.remove("error");
    setText(line, text);
    showDetails("", []);
  }

  function showDetails(text, lines) {
    setText(command, text);
    commandLine.hidden = text === "";
    setLines(warnings, lines);
  }

  return { line, warnings, commandLine, request, showText };
}

/** Return whether a warning is about the same problem: it contains a sentence after the first one of the error. */
function hasSameProblem(warning, error) {
  return error.split(/(?<=\.) /).slice(1).some((sentence) => warning.includes(sentence));
}

function estimateText({ seconds, compiling, memory, n_frames: n, width, height }) {
  const about = seconds < 5 ? "A few seconds" : `About ${secondsText(seconds)}`;
  const first = compiling ? ` (including ${secondsText(compiling)} for compilation, once after installation)` : "";
  return `${seconds === null ? "" : `${about}${first}, `}${sizeText(memory)} of memory. ${n} frames of ${width} × ${height}.`;
}
