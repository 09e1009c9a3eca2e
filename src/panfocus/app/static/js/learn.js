// The Learn tool: train a dictionary from rectangles in which one frame is focused and another one is blurred.

import { get } from "./api.js";
import { createField, createToggle, element, setText } from "./dom.js";
import { createFields } from "./forms.js";
import { createDictionaryList } from "./learn/dictionary_list.js";
import { createLearningView } from "./learn/learning_view.js";
import { drawRegionList } from "./learn/region_list.js";
import { Regions } from "./learn/regions.js";

export function mount(panel, app) {
  const { viewer } = app;
  const regions = new Regions(viewer, { onDraw: addRegion, onChange: drawList, isVisible: () => !panel.hidden });
  const drawing = createToggle("Draw", "If off, dragging moves the picture", update);
  const add = element("button", { type: "button", onclick: () => addRegion(centralRegion()) }, "Add by numbers");
  const list = element("ol", { class: "regions", "aria-label": "Rectangles" });
  const name = element("input", { type: "text", id: "learn-name", maxLength: 60, required: true, value: "my dictionary", spellcheck: false });
  const fields = element("div", { class: "tool-part" });
  const start = element("button", { type: "submit", class: "main" }, "Learn a dictionary");
  const errorLine = element("p", { class: "error", role: "alert" });
  const form = element(
    "form",
    { class: "tool-form", onsubmit: (event) => { event.preventDefault(); run(); } },
    createField("Name", name),
    element("details", {}, element("summary", {}, "Learning settings"), fields),
    start,
    errorLine,
  );
  const learning = createLearningView(app);
  const dictionaries = createDictionaryList(app, drawing.button);
  panel.append(
    element("p", { class: "help" }, "Draw rectangles where one frame is in focus and another is not (keyboard: C, then Space at two corners). panfocus learns a dictionary of sharp and blurred patches from them."),
    element("div", { class: "row" }, drawing.button, add),
    list,
    form,
    learning.element,
    dictionaries.element,
  );

  let job = null; // whose frames the rectangles are drawn on
  let settings = {}; // values that differ from the defaults
  let shownFields = null; // as JSON

  app.state.on(update);
  viewer.on("changed", update);

  function update() {
    const { tool, selected, learning: learningFields } = app.state.get();
    const now = viewer.job()?.id === selected.job ? viewer.job() : null;
    const hasChanged = now?.id !== job?.id;
    job = now;
    if (hasChanged) regions.open(job);
    if (learningFields && shownFields !== JSON.stringify(learningFields)) {
      shownFields = JSON.stringify(learningFields);
      fields.replaceChildren(...createFields(learningFields, [], (field) => settings[field.name], (field, value) => {
        settings = { ...settings, [field.name]: value };
      }));
    }
    const isWanted = tool === "learn" && job !== null && drawing.isOn();
    if (isWanted && !regions.isActive) viewer.setTool(regions);
    if (!isWanted && regions.isActive) viewer.setTool(null);
    learning.draw(newestLearning());
    dictionaries.draw(app.state.get().dictionaries);
  }

  /** Return the newest training run of this stack. */
  function newestLearning() {
    const { jobs, selected } = app.state.get();
    return jobs.filter((one) => one.kind === "learn" && one.stack === selected.stack).at(-1);
  }

  function drawList() {
    if (job) drawRegionList(list, regions, job, add);
    start.disabled = regions.list.length === 0;
  }

  /** Return a rectangle in the middle of the view. */
  function centralRegion() {
    const { width, height } = job.result;
    const { row, col } = viewer.toImage(...viewer.centre());
    const side = Math.max(8, Math.round(Math.min(width, height) / 8));
    const at = (middle, length) => Math.min(length - side, Math.max(0, Math.round(middle - side / 2)));
    return { top: at(row, height), left: at(col, width), height: side, width: side };
  }

  /** Add a rectangle. At its centre, the sharpest frame is the focused one, the least sharp the blurred one. */
  async function addRegion(rectangle) {
    const guess = { focused: 0, blurred: job.result.n_frames - 1 };
    const region = { ...rectangle, ...guess };
    regions.list.push(region);
    regions.changed();
    const row = rectangle.top + Math.floor(rectangle.height / 2);
    const col = rectangle.left + Math.floor(rectangle.width / 2);
    try {
      const { frames } = await get(`/api/jobs/${job.id}/place?row=${row}&col=${col}`);
      const isEdited = region.focused !== guess.focused || region.blurred !== guess.blurred;
      if (isEdited || !regions.list.includes(region)) return; // or deleted, or of another job
      const sharpness = frames.map((frame) => frame.sharpness);
      const [most, least] = [Math.max(...sharpness), Math.min(...sharpness)];
      if (most > least) Object.assign(region, { focused: sharpness.indexOf(most), blurred: sharpness.indexOf(least) });
      regions.changed();
      app.announce(`Rectangle ${regions.list.indexOf(region) + 1}: focused in frame ${region.focused + 1}, blurred in frame ${region.blurred + 1}.`);
    } catch (error) {
      app.showNotice(error);
    }
  }

  async function run() {
    const changed = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
    const request = { stack: job.stack, job: job.id, name: name.value.trim(), regions: regions.list, settings: changed };
    setText(errorLine, "");
    start.disabled = true;
    try {
      app.applyMessage({ kind: "job", job: await app.api.post("/api/jobs", { learn: request }) });
      learning.element.scrollIntoView({ block: "nearest" });
    } catch (error) {
      setText(errorLine, error.message);
    } finally {
      start.disabled = regions.list.length === 0;
    }
  }
}
