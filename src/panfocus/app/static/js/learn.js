/* Learn: rectangles on registered frames say what focused and blurred look like; a dictionary is learned of them. */

import { get } from "./api.js";
import { copyButton, element, setText } from "./dom.js";
import { formOf } from "./forms.js";
import { createCourse } from "./learn/course.js";
import { drawRegions } from "./learn/region_list.js";
import { Regions } from "./learn/regions.js";

const STATES = {
  queued: "Waits for the job before it.",
  running: "Learning …",
  done: "Learned.",
  cancelled: "Cancelled.",
};

export function mount(panel, app) {
  const { viewer } = app;
  const regions = new Regions(viewer, { drawn, changed: drawAll, shown: () => !panel.hidden });
  const drawing = element("button", { type: "button", title: "Off: drags move the picture", "aria-pressed": "true", onclick: () => {
    drawing.setAttribute("aria-pressed", String(drawing.getAttribute("aria-pressed") !== "true"));
    follow();
  } }, "Draw");
  const add = element("button", { type: "button", onclick: () => drawn(inView()) }, "Add by numbers");
  const list = element("ol", { class: "regions", "aria-label": "Rectangles" });
  const name = element("input", { type: "text", id: "learn-name", maxLength: 60, required: true, value: "my dictionary", spellcheck: false });
  const fields = element("div", { class: "tool-part" });
  const start = element("button", { type: "submit", class: "main" }, "Learn a dictionary");
  const fault = element("p", { class: "fault", role: "alert" });
  const form = element(
    "form",
    { class: "tool-form", onsubmit: (event) => { event.preventDefault(); run(); } },
    element("div", { class: "field" }, element("label", { for: "learn-name" }, "Name"), name),
    element("details", {}, element("summary", {}, "Settings of learning"), fields),
    start,
    fault,
  );
  const course = createCourse();
  const said = element("p", { role: "status" });
  const cancel = element("button", { type: "button", onclick: () => post(`/api/jobs/${learning().id}/cancel`) }, "Cancel");
  const use = element("button", { type: "button", class: "main", onclick: () => app.useOptions({ method: "coupled", dictionary: learning().result.dictionary }) }, "Use it");
  const links = element("p", { class: "links" });
  const command = element("code", { class: "command", tabIndex: 0, role: "region", "aria-label": "Command line of learning" });
  const outcome = element("section", { class: "tool-part", "aria-labelledby": "learned-title", hidden: true },
    element("h3", { id: "learned-title" }), said, element("div", { class: "row" }, cancel, use), course.element, links,
    element("details", {}, element("summary", {}, "Command line"),
      element("p", { class: "help" }, "Learns the same, in a terminal of this computer:"), command, copyButton(() => command.textContent, app)));
  panel.append(
    element("p", { class: "help" }, "Draw rectangles on the picture where one frame is in focus and another is not (or press C, then Space at two corners). A dictionary of sharp and blurred patches is learned from them."),
    element("div", { class: "row" }, drawing, add),
    list,
    form,
    outcome,
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
    const wanted = tool === "learn" && job !== null && drawing.getAttribute("aria-pressed") === "true";
    if (wanted && !regions.isSet) viewer.setTool(regions);
    if (!wanted && regions.isSet) viewer.setTool(null);
    drawOutcome();
  }

  /* The newest learning on this stack. */
  function learning() {
    const { jobs, selected } = app.state.get();
    return jobs.filter((one) => one.kind === "learn" && one.stack === selected.stack).at(-1);
  }

  function drawAll() {
    if (job) drawRegions(list, regions, job);
    start.disabled = regions.list.length === 0;
  }

  function drawOutcome() {
    const now = learning();
    outcome.hidden = !now;
    if (!now) return;
    setText(outcome.firstChild, now.name);
    setText(said, now.error ?? STATES[now.state] ?? now.state);
    said.classList.toggle("fault", Boolean(now.error));
    cancel.hidden = !["queued", "running"].includes(now.state);
    use.hidden = now.state !== "done";
    course.draw(now);
    setText(command, now.command);
    const wanted = now.state === "done" ? now.id : "";
    if (links.dataset.of === wanted) return;
    links.dataset.of = wanted;
    links.replaceChildren(...(wanted ? [
      element("a", { href: `/api/dictionaries/${encodeURIComponent(now.result.dictionary)}`, download: "" }, "Save the dictionary"),
      // The rectangles name files beside them: the frames as they were aligned.
      ...["regions.toml", ...(now.result.frames ?? [])].map((file, i) =>
        element("a", { href: `/api/jobs/${now.id}/exports/${file}`, download: file }, i ? `Save ${file}` : "Save the rectangles")),
    ] : []));
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
    const region = { ...place, focused: 0, blurred: job.result.n_frames - 1 };
    regions.list.push(region);
    regions.changed();
    const row = place.top + Math.floor(place.height / 2);
    const col = place.left + Math.floor(place.width / 2);
    try {
      const { frames } = await get(`/api/jobs/${job.id}/place?row=${row}&col=${col}`);
      const sharpness = frames.map((frame) => frame.sharpness);
      const [most, least] = [Math.max(...sharpness), Math.min(...sharpness)];
      if (most > least) Object.assign(region, { focused: sharpness.indexOf(most), blurred: sharpness.indexOf(least) });
      regions.changed();
      app.announce(`Rectangle ${regions.list.length}: focused in frame ${region.focused + 1}, blurred in frame ${region.blurred + 1}.`);
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
      outcome.scrollIntoView({ block: "nearest" });
    } catch (error) {
      setText(fault, error.message);
    } finally {
      start.disabled = regions.list.length === 0;
    }
  }

  async function post(path) {
    try {
      app.accept({ kind: "job", job: await app.api.post(path) });
    } catch (error) {
      app.complain(error);
    }
  }
}
