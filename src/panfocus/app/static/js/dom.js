// Small helpers to make and change elements.

/**
 * An element with properties and children. Names with a dash, and `role`, become attributes, `on` + a name a
 * listener (`onclick`), `class` the class, `data` the data set. Children that are null or false are left out.
 */
export function element(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined) continue;
    if (name === "class") node.className = value;
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role" || name === "for") node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Set the text of a node only if it differs: a screen reader and the layout are left alone otherwise. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const MOST_LINES = 4;

/** Make a list show these lines, those beyond some folded; hidden where there are none. */
export function setLines(list, lines) {
  const known = JSON.stringify(lines);
  list.hidden = lines.length === 0;
  if (list.dataset.shown === known) return;
  list.dataset.shown = known;
  const items = lines.map((line) => element("li", {}, line));
  const rest = items.length > MOST_LINES + 1 ? items.splice(MOST_LINES) : [];
  list.replaceChildren(...items);
  if (rest.length === 0) return;
  const summary = element("summary", {}, `And ${rest.length} more`);
  // It scrolls, by keys too: a hundred lines shall not push away what comes below them.
  const more = element("ul", { class: "more-lines", tabIndex: 0, "aria-label": "More lines" }, ...rest);
  list.append(element("li", {}, element("details", {}, summary, more)));
}

/**
 * Change a part of the page. If the focus was there, on what is seen no more, `next()` gets it: else keys would begin
 * anew at the top of the page.
 */
export function keepFocus(part, change, next) {
  const held = document.activeElement;
  const inside = part.contains(held);
  change();
  if (inside && !held.checkVisibility()) next()?.focus();
}

/**
 * Make a list show these items in their order. Those that stay are not touched; if the focus was in one that goes, the
 * one in its place gets it, where all are gone `rest`.
 */
export function setItems(list, items, rest) {
  const at = [...list.children].findIndex((item) => item.contains(document.activeElement));
  const wanted = new Set(items);
  const change = () => {
    for (const item of [...list.children]) if (!wanted.has(item)) item.remove();
    for (const [i, item] of items.entries())
      if (list.children[i] !== item) list.insertBefore(item, list.children[i] ?? null);
  };
  const first = "button, a, input, [tabindex]";
  keepFocus(list, change, () => items[Math.min(at, items.length - 1)]?.querySelector(first) ?? rest);
}

/** Call `fn` once, `wait` ms after the last request. */
export function debounced(fn, wait) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => fn(...args), wait);
  };
}

/** A button that copies the text that `text()` gives, and says so. */
export function copyButton(text, app, label = "Copy") {
  return element(
    "button",
    {
      type: "button",
      class: "plain small",
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(text());
          app.announce("Copied.");
        } catch {
          app.announce("The browser does not allow copying here: select the text and copy it.");
        }
      },
    },
    label,
  );
}

/** Listen to keys wherever the focus is, but not in a dialog: what is behind it shall not change unseen. */
export function onPageKey(listener) {
  document.addEventListener("keydown", (event) => {
    if (!event.defaultPrevented && !document.querySelector("dialog[open]")) listener(event);
  });
}

/** A control in its label. */
export function labelled(text, control) {
  return element("label", {}, element("span", {}, text), control);
}

/** A control, which has an id, below its label; `more` stands below both. */
export function fieldOf(text, control, ...more) {
  return element("div", { class: "field" }, element("label", { for: control.id }, text), control, ...more);
}

/** A tick box in its label: {input, label}. */
export function tickBox(text, props) {
  const input = element("input", { type: "checkbox", ...props });
  return { input, label: element("label", { class: "check" }, input, text) };
}

/** A button that is on, and off when it is pressed again; `changed()` is called after each press. */
export function toggleButton(text, title, changed) {
  const isOn = () => button.getAttribute("aria-pressed") === "true";
  const onclick = () => {
    button.setAttribute("aria-pressed", String(!isOn()));
    changed();
  };
  const button = element("button", { type: "button", title, "aria-pressed": "true", onclick }, text);
  return { button, isOn };
}

const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

/** 12345678 -> "12 MB" */
export function sizeText(bytes) {
  let unit = 0;
  let value = bytes;
  while (Math.round(value) >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit && value < 9.95 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

/** 75 -> "1 min 15 s" */
export function secondsText(seconds) {
  if (seconds < 9.95 && !Number.isInteger(seconds)) return `${Math.max(seconds, 0.1).toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(whole / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
