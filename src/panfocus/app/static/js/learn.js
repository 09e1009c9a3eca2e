/* Learn: rectangles on registered frames say what focused and blurred look like; a dictionary is learned of them. */

import { get } from "./api.js";
import { element, fieldOf, setText, toggleButton } from "./dom.js";
import { formOf } from "./forms.js";
import { createDictionaries } from "./learn/dictionaries.js";
import { createOutcome } from "./learn/outcome.js";
import { drawRegions } from "./learn/region_list.js";
import { Regions } from "./learn/regions.js";

export function mount(panel, app) {
  const { viewer } = app;
  const regions = new Regions(viewer, { drawn, changed: drawAll, shown: () => !panel.hidden });
  const drawing = toggleButton("Draw", "Off: drags move the picture", follow);
  const add = element("button", { type: "button", onclick: () => drawn(inView()) }, "Add by numbers");
  const list = element("ol", { class: "regions", "aria-label": "Rectangles" });
  const name = element("input", { type: "text", id: "learn-name", maxLength: 60, required: true, value: "my dictionary", spellcheck: false });
  const fields = element("div", { class: "tool-part" });
  const start = element("button", { type: "submit", class: "main" }, "Learn a dictionary");
  const fault = element("p", { class: "fault", role: "alert" });
  const form = element(
    "form",
    { class: "tool-form", onsubmit: (event) => { event.preventDefault(); run(); } },
    fieldOf("Name", name),
    element("details", {}, element("summary", {}, "Settings of learning"), fields),
    start,
    fault,
  );
  const outcome = createOutcome(app);
  const dictionaries = createDictionaries(app, drawing.button);
  panel.append(
    element("p", { class: "help" }, "Draw rectangles on the picture where one frame is in focus and another is not (or press C, then Space at two corners). A dictionary of sharp and blurred patches is learned from them."),
    element("div", { class: "row" }, drawing.button, add),
    list,
    form,
    outcome.element,
    dictionaries.element,
  );

  let job = null; // on whose frames the rectangles are drawn
  let settings = {}; // what differs from the defaults
  let offered = null; // fields that the form shows

  app.state.on(follow);
  viewer.on("changed", follow);

  function follow() {
    const { tool, selected, learning: known } = app.state.get();
    const now = viewer.job()?.id === selected.job ? viewer.job() : null;
    const another = now?.id !== job?.id;
    job = now;
    if (another) regions.open(job);
    if (known && offered !== JSON.stringify(known)) {
      offered = JSON.stringify(known);
      fields.replaceChildren(...formOf(known, [], (field) => settings[field.name], (field, value) => {
        settings = { ...settings, [field.name]: value };
      }));
    }
    const wanted = tool === "learn" && job !== null && drawing.isOn();
    if (wanted && !regions.isSet) viewer.setTool(regions);
    if (!wanted && regions.isSet) viewer.setTool(null);
    outcome.draw(learning());
    dictionaries.draw(app.state.get().dictionaries);
  }

  /* The newest learning on this stack. */
  function learning() {
    const { jobs, selected } = app.state.get();
    return jobs.filter((one) => one.kind === "learn" && one.stack === selected.stack).at(-1);
  }

  function drawAll() {
    if (job) drawRegions(list, regions, job, add);
    start.disabled = regions.list.length === 0;
  }

  /* A rectangle in the middle of the view, to be changed by numbers. */
  function inView() {
    const { width, height } = job.result;
    const { row, col } = viewer.toImage(...viewer.middle());
    const side = Math.max(8, Math.round(Math.min(width, height) / 8));
    const at = (middle, length) => Math.min(length - side, Math.max(0, Math.round(middle - side / 2)));
    return { top: at(row, height), left: at(col, width), height: side, width: side };
  }

  /* Take a rectangle: the sharpest frame in its middle is the focused one, the least sharp the blurred one. */
  async function drawn(place) {
    const first = { focused: 0, blurred: job.result.n_frames - 1 };
    const region = { ...place, ...first };
    regions.list.push(region);
    regions.changed();
    const row = place.top + Math.floor(place.height / 2);
    const col = place.left + Math.floor(place.width / 2);
    try {
      const { frames } = await get(`/api/jobs/${job.id}/place?row=${row}&col=${col}`);
      const touched = region.focused !== first.focused || region.blurred !== first.blurred;
      if (touched || !regions.list.includes(region)) return; // chosen by hand meanwhile, deleted, or of another job
      const sharpness = frames.map((frame) => frame.sharpness);
      const [most, least] = [Math.max(...sharpness), Math.min(...sharpness)];
      if (most > least) Object.assign(region, { focused: sharpness.indexOf(most), blurred: sharpness.indexOf(least) });
      regions.changed();
      app.announce(`Rectangle ${regions.list.indexOf(region) + 1}: focused in frame ${region.focused + 1}, blurred in frame ${region.blurred + 1}.`);
    } catch (error) {
      app.complain(error);
    }
  }

  async function run() {
    const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
    const wanted = { stack: job.stack, job: job.id, name: name.value.trim(), regions: regions.list, settings: given };
    setText(fault, "");
    start.disabled = true;
    try {
      app.accept({ kind: "job", job: await app.api.post("/api/jobs", { learn: wanted }) });
      outcome.element.scrollIntoView({ block: "nearest" });
    } catch (error) {
      setText(fault, error.message);
    } finally {
      start.disabled = regions.list.length === 0;
    }
  }
}
