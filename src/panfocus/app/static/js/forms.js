// Inputs for fields that the server describes: {name, kind, default, help, choices?, min?, max?}.
import { element } from "./dom.js";

let number = 0;

/**
 * One labelled input for each field. `valueOf(field)` gives what was chosen before (undefined: the default);
 * `changed(field, value)` is called with undefined where the default was chosen.
 */
export function formOf(fields, dictionaries, valueOf, changed) {
  return fields.map((field) => {
    number += 1;
    const id = `field-${number}`;
    const input = inputFor(field, dictionaries, valueOf(field) ?? field.default, (value) => {
      changed(field, value === field.default || value === null ? undefined : value);
    });
    input.id = id;
    input.name = field.name;
    input.setAttribute("aria-describedby", `${id}-help`);
    const label = element("label", { for: id }, labelOf(field.name));
    const help = element("p", { class: "help", id: `${id}-help` }, field.help);
    const tick = input.type === "checkbox";
    return element(
      "div",
      { class: tick ? "field tick" : "field" },
      ...(tick ? [input, label] : [label, input]),
      help,
    );
  });
}

function labelOf(name) {
  const words = name.replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

function inputFor(field, dictionaries, value, changed) {
  if (field.kind === "boolean" && field.default !== null) {
    return element("input", {
      type: "checkbox",
      checked: value === true,
      onchange: (event) => changed(event.target.checked),
    });
  }
  if (field.kind === "boolean")
    return choice(
      ["yes", "no"],
      value === null ? null : value ? "yes" : "no",
      (text) => changed(text && text === "yes"),
      "default",
    );
  if (field.kind === "choice")
    return choice(field.choices, value, changed, field.default === null ? "default" : null);
  if (field.kind === "dictionary")
    return choice(dictionaries, value, changed, "shipped with panfocus");
  if (field.kind === "number" || field.kind === "integer") {
    const input = element("input", {
      type: "number",
      step: field.kind === "integer" ? "1" : "any",
      placeholder: "default",
      value: value ?? "",
      onchange: () => {
        if (input.checkValidity()) changed(input.value === "" ? null : Number(input.value));
        else input.reportValidity();
      },
    });
    if (field.min !== undefined) input.min = field.min;
    if (field.max !== undefined) input.max = field.max;
    return input;
  }
  return element("input", {
    type: "text",
    placeholder: "default",
    value: value ?? "",
    spellcheck: false,
    onchange: (event) => changed(event.target.value.trim() || null),
  });
}

/** A select; `none` is the text of an entry that stands for null, if there is one. */
function choice(entries, value, changed, none) {
  const select = element("select", {
    onchange: () => {
      const at = select.selectedIndex - (none === null ? 0 : 1);
      changed(at < 0 ? null : entries[at]);
    },
  });
  if (none !== null) select.append(element("option", {}, none));
  for (const entry of entries) select.append(element("option", { selected: entry === value }, String(entry)));
  return select;
}
