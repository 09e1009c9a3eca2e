/* Retouch: paint a place of the result from a frame of your choice. */

import { get } from "./api.js";
import { element, onPageKey, setText, toggleButton } from "./dom.js";
import { Brush } from "./retouch/brush.js";
import { createBrushForm } from "./retouch/brush_form.js";
import { createStrokeList } from "./retouch/stroke_list.js";
import { forgetOthers, strokesOf } from "./retouch/strokes.js";

const KEYS = [
  ["[ and ]", "smaller and larger brush"],
  ["Shift + [ and ]", "softer and harder brush"],
  [", and .", "frame before, next frame"],
  ["B", "choose the frame that is sharpest under the pointer"],
  ["Ctrl + Z, Ctrl + Shift + Z", "undo, redo"],
  ["C", "a cursor for the arrow keys; Space paints there, Shift + Space paints a line from the last place"],
  ["Wheel, two fingers, + and -", "zoom; the middle button or the arrow keys move the picture"],
  ["F, S, T", "on the picture: fill the screen, fold the frames and settings away, fold the tools away"],
];

export function mount(panel, app) {
  const { viewer } = app;
  const brush = new Brush(viewer, { painted, pick, changed: () => form.update() });
  const form = createBrushForm(brush);
  const list = createStrokeList(app, () => strokes);
  const undo = button("Undo", "Ctrl+Z", () => takeBack());
  const redo = button("Redo", "Ctrl+Shift+Z", () => bringBack());
  const painting = toggleButton("Brush", "Off: drags move the picture", follow);
  const said = element("p", { class: "quiet", role: "status" });
  panel.append(
    element("p", { class: "help" }, "Paint over a place of the result with a frame that shows it better."),
    element("div", { class: "row" }, painting.button, undo, redo),
    said,
    form.element,
    list.element,
    element("details", {}, element("summary", {}, "Keys"), keyTable()),
  );

  let job = null; // whose strokes these are
  let strokes = null;
  let stop = () => {};
  let shown = 0; // version of the strokes that the picture shows

  app.state.on(follow);
  app.state.on((now, before) => now.jobs !== before.jobs && forgetOthers(now.jobs));
  viewer.on("changed", follow);
  onPageKey((event) => {
    if (panel.hidden || !strokes || event.altKey) return;
    if (event.target.matches?.("input[type=text], input[type=number], select")) return; // keys of their own
    if (event.ctrlKey || event.metaKey ? onControlKey(event) : onPlainKey(event)) event.preventDefault();
  });

  function onControlKey(event) {
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return false;
    if (key === "y" || event.shiftKey) bringBack();
    else takeBack();
    return true;
  }

  /* The hand on the mouse and the eye on the picture: keys of the brush mean it wherever the focus is. */
  function onPlainKey(event) {
    return brush.isSet && event.key !== " " && brush.onKey(event, viewer.cursor);
  }

  /* Fit to the job that is shown and to the tool that is chosen. */
  function follow() {
    const { tool, selected } = app.state.get();
    const now = viewer.job()?.id === selected.job ? viewer.job() : null;
    const another = now?.id !== job?.id;
    job = now;
    if (another) open();
    const active = tool === "retouch" && job !== null;
    if (active) strokes.load(job.retouch?.version ?? 0);
    const wanted = active && strokes.loaded && painting.isOn();
    if (wanted && !brush.isSet) viewer.setTool(brush);
    if (!wanted && brush.isSet) viewer.setTool(null);
    if (!active) form.showBeside(false);
  }

  function open() {
    stop();
    brush.forget();
    strokes = job && strokesOf(job, app.complain);
    shown = job?.retouch?.version ?? 0;
    stop = strokes?.on(draw) ?? (() => {});
    form.open(job);
    draw();
  }

  function draw() {
    if (strokes?.loaded && !brush.isSet) follow();
    undo.disabled = !strokes?.canUndo;
    redo.disabled = !strokes?.canRedo;
    painting.button.disabled = !strokes?.loaded; // what is painted is added to what there is
    setText(said, wordsFor(strokes));
    list.draw(strokes, job);
    brush.keepPreviews(strokes?.strokes ?? []);
    if (!strokes || strokes.version <= shown) return;
    shown = strokes.version;
    viewer.refresh("retouched", shown);
    const layer = strokes.strokes.length ? "retouched" : "fused";
    if (viewer.layer() !== layer) viewer.show(viewer.job(), layer);
    brush.endPreviews(strokes.served);
  }

  function painted(stroke) {
    strokes.add(stroke);
    app.announce(`Painted from frame ${stroke.frame + 1}.`);
  }

  function takeBack() {
    strokes.undo();
    app.announce(`Undone. Strokes: ${strokes.strokes.length}.`);
  }

  function bringBack() {
    strokes.redo();
    app.announce(`Done again. Strokes: ${strokes.strokes.length}.`);
  }

  /* Choose the frame that is sharpest at a place. */
  async function pick({ row, col }) {
    const of = job;
    const { width, height } = of.result;
    const place = { row: Math.round(row), col: Math.round(col) };
    if (place.row < 0 || place.col < 0 || place.row >= height || place.col >= width) return;
    try {
      const { frames } = await get(`/api/jobs/${of.id}/place?row=${place.row}&col=${place.col}`);
      if (job?.id !== of.id) return; // another result is painted on by now
      const sharpness = frames.map((frame) => frame.sharpness);
      const frame = sharpness.indexOf(Math.max(...sharpness));
      brush.set({ frame, picking: false });
      app.announce(`Frame ${frame + 1} is the sharpest there: ${frames[frame].name}.`);
    } catch (error) {
      app.complain(error);
    }
  }
}

function wordsFor(strokes) {
  if (!strokes?.loaded) return strokes?.failed ? "The strokes could not be read. The page tries again." : "";
  if (strokes.sending) return "Saving …";
  return strokes.strokes.length ? "All strokes are saved." : "";
}

function button(text, title, onclick) {
  return element("button", { type: "button", title, onclick }, text);
}

function keyTable() {
  const rows = KEYS.map(([keys, meaning]) => [element("dt", {}, keys), element("dd", {}, meaning)]);
  return element("dl", { class: "keys" }, ...rows.flat());
}
