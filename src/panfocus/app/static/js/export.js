/* Export: the picture and its maps as files, and the command line that writes the same bytes. */

import { copyButton, element, fieldOf, setText, sizeText, tickBox } from "./dom.js";
import { offer } from "./download.js";
import { saved } from "./retouch/strokes.js";

const FORMATS = [["tif", "TIFF"], ["png", "PNG"], ["jpg", "JPEG"], ["webp", "WebP"]];
const FORMAT_OF = { tif: "tif", tiff: "tif", png: "png", jpg: "jpg", jpeg: "jpg", webp: "webp" };
const OF_8_BITS = ["jpg", "webp"];
const WITH_QUALITY = ["jpg", "webp"];
const WHAT = [
  ["image", "Picture"],
  ["labels", "Labels: the frame that each pixel is from"],
  ["depth", "Depth"],
  ["depth_colour", "Depth in colours"],
  ["confidence", "Confidence"],
  ["never_in_focus", "Places that are in focus in no frame"],
  ["report", "Report of the fusion"],
];
const MOST_NAMED = 3; // files that have changed
const BETWEEN = 300; // ms between downloads: a browser drops some that come at once

export function mount(panel, app) {
  const format = select("format", "Format", FORMATS);
  const bits = select("bits", "Bits per channel", [["", "like the frames"], ["8", "8"], ["16", "16"]]);
  const quality = element("input", { type: "number", min: 1, max: 100, step: 1, value: 95, id: "export-quality" });
  const qualityField = fieldOf("Quality, 1 to 100", quality);
  const ticks = WHAT.map(([name, text]) => ({ name, ...tickBox(text, { name, checked: name === "image" }) }));
  const strokes = element("p", { class: "help" }, "The picture is saved with its retouching. The strokes are saved as a file with it.");
  const save = element("button", { type: "submit", class: "main big" }, "Save");
  const answer = element("div", { class: "exported", "aria-live": "polite" });
  const form = element(
    "form",
    { class: "tool-form", onsubmit: (event) => { event.preventDefault(); run(); } },
    save,
    answer,
    format.field,
    bits.field,
    qualityField,
    element("fieldset", {}, element("legend", {}, "What"), ...ticks.map(({ label }) => label)),
    strokes,
  );
  panel.append(form);
  format.control.addEventListener("change", draw);
  for (const { input } of ticks) input.addEventListener("change", draw);

  let job = null;
  const running = new Set(); // ids of jobs: while one is saved, another can be chosen and saved too
  const answers = new Map(); // what was told last of each job, by its id

  app.state.on(() => {
    const now = app.job();
    const done = now?.state === "done" && now.result?.layers ? now : null;
    const another = done?.id !== job?.id;
    job = done;
    if (another) open();
    draw();
  });

  /* Begin with what fits the frames. */
  function open() {
    answer.replaceChildren(...(answers.get(job?.id) ?? []));
    if (!job) return;
    const ending = job.result.names[0]?.split(".").at(-1).toLowerCase();
    format.control.value = FORMAT_OF[ending] ?? "tif";
    if (is8Bit(format.control.value) && job.result.dtype !== "uint8") format.control.value = "tif";
    bits.control.value = "";
    for (const { name, input } of ticks) input.checked = name === "image";
  }

  function draw() {
    if (!job) return;
    const needs8 = is8Bit(format.control.value);
    bits.field.hidden = needs8;
    qualityField.hidden = !WITH_QUALITY.includes(format.control.value);
    quality.disabled = qualityField.hidden; // else a wrong value that nobody sees would keep the form from being sent
    strokes.hidden = !job.retouch?.n_strokes;
    for (const { name, input, label } of ticks) {
      const there = ["image", "report"].includes(name) || job.result.layers.includes(name.replace("_colour", ""));
      label.hidden = !there;
      if (!there) input.checked = false;
    }
    const n = chosen().length + (strokes.hidden ? 0 : 1); // the strokes go with whatever is saved
    const busy = running.has(job.id);
    save.disabled = busy || chosen().length === 0;
    setText(save, busy ? "Saving …" : n === 1 && ticks[0].input.checked ? "Save picture" : `Save ${n} files`);
  }

  function chosen() {
    return ticks.filter(({ input }) => input.checked).map(({ name }) => name);
  }

  async function run() {
    const of = job;
    const ending = format.control.value;
    const depth = is8Bit(ending) && of.result.dtype !== "uint8" ? 8 : Number(bits.control.value) || null;
    const given = quality.disabled ? 0 : Number(quality.value);
    const wanted = { format: ending, bits: depth, quality: given || 95, what: chosen() };
    running.add(of.id);
    draw();
    try {
      await saved(of); // what was painted a moment ago belongs to the picture
      const told = await app.api.post(`/api/jobs/${of.id}/export`, wanted);
      tell(of, linesOf(told));
      app.announce(`Saved: ${told.files.map(({ name }) => name).join(", ")}`);
      for (const [i, { url, name }] of told.files.entries()) setTimeout(() => offer(url, name), i * BETWEEN);
    } catch (error) {
      tell(of, [element("p", { class: "fault" }, error.message)]);
      if (job?.id !== of.id) app.complain(`${of.name} was not saved: ${error.message}`);
    } finally {
      running.delete(of.id);
      draw();
    }
  }

  /* Keep what is told of a job for when it is shown again, and show it if that is now. */
  function tell(of, lines) {
    answers.set(of.id, lines);
    if (job?.id === of.id) answer.replaceChildren(...lines);
  }

  function linesOf({ files, said, command, changed }) {
    const code = element("code", { class: "command", tabIndex: 0, role: "region", "aria-label": "Command line" }, command);
    const lines = (said ?? []).map((text) => element("li", {}, text));
    return [
      element("p", {}, "The browser saves:"),
      element("ul", { class: "files" }, ...files.map(({ name, bytes, url }) =>
        element("li", {}, element("a", { href: url, download: name }, name), ` ${sizeText(bytes)}`))),
      element("ul", { class: "warnings", "aria-label": "What the files lose", hidden: lines.length === 0 }, ...lines),
      element("p", { class: changed.length ? "warnings" : "help" }, claimFor(changed)),
      code,
      copyButton(() => command, app),
    ];
  }
}

/* What the command writes; not the same where files that were fused, frames or the dictionary, are others by now. */
function claimFor(changed) {
  if (changed.length === 0) return "This command writes the same bytes (a report tells other times and places):";
  const more = changed.length > MOST_NAMED ? ` and ${changed.length - MOST_NAMED} more` : "";
  const names = changed.slice(0, MOST_NAMED).join(", ");
  return `Changed or gone since this was fused: ${names}${more}. What is saved shows them as they were; this command does not write the same any more:`;
}

const is8Bit = (format) => OF_8_BITS.includes(format);

function select(name, text, options) {
  const control = element("select", { id: `export-${name}` }, ...options.map(([value, shown]) => new Option(shown, value)));
  return { control, field: fieldOf(text, control) };
}
