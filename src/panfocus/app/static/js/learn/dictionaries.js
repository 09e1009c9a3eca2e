/* The dictionaries that were learned on this computer, on whatever stack: to save and to delete. */

import { element, setItems } from "../dom.js";

/* `rest` gets the focus when the last one was deleted. */
export function createDictionaries(app, rest) {
  const title = element("h3", { id: "dictionaries-title" }, "Learned dictionaries");
  const list = element("ul", { class: "dictionaries" });
  const section = element("section", { class: "tool-part", "aria-labelledby": title.id, hidden: true }, title, list);
  const rows = new Map(); // by name

  function draw(names) {
    for (const name of names) if (!rows.has(name)) rows.set(name, row(name));
    setItems(list, names.map((name) => rows.get(name)), rest);
    section.hidden = names.length === 0;
  }

  function row(name) {
    const address = addressOf(name);
    return element("li", {},
      element("span", { class: "grow" }, name),
      element("a", { href: address, download: "", "aria-label": `Save the dictionary ${name}` }, "Save"),
      element("button", { type: "button", class: "plain small", "aria-label": `Delete the dictionary ${name}`, onclick: () => remove(name) }, "Delete"));
  }

  async function remove(name) {
    if (!confirm(`Delete the dictionary “${name}”? Pictures that were fused with it stay.`)) return;
    try {
      await app.api.remove(addressOf(name));
      app.announce(`The dictionary ${name} is deleted.`);
    } catch (error) {
      app.complain(error);
    }
  }

  return { element: section, draw };
}

const addressOf = (name) => `/api/dictionaries/${encodeURIComponent(name)}`;
