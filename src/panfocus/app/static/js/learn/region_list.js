// The rectangles as a list of small forms: position, focused frame and blurred frame.

import { createField, createSelect, element, setItems, setText } from "../dom.js";
import { layerName } from "../viewer/layers.js";

const NUMBERS = ["top", "left", "height", "width"];

const forms = new WeakMap(); // by rectangle: forms are reused, so that they keep the focus and unfinished input
let nForms = 0; // for ids

/** Show the forms of all rectangles; `fallback` gets the focus when the last one is deleted. */
export function drawRegionList(list, regions, job, fallback) {
  for (const region of regions.list) if (!forms.has(region)) forms.set(region, createForm(region, regions, job));
  const wanted = regions.list.map((region) => forms.get(region));
  wanted.forEach(({ update }, i) => update(i));
  setItems(list, wanted.map(({ item }) => item), fallback);
}

function createForm(region, regions, job) {
  nForms += 1;
  const legend = element("legend", {});
  const remove = element("button", { type: "button", class: "small plain", onclick: () => {
    regions.list.splice(regions.list.indexOf(region), 1);
    regions.changed();
  } });
  const controls = {};
  const choices = [frameField("Focused in", "focused", "blurred"), frameField("Blurred in", "blurred", "focused")];
  const item = element(
    "li",
    {},
    element(
      "fieldset",
      { onfocusin: () => regions.highlight(region), onfocusout: () => regions.highlight(null) },
      legend,
      element("div", { class: "numbers" }, ...NUMBERS.map(numberField)),
      ...choices,
      remove,
    ),
  );

  function update(i) {
    setText(legend, `Rectangle ${i + 1}`);
    setText(remove, `Delete rectangle ${i + 1}`);
    for (const [name, control] of Object.entries(controls)) {
      if (control.type === "number" && control === document.activeElement) continue; // the user is typing
      control.value = region[name];
    }
  }

  /** Create the field of one property of the rectangle. */
  function propertyField(text, name, control) {
    control.id = `region-${nForms}-${name}`;
    controls[name] = control;
    return createField(text, control);
  }

  /** Create a choice of a frame. If the other choice has it, the frames are swapped. */
  function frameField(text, name, other) {
    const select = createSelect(job.result.names.map((_, k) => [k, layerName(job, `frame-${k}`)]), {
      onchange: () => {
        const before = region[name];
        region[name] = Number(select.value);
        if (region[other] === region[name]) region[other] = before;
        regions.changed();
      },
    });
    return propertyField(text, name, select);
  }

  function numberField(name) {
    const side = name === "top" || name === "height" ? job.result.height : job.result.width;
    const from = name === "top" || name === "left" ? 0 : 1;
    const input = element("input", { type: "number", min: from, max: side - 1 + from, step: 1, required: true, onchange: () => {
      if (!input.reportValidity()) return;
      region[name] = Number(input.value);
      regions.changed();
    } });
    return propertyField(name[0].toUpperCase() + name.slice(1), name, input);
  }

  return { item, update };
}
