// The dictionaries learned on this computer, to save or delete.

import { element, setItems } from "../dom.js";

/** `fallback` gets the focus when the last dictionary is deleted. */
export function createDictionaryList(app, fallback) {
  const title = element("h3", { id: "dictionaries-title" }, "Learned dictionaries");
  const list = element("ul", { class: "dictionaries" });
  const section = element("section", { class: "tool-part", "aria-labelledby": title.id, hidden: true }, title, list);
  const rows = new Map(); // by name

  function draw(names) {
    for (const name of names) if (!rows.has(name)) rows.set(name, createRow(name));
    setItems(list, names.map((name) => rows.get(name)), fallback);
    section.hidden = names.length === 0;
  }

  function createRow(name) {
    const address = dictionaryUrl(name);
    return element("li", {},
      element("span", { class: "grow" }, name),
      element("a", { href: address, download: "", "aria-label": `Save dictionary ${name}` }, "Save"),
      element("button", { type: "button", class: "plain small", "aria-label": `Delete dictionary ${name}`, onclick: () => remove(name) }, "Delete"));
  }

  async function remove(name) {
    if (!confirm(`Delete the dictionary “${name}”? Results that used it are kept.`)) return;
    try {
      await app.api.remove(dictionaryUrl(name));
      app.announce(`Dictionary ${name} deleted.`);
    } catch (error) {
      app.showNotice(error);
    }
  }

  return { element: section, draw };
}

const dictionaryUrl = (name) => `/api/dictionaries/${encodeURIComponent(name)}`;
