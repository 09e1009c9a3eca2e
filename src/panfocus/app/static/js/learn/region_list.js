/* The rectangles as a list of small forms: where they are, and which frame is focused there. */

import { element, fieldOf } from "../dom.js";
import { nameOf } from "../viewer/layers.js";

const NUMBERS = ["top", "left", "height", "width"];

/* Make the forms of all rectangles anew. */
export function drawRegions(list, regions, job) {
  list.replaceChildren(...regions.list.map((region, i) => form(region, i, regions, job)));
}

function form(region, i, regions, job) {
  const frames = job.result.names.map((_, k) => [k, nameOf(job, `frame-${k}`)]);
  const remove = element("button", { type: "button", class: "small plain", onclick: () => {
    regions.list.splice(i, 1);
    regions.changed();
  } }, `Delete rectangle ${i + 1}`);
  return element(
    "li",
    {},
    element(
      "fieldset",
      { onfocusin: () => regions.choose(region), onfocusout: () => regions.choose(null) },
      element("legend", {}, `Rectangle ${i + 1}`),
      element("div", { class: "numbers" }, ...NUMBERS.map((name) => number(region, i, name, regions, job))),
      frameChoice("Focused in", "focused", "blurred"),
      frameChoice("Blurred in", "blurred", "focused"),
      remove,
    ),
  );

  /* A frame cannot be both: the one that is taken from the other is given to it in exchange. */
  function frameChoice(text, name, other) {
    const id = `region-${i}-${name}`;
    const select = element("select", { id, onchange: () => {
      const before = region[name];
      region[name] = Number(select.value);
      if (region[other] === region[name]) region[other] = before;
      regions.changed();
      document.getElementById(id)?.focus(); // the form was made anew
    } }, ...frames.map(([value, shown]) => new Option(shown, value)));
    select.value = region[name];
    return fieldOf(text, select);
  }
}

function number(region, i, name, regions, job) {
  const id = `region-${i}-${name}`;
  const side = name === "top" || name === "height" ? job.result.height : job.result.width;
  const from = name === "top" || name === "left" ? 0 : 1;
  const input = element("input", { type: "number", id, min: from, max: side - 1 + from, step: 1, required: true, value: region[name], onchange: () => {
    if (!input.reportValidity()) return;
    region[name] = Number(input.value);
    regions.changed();
    document.getElementById(id)?.focus();
  } });
  return fieldOf(name[0].toUpperCase() + name.slice(1), input);
}
