/* The rectangles as a list of small forms: where they are, and which frame is focused there. */

import { element, fieldOf, setItems, setText } from "../dom.js";
import { nameOf } from "../viewer/layers.js";

const NUMBERS = ["top", "left", "height", "width"];

const forms = new WeakMap(); // by rectangle: a form stays while it is shown, so that the focus and what is typed do
let nForms = 0; // for ids

/* Show the forms of all rectangles; `rest` gets the focus when the last one was deleted. */
export function drawRegions(list, regions, job, rest) {
  for (const region of regions.list) if (!forms.has(region)) forms.set(region, form(region, regions, job));
  const wanted = regions.list.map((region) => forms.get(region));
  wanted.forEach(({ update }, i) => update(i));
  setItems(list, wanted.map(({ item }) => item), rest);
}

function form(region, regions, job) {
  nForms += 1;
  const legend = element("legend", {});
  const remove = element("button", { type: "button", class: "small plain", onclick: () => {
    regions.list.splice(regions.list.indexOf(region), 1);
    regions.changed();
  } });
  const controls = {};
  const choices = [frameChoice("Focused in", "focused", "blurred"), frameChoice("Blurred in", "blurred", "focused")];
  const item = element(
    "li",
    {},
    element(
      "fieldset",
      { onfocusin: () => regions.choose(region), onfocusout: () => regions.choose(null) },
      legend,
      element("div", { class: "numbers" }, ...NUMBERS.map(number)),
      ...choices,
      remove,
    ),
  );

  function update(i) {
    setText(legend, `Rectangle ${i + 1}`);
    setText(remove, `Delete rectangle ${i + 1}`);
    for (const [name, control] of Object.entries(controls)) {
      if (control.type === "number" && control === document.activeElement) continue; // it is being typed in
      control.value = region[name];
    }
  }

  /* A control in its field, which shows one property of the rectangle. */
  function field(text, name, control) {
    control.id = `region-${nForms}-${name}`;
    controls[name] = control;
    return fieldOf(text, control);
  }

  /* A frame cannot be both: the one that is taken from the other is given to it in exchange. */
  function frameChoice(text, name, other) {
    const select = element("select", { onchange: () => {
      const before = region[name];
      region[name] = Number(select.value);
      if (region[other] === region[name]) region[other] = before;
      regions.changed();
    } }, ...job.result.names.map((_, k) => new Option(nameOf(job, `frame-${k}`), k)));
    return field(text, name, select);
  }

  function number(name) {
    const side = name === "top" || name === "height" ? job.result.height : job.result.width;
    const from = name === "top" || name === "left" ? 0 : 1;
    const input = element("input", { type: "number", min: from, max: side - 1 + from, step: 1, required: true, onchange: () => {
      if (!input.reportValidity()) return;
      region[name] = Number(input.value);
      regions.changed();
    } });
    return field(name[0].toUpperCase() + name.slice(1), name, input);
  }

  return { item, update };
}
