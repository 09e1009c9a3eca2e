// The Retouch tool: paint parts of the result from a selected frame.

import { get } from "./api.js";
import { createToggle, element, onPageKey, setText } from "./dom.js";
import { Brush } from "./retouch/brush.js";
import { createBrushForm } from "./retouch/brush_form.js";
import { createStrokeList } from "./retouch/stroke_list.js";
import { getStrokes, keepStrokesOf } from "./retouch/strokes.js";

const KEYS = [
  ["[ and ]", "smaller and larger brush"],
  ["Shift + [ and ]", "softer and harder brush"],
  [", and .", "previous and next frame"],
  ["B", "select the frame that is sharpest under the pointer"],
  ["Ctrl + Z, Ctrl + Shift + Z", "undo, redo"],
  ["C", "keyboard cursor, moved by the arrow keys; Space paints, Shift + Space paints a line from the last point"],
  ["Wheel, two fingers, + and -", "zoom; the middle button or the arrow keys move the picture"],
  ["F, S, T", "on the picture: full screen, hide or show frames and settings, hide or show tools"],
];

export function mount(panel, app) {
  const { viewer } = app;
  const brush = new Brush(viewer, { onPaint, onPick, onChange: () => form.update() });
  const form = createBrushForm(brush);
  const list = createStrokeList(app, () => strokes);
  const undo = createButton("Undo", "Ctrl+Z", () => undoStroke());
  const redo = createButton("Redo", "Ctrl+Shift+Z", () => redoStroke());
  const painting = createToggle("Brush", "If off, dragging moves the picture", update);
  const status = element("p", { class: "muted", role: "status" });
  panel.append(
    element("p", { class: "help" }, "Paint over parts of the result with a frame that shows them better."),
    element("div", { class: "row" }, painting.button, undo, redo),
    status,
    form.element,
    list.element,
    element("details", {}, element("summary", {}, "Keyboard shortcuts"), createKeyTable()),
  );

  let job = null;
  let strokes = null; // of the job
  let unsubscribe = () => {};
  let shownVersion = 0; // of the strokes in the picture

  app.state.on(update);
  app.state.on((now, before) => now.jobs !== before.jobs && keepStrokesOf(now.jobs));
  viewer.on("changed", update);
  onPageKey((event) => {
    if (panel.hidden || !strokes || event.altKey) return;
    if (event.target.matches?.("input[type=text], input[type=number], select")) return; // they use these keys themselves
    if (event.ctrlKey || event.metaKey ? onControlKey(event) : onPlainKey(event)) event.preventDefault();
  });

  function onControlKey(event) {
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return false;
    if (key === "y" || event.shiftKey) redoStroke();
    else undoStroke();
    return true;
  }

  /** Keys of the brush work wherever the focus is, because the other hand is on the mouse. */
  function onPlainKey(event) {
    return brush.isActive && event.key !== " " && brush.onKey(event, viewer.cursor);
  }

  /** Follow the selected job and tool. */
  function update() {
    const { tool, selected } = app.state.get();
    const now = viewer.job()?.id === selected.job ? viewer.job() : null;
    const hasChanged = now?.id !== job?.id;
    job = now;
    if (hasChanged) open();
    const isOpen = tool === "retouch" && job !== null;
    if (isOpen) strokes.load(job.retouch?.version ?? 0);
    const isWanted = isOpen && strokes.isLoaded && painting.isOn();
    if (isWanted && !brush.isActive) viewer.setTool(brush);
    if (!isWanted && brush.isActive) viewer.setTool(null);
    if (!isOpen) form.showBeside(false);
  }

  function open() {
    unsubscribe();
    brush.reset();
    strokes = job && getStrokes(job, app.showNotice);
    shownVersion = job?.retouch?.version ?? 0;
    unsubscribe = strokes?.on(draw) ?? (() => {});
    form.open(job);
    draw();
  }

  function draw() {
    if (strokes?.isLoaded && !brush.isActive) update();
    undo.disabled = !strokes?.canUndo;
    redo.disabled = !strokes?.canRedo;
    painting.button.disabled = !strokes?.isLoaded; // new strokes are added to the stored ones
    setText(status, statusText(strokes));
    list.draw(strokes, job);
    brush.keepPreviews(strokes?.strokes ?? []);
    if (!strokes || strokes.version <= shownVersion) return;
    shownVersion = strokes.version;
    viewer.refresh("retouched", shownVersion);
    const layer = strokes.strokes.length ? "retouched" : "fused";
    if (viewer.layer() !== layer) viewer.show(viewer.job(), layer);
    brush.endPreviews(strokes.serverStrokes);
  }

  function onPaint(stroke) {
    strokes.add(stroke);
    app.announce(`Painted from frame ${stroke.frame + 1}.`);
  }

  function undoStroke() {
    strokes.undo();
    app.announce(`Undone. Strokes: ${strokes.strokes.length}.`);
  }

  function redoStroke() {
    strokes.redo();
    app.announce(`Redone. Strokes: ${strokes.strokes.length}.`);
  }

  /** Select the frame that is sharpest at a place. */
  async function onPick({ row, col }) {
    const { id, result: { width, height } } = job;
    const place = { row: Math.round(row), col: Math.round(col) };
    if (place.row < 0 || place.col < 0 || place.row >= height || place.col >= width) return;
    try {
      const { frames } = await get(`/api/jobs/${id}/place?row=${place.row}&col=${place.col}`);
      if (job?.id !== id) return; // another result is open now
      const sharpness = frames.map((frame) => frame.sharpness);
      const frame = sharpness.indexOf(Math.max(...sharpness));
      brush.set({ frame, isPicking: false });
      app.announce(`Frame ${frame + 1} is the sharpest here: ${frames[frame].name}.`);
    } catch (error) {
      app.showNotice(error);
    }
  }
}

function statusText(strokes) {
  if (!strokes?.isLoaded) return strokes?.hasFailed ? "Cannot load the strokes. Trying again …" : "";
  if (strokes.saving) return "Saving …";
  return strokes.strokes.length ? "All strokes are saved." : "";
}

function createButton(text, title, onclick) {
  return element("button", { type: "button", title, onclick }, text);
}

function createKeyTable() {
  const rows = KEYS.map(([keys, meaning]) => [element("dt", {}, keys), element("dd", {}, meaning)]);
  return element("dl", { class: "keys" }, ...rows.flat());
}
