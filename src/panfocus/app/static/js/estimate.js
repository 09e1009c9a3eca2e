// What a fusion would take, what speaks against it, and the command that does the same: asked of the server.
import { copyButton, debounced, element, secondsText, setLines, setText, sizeText } from "./dom.js";
import { framesSaved } from "./frame_changes.js";

const WAIT = 250; // ms after the last change of a setting
const TOLD_ABOVE = "These frames cannot be fused together: the warning above says why.";

/**
 * `wanted()` gives the options to be estimated, or null where nothing can be fused; `judged(refused)` is told of
 * each answer whether such a fusion must fail.
 */
export function createEstimate(app, wanted, judged) {
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
    element("p", { class: "help" }, "The same fusion, to run in a terminal:"),
    command,
    copyButton(() => command.textContent, app),
  );
  let asking = null;
  let answer = null; // the one that is shown

  const ask = debounced(async () => {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    await framesSaved(); // what was unticked a moment ago does not count
    const stack = app.stack();
    const options = wanted();
    if (signal.aborted || !stack || !options) return;
    answer = null;
    setText(line, "Estimating …");
    try {
      const told = await app.api.post(`/api/stacks/${stack.id}/estimate`, options, signal);
      if (!signal.aborted) show(told);
    } catch (error) {
      if (!signal.aborted) show({ error: error.message }, error.status === 400); // a server that is away refuses nothing
    }
  }, WAIT);

  function show(told, refused = Boolean(told.error)) {
    judged(refused);
    answer = told;
    draw();
  }

  function draw() {
    const { error, warnings: said = [], command: text = "" } = answer;
    const above = app.stack()?.warnings ?? [];
    const toldAbove = error && above.some((warning) => remedyOf(warning) === remedyOf(error));
    line.classList.toggle("fault", Boolean(error));
    setText(line, toldAbove ? TOLD_ABOVE : (error ?? textOf(answer)));
    showMore(text, said.filter((warning) => !above.includes(warning)));
  }

  // The warnings of a stack may come after the answer.
  app.state.on((now, before) => now.stacks !== before.stacks && answer && draw());

  /** Say why there is nothing to estimate. */
  function say(text) {
    asking?.abort();
    answer = null;
    judged(false);
    line.classList.remove("fault");
    setText(line, text);
    showMore("", []); // those of another stack, or of other frames
  }

  function showMore(text, lines) {
    setText(command, text);
    commandLine.hidden = text === "";
    setLines(warnings, lines);
  }

  return { line, warnings, commandLine, ask, say };
}

/** What a line says at its end, where the remedy is: lines that end alike tell of one fault. */
function remedyOf(text) {
  return text.slice(text.lastIndexOf(";") + 1).replace(/\.$/, "");
}

function textOf({ seconds, compiling, memory, n_frames: n, width, height }) {
  const about = seconds < 5 ? "A few seconds" : `About ${secondsText(seconds)}`;
  const first = compiling ? ` (${secondsText(compiling)} of it for compiling, once after installing)` : "";
  return `${seconds === null ? "" : `${about}${first}, `}${sizeText(memory)} of memory. ${n} frames of ${width} × ${height}.`;
}
