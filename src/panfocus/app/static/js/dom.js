// Helpers to create and update elements, and to format sizes and times.

/**
 * Create an element. Names with a dash, `role` and `for` become attributes, `onclick` and the like listeners,
 * `data` the data set, others properties. Children that are null, undefined or false are skipped.
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

/** Set the text of a node if it differs, so that screen readers and the layout are not disturbed. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const MAX_LINES = 4; // shown without unfolding

/** Show lines in a list, most of a long list folded; hide it if there are none. */
export function setLines(list, lines) {
  const wanted = JSON.stringify(lines);
  list.hidden = lines.length === 0;
  if (list.dataset.shown === wanted) return;
  list.dataset.shown = wanted;
  const items = lines.map((line) => element("li", {}, line));
  const rest = items.length > MAX_LINES + 1 ? items.splice(MAX_LINES) : [];
  list.replaceChildren(...items);
  if (rest.length === 0) return;
  const summary = element("summary", {}, `${rest.length} more`);
  // Scrollable, also by keyboard: a hundred lines must not push away the rest of the page.
  const more = element("ul", { class: "more-lines", tabIndex: 0, "aria-label": "More lines" }, ...rest);
  list.append(element("li", {}, element("details", {}, summary, more)));
}

/**
 * Change a part of the page. If this hides the focused element, focus the one that `next()` returns: otherwise
 * keyboard users would restart at the top of the page.
 */
export function keepFocus(part, change, next) {
  const focused = document.activeElement;
  const isInside = part.contains(focused);
  change();
  if (isInside && !focused.checkVisibility()) next()?.focus();
}

/**
 * Show these items in a list. Items that stay are not touched. If the focused item is removed, its successor gets the
 * focus, or `fallback` if the list is empty.
 */
export function setItems(list, items, fallback) {
  const at = [...list.children].findIndex((item) => item.contains(document.activeElement));
  const wanted = new Set(items);
  const change = () => {
    for (const item of [...list.children]) if (!wanted.has(item)) item.remove();
    for (const [i, item] of items.entries())
      if (list.children[i] !== item) list.insertBefore(item, list.children[i] ?? null);
  };
  const first = "button, a, input, [tabindex]";
  keepFocus(list, change, () => items[Math.min(at, items.length - 1)]?.querySelector(first) ?? fallback);
}

/** Return a function that calls `fn` once, `wait` ms after its last call. */
export function debounced(fn, wait) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => fn(...args), wait);
  };
}

/** Create a button that copies the text that `text()` returns. */
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
          app.announce("The browser does not allow copying. Select the text and copy it.");
        }
      },
    },
    label,
  );
}

/** Download a file under a name. */
export function downloadFile(url, name) {
  const link = element("a", { href: url, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  if (url.startsWith("blob:")) setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Listen to keys anywhere on the page, except while a dialog is open. */
export function onPageKey(listener) {
  document.addEventListener("keydown", (event) => {
    if (!event.defaultPrevented && !document.querySelector("dialog[open]")) listener(event);
  });
}

/** Create a label with its control inside. */
export function labelled(text, control) {
  return element("label", {}, element("span", {}, text), control);
}

/** Create a field: a label, its control (which needs an id), and `more` below. */
export function createField(text, control, ...more) {
  return element("div", { class: "field" }, element("label", { for: control.id }, text), control, ...more);
}

/** Create a checkbox in its label: {input, label}. */
export function createCheckbox(text, props) {
  const input = element("input", { type: "checkbox", ...props });
  return { input, label: element("label", { class: "check" }, input, text) };
}

/** Create a toggle button, which is on at first; `onChange()` is called after each press. */
export function createToggle(text, title, onChange) {
  const isOn = () => button.getAttribute("aria-pressed") === "true";
  const onclick = () => {
    button.setAttribute("aria-pressed", String(!isOn()));
    onChange();
  };
  const button = element("button", { type: "button", title, "aria-pressed": "true", onclick }, text);
  return { button, isOn };
}

/** Create a select; `options` are [value, text]. */
export function createSelect(options, props = {}) {
  return element("select", props, ...options.map(([value, text]) => element("option", { value }, text)));
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
