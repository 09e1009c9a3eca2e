// Form fields for settings that the server describes: {name, kind, default, help, choices?, min?, max?}.
import { element } from "./dom.js";

let nFields = 0; // for ids

/**
 * Create a labelled input for each field. `getValue(field)` returns the current value, undefined for the default;
 * `onChange(field, value)` gets undefined for the default, too.
 */
export function createFields(fields, dictionaries, getValue, onChange) {
  return fields.map((field) => {
    nFields += 1;
    const id = `field-${nFields}`;
    const input = createInput(field, dictionaries, getValue(field) ?? field.default, (value) => {
      onChange(field, value === field.default || value === null ? undefined : value);
    });
    input.id = id;
    input.name = field.name;
    input.setAttribute("aria-describedby", `${id}-help`);
    const label = element("label", { for: id }, labelText(field.name));
    const help = element("p", { class: "help", id: `${id}-help` }, field.help);
    const isCheckbox = input.type === "checkbox";
    return element(
      "div",
      { class: isCheckbox ? "field tick" : "field" },
      ...(isCheckbox ? [input, label] : [label, input]),
      help,
    );
  });
}

function labelText(name) {
  const words = name.replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

function createInput(field, dictionaries, value, onChange) {
  if (field.kind === "boolean" && field.default !== null) {
    return element("input", {
      type: "checkbox",
      checked: value === true,
      onchange: (event) => onChange(event.target.checked),
    });
  }
  if (field.kind === "boolean")
    return createChoice(
      ["yes", "no"],
      value === null ? null : value ? "yes" : "no",
      (text) => onChange(text && text === "yes"),
      "default",
    );
  if (field.kind === "choice")
    return createChoice(field.choices, value, onChange, field.default === null ? "default" : null);
  if (field.kind === "dictionary")
    return createChoice(dictionaries, value, onChange, "default");
  if (field.kind === "number" || field.kind === "integer") {
    const input = element("input", {
      type: "number",
      step: field.kind === "integer" ? "1" : "any",
      placeholder: "default",
      value: value ?? "",
      onchange: () => {
        if (input.checkValidity()) onChange(input.value === "" ? null : Number(input.value));
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
    onchange: (event) => onChange(event.target.value.trim() || null),
  });
}

/** Create a select; `none` is the text of the entry for null, or null if there is no such entry. */
function createChoice(entries, value, onChange, none) {
  const select = element("select", {
    onchange: () => {
      const at = select.selectedIndex - (none === null ? 0 : 1);
      onChange(at < 0 ? null : entries[at]);
    },
  });
  if (none !== null) select.append(element("option", {}, none));
  for (const entry of entries) select.append(element("option", { selected: entry === value }, String(entry)));
  return select;
}
