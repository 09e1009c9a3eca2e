/* The form of the brush: the frame that it paints, its size, hardness and opacity. */

import { element, setText, tickBox } from "../dom.js";
import { nameOf } from "../viewer/layers.js";

const percent = (value) => `${Math.round(100 * value)} %`;
const pixels = (size) => `${size < 10 ? size.toFixed(1) : Math.round(size)} pixels`;

export function createBrushForm(brush) {
  const { viewer } = brush;
  const frames = element("div", { class: "sources" });
  const pick = element("button", { type: "button", title: "Then click on a place of the picture (B)", onclick: () => brush.set({ picking: !brush.picking }) }, "Pick the sharpest by a click");
  // Sizes from 1 to 2000 on one slider: equal steps are equal factors.
  const sliders = [
    slider("Size", "size", (size) => 100 * Math.log10(size), (at) => 10 ** (at / 100), 330, pixels),
    slider("Hardness", "hardness", (part) => 100 * part, (at) => at / 100, 100, percent),
    slider("Opacity", "opacity", (part) => 100 * part, (at) => at / 100, 100, percent),
  ];
  const match = tickBox("Match the brightness", { onchange: () => brush.set({ match: match.input.checked }) });
  const side = tickBox("Show the frame beside the result", { onchange: () => showBeside(side.input.checked) });
  let job = null;
  let beside = null; // the layer that was put there from here

  function slider(text, name, toSlider, fromSlider, max, told) {
    const input = element("input", { type: "range", min: 0, max, step: 1, id: `brush-${name}`, oninput: () => brush.set({ [name]: fromSlider(Number(input.value)) }) });
    const value = element("output", { for: input.id });
    const update = () => {
      input.value = Math.round(toSlider(brush[name]));
      input.setAttribute("aria-valuetext", told(brush[name]));
      setText(value, told(brush[name]));
    };
    return { element: element("div", { class: "slider" }, element("label", { for: input.id }, text), value, input), update };
  }

  function update() {
    for (const each of sliders) each.update();
    pick.setAttribute("aria-pressed", String(brush.picking));
    match.input.checked = brush.match;
    const chosen = frames.querySelectorAll("input")[brush.frame];
    if (chosen && !chosen.checked) {
      chosen.checked = true;
      chosen.closest("label").scrollIntoView({ block: "nearest" });
    }
    if (beside && beside !== `frame-${brush.frame}`) showBeside(true);
    side.input.checked = beside !== null;
  }

  /* Offer the frames of a job. */
  function open(now) {
    job = now;
    frames.replaceChildren();
    if (!job) return;
    const { width, height, names, levels } = job.result;
    frames.append(...names.map((_, k) => source(job, k, levels)));
    const size = Math.max(4, Math.round(0.06 * Math.min(width, height)));
    brush.set({ frame: 0, size, picking: false });
  }

  function source(of, k, levels) {
    const src = `/api/jobs/${encodeURIComponent(of.id)}/tiles/frame-${k}/${levels - 1}/0_0?v=${encodeURIComponent(of.ended)}`;
    const input = element("input", { type: "radio", name: "source-frame", value: k, onchange: () => brush.set({ frame: k }) });
    const image = element("img", { loading: "lazy", decoding: "async", alt: "", width: 72, height: 54, src });
    return element("label", {}, input, image, element("span", {}, nameOf(of, `frame-${k}`)));
  }

  /* Show the brush's frame beside the picture, or end that. */
  function showBeside(wanted) {
    const ended = beside;
    beside = wanted ? `frame-${brush.frame}` : null;
    if (wanted) viewer.sideBySide(beside);
    else if (ended && viewer.shown.beside === ended) viewer.sideBySide(null);
    side.input.checked = wanted;
  }

  viewer.on("changed", () => {
    if (beside === null || viewer.shown.beside === beside) return;
    beside = null; // something else was chosen above the picture
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
