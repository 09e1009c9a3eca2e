// The Export tool: download the picture and its maps, and show the command that writes the same bytes.

import {
  copyButton, createCheckbox, createField, createSelect, downloadFile, element, setText, sizeText,
} from "./dom.js";
import { waitForStrokes } from "./retouch/strokes.js";

const FORMATS = [["tif", "TIFF"], ["png", "PNG"], ["jpg", "JPEG"], ["webp", "WebP"]];
const FORMAT_OF = { tif: "tif", tiff: "tif", png: "png", jpg: "jpg", jpeg: "jpg", webp: "webp" };
const LOSSY = ["jpg", "webp"]; // 8 bits per channel, with a quality
const OUTPUTS = [
  ["image", "Picture"],
  ["labels", "Source frames (label map)"],
  ["depth", "Depth map"],
  ["depth_colour", "Depth map in colours"],
  ["confidence", "Confidence"],
  ["never_in_focus", "Never in focus"],
  ["report", "Report"],
];
const MAX_NAMES = 3; // of changed files
const DOWNLOAD_INTERVAL = 300; // ms: browsers drop downloads that start at the same time

export function mount(panel, app) {
  const format = select("format", "Format", FORMATS);
  const bits = select("bits", "Bits per channel", [["", "same as the frames"], ["8", "8"], ["16", "16"]]);
  const quality = element("input", { type: "number", min: 1, max: 100, step: 1, value: 95, id: "export-quality" });
  const qualityField = createField("Quality, 1 to 100", quality);
  const boxes = OUTPUTS.map(([name, text]) => ({ name, ...createCheckbox(text, { name, checked: name === "image" }) }));
  const strokes = element("p", { class: "help" }, "The saved picture includes the retouching. The strokes are saved as an additional file.");
  const save = element("button", { type: "submit", class: "main big" }, "Save");
  const output = element("div", { class: "exported", "aria-live": "polite" });
  const form = element(
    "form",
    { class: "tool-form", onsubmit: (event) => { event.preventDefault(); run(); } },
    save,
    output,
    format.field,
    bits.field,
    qualityField,
    element("fieldset", {}, element("legend", {}, "Save"), ...boxes.map(({ label }) => label)),
    strokes,
  );
  panel.append(form);
  format.control.addEventListener("change", draw);
  for (const { input } of boxes) input.addEventListener("change", draw);

  let job = null;
  const saving = new Set(); // job ids: several results can be saved at the same time
  const outputs = new Map(); // the last output of each job, by its id

  app.state.on(() => {
    const now = app.job();
    const done = now?.state === "done" && now.result?.layers ? now : null;
    const hasChanged = done?.id !== job?.id;
    job = done;
    if (hasChanged) open();
    draw();
  });

  /** Show a result, with the format of its frames. */
  function open() {
    output.replaceChildren(...(outputs.get(job?.id) ?? []));
    if (!job) return;
    const ending = job.result.names[0]?.split(".").at(-1).toLowerCase();
    format.control.value = FORMAT_OF[ending] ?? "tif";
    if (LOSSY.includes(format.control.value) && job.result.dtype !== "uint8") format.control.value = "tif";
    bits.control.value = "";
    for (const { name, input } of boxes) input.checked = name === "image";
  }

  function draw() {
    if (!job) return;
    const isLossy = LOSSY.includes(format.control.value);
    bits.field.hidden = isLossy;
    qualityField.hidden = !isLossy;
    quality.disabled = !isLossy; // a hidden invalid value would block the form
    strokes.hidden = !job.retouch?.n_strokes;
    for (const { name, input, label } of boxes) {
      const isAvailable = ["image", "report"].includes(name) || job.result.layers.includes(name.replace("_colour", ""));
      label.hidden = !isAvailable;
      if (!isAvailable) input.checked = false;
    }
    const n = selected().length + (strokes.hidden ? 0 : 1); // strokes are always saved, too
    const isSaving = saving.has(job.id);
    save.disabled = isSaving || selected().length === 0;
    setText(save, isSaving ? "Saving …" : n === 1 && boxes[0].input.checked ? "Save picture" : `Save ${n} files`);
  }

  function selected() {
    return boxes.filter(({ input }) => input.checked).map(({ name }) => name);
  }

  async function run() {
    const exported = job; // another one may be shown when the response comes
    const ending = format.control.value;
    const isReduced = LOSSY.includes(ending) && exported.result.dtype !== "uint8";
    const request = {
      format: ending,
      bits: isReduced ? 8 : Number(bits.control.value) || null,
      quality: (!quality.disabled && Number(quality.value)) || 95,
      what: selected(),
    };
    saving.add(exported.id);
    draw();
    try {
      await waitForStrokes(exported);
      const response = await app.api.post(`/api/jobs/${exported.id}/export`, request);
      showOutput(exported, createOutput(response));
      app.announce(`Saved: ${response.files.map(({ name }) => name).join(", ")}`);
      for (const [i, { url, name }] of response.files.entries())
        setTimeout(() => downloadFile(url, name), i * DOWNLOAD_INTERVAL);
    } catch (error) {
      showOutput(exported, [element("p", { class: "error" }, error.message)]);
      if (job?.id !== exported.id) app.showNotice(`Cannot save ${exported.name}: ${error.message}`);
    } finally {
      saving.delete(exported.id);
      draw();
    }
  }

  /** Show the output of a job, now or when the job is shown again. */
  function showOutput({ id }, nodes) {
    outputs.set(id, nodes);
    if (job?.id === id) output.replaceChildren(...nodes);
  }

  function createOutput({ files, said, command, changed }) {
    const code = element("code", { class: "command", tabIndex: 0, role: "region", "aria-label": "Command line" }, command);
    const lines = (said ?? []).map((text) => element("li", {}, text));
    return [
      element("p", {}, "Saved files:"),
      element("ul", { class: "files" }, ...files.map(({ name, bytes, url }) =>
        element("li", {}, element("a", { href: url, download: name }, name), ` ${sizeText(bytes)}`))),
      element("ul", { class: "warnings", "aria-label": "Lost in these files", hidden: lines.length === 0 }, ...lines),
      element("p", { class: changed.length ? "warnings" : "help" }, describeCommand(changed)),
      code,
      copyButton(() => command, app),
    ];
  }
}

/** Describe the output of the command, which differs if the frames or the dictionary have changed since the fusion. */
function describeCommand(changed) {
  if (changed.length === 0) return "This command writes the same bytes (except times and paths in a report):";
  const more = changed.length > MAX_NAMES ? ` and ${changed.length - MAX_NAMES} more` : "";
  const names = changed.slice(0, MAX_NAMES).join(", ");
  return `Changed or deleted since the fusion: ${names}${more}. The saved files show the original frames; this command would use the current ones:`;
}

function select(name, text, options) {
  const control = createSelect(options, { id: `export-${name}` });
  return { control, field: createField(text, control) };
}
