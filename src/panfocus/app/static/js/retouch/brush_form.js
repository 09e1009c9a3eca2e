// The form of the brush: source frame, size, hardness and opacity.

import { createCheckbox, element, setText } from "../dom.js";
import { layerName } from "../viewer/layers.js";

const percent = (value) => `${Math.round(100 * value)} %`;
const pixels = (size) => `${size < 10 ? size.toFixed(1) : Math.round(size)} pixels`;

export function createBrushForm(brush) {
  const { viewer } = brush;
  const frames = element("div", { class: "sources" });
  const pick = element("button", { type: "button", title: "Then click on the picture (B)", onclick: () => brush.set({ isPicking: !brush.isPicking }) }, "Pick sharpest frame");
  // Logarithmic, for sizes from 1 to 2000 px.
  const sliders = [
    createSlider("Size", "size", (size) => 100 * Math.log10(size), (at) => 10 ** (at / 100), 330, pixels),
    createSlider("Hardness", "hardness", (part) => 100 * part, (at) => at / 100, 100, percent),
    createSlider("Opacity", "opacity", (part) => 100 * part, (at) => at / 100, 100, percent),
  ];
  const match = createCheckbox("Match brightness", { onchange: () => brush.set({ match: match.input.checked }) });
  const side = createCheckbox("Show the frame side by side", { onchange: () => showBeside(side.input.checked) });
  let job = null;
  let beside = null; // the layer that this form shows in the second pane

  function createSlider(text, name, toSlider, fromSlider, max, format) {
    const input = element("input", { type: "range", min: 0, max, step: 1, id: `brush-${name}`, oninput: () => brush.set({ [name]: fromSlider(Number(input.value)) }) });
    const value = element("output", { for: input.id });
    const update = () => {
      input.value = Math.round(toSlider(brush[name]));
      input.setAttribute("aria-valuetext", format(brush[name]));
      setText(value, format(brush[name]));
    };
    return { element: element("div", { class: "slider" }, element("label", { for: input.id }, text), value, input), update };
  }

  function update() {
    for (const each of sliders) each.update();
    pick.setAttribute("aria-pressed", String(brush.isPicking));
    match.input.checked = brush.match;
    const selected = frames.querySelectorAll("input")[brush.frame];
    if (selected && !selected.checked) {
      selected.checked = true;
      selected.closest("label").scrollIntoView({ block: "nearest" });
    }
    if (beside && beside !== `frame-${brush.frame}`) showBeside(true);
    side.input.checked = beside !== null;
  }

  /** Show the frames of a job. */
  function open(newJob) {
    job = newJob;
    frames.replaceChildren();
    if (!job) return;
    const { width, height, names, levels } = job.result;
    frames.append(...names.map((_, k) => createSource(k, levels)));
    const size = Math.max(4, Math.round(0.06 * Math.min(width, height)));
    brush.set({ frame: 0, size, isPicking: false });
  }

  function createSource(k, levels) {
    const src = `/api/jobs/${encodeURIComponent(job.id)}/tiles/frame-${k}/${levels - 1}/0_0?v=${encodeURIComponent(job.ended)}`;
    const input = element("input", { type: "radio", name: "source-frame", value: k, onchange: () => brush.set({ frame: k }) });
    const image = element("img", { loading: "lazy", decoding: "async", alt: "", width: 72, height: 54, src });
    return element("label", {}, input, image, element("span", {}, layerName(job, `frame-${k}`)));
  }

  /** Show the frame of the brush in the second pane, or hide it. */
  function showBeside(isWanted) {
    const before = beside;
    beside = isWanted ? `frame-${brush.frame}` : null;
    if (isWanted) viewer.sideBySide(beside);
    else if (before && viewer.shown.beside === before) viewer.sideBySide(null);
    side.input.checked = isWanted;
  }

  viewer.on("changed", () => {
    if (beside === null || viewer.shown.beside === beside) return;
    beside = null; // something else was selected above the picture
    side.input.checked = false;
  });

  update();
  return {
    element: element("div", {}, element("fieldset", {}, element("legend", {}, "Paint from"), frames, pick), ...sliders.map((each) => each.element), match.label, side.label),
    open,
    update,
    showBeside,
  };
}
