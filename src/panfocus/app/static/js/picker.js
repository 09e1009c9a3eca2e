// "On this computer": choose a folder, or some files of it, that the server may open; nothing is copied.
import { element, sizeText } from "./dom.js";

/** Let the user choose; the stack that is made of it is selected. */
export function openPicker(app) {
  const place = element("p", { class: "path", id: "picker-path" });
  const list = element("ul", { class: "picker-list" });
  const tick = (text, on) =>
    element("button", { type: "button", class: "plain small", onclick: () => tickAll(on) }, text);
  const ticks = element(
    "div",
    { class: "row", role: "group", "aria-label": "Images to open", hidden: true },
    tick("All", true),
    tick("None", false),
  );
  const open = element("button", { type: "button", class: "main", disabled: true, onclick: make }, "Open");
  const dialog = element(
    "dialog",
    {
      class: "picker",
      "aria-labelledby": "picker-title",
      onclose: () => {
        dialog.remove();
        following();
      },
    },
    // The focus waits here for the list: on Cancel, a quick Enter would close it all.
    element("h2", { id: "picker-title", tabIndex: -1, autofocus: true }, "Open on this computer"),
    place,
    ticks,
    list,
    element(
      "div",
      { class: "row end" },
      element("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Cancel"),
      open,
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  let shown = null;
  let asking = null; // for a folder; the answer that counts is that to the last click

  const join = (name) => `${shown.path.replace(/\/$/, "")}/${name}`;
  const checked = () => [...list.querySelectorAll("input:checked")].map((box) => box.value);

  function tickAll(on) {
    for (const box of list.querySelectorAll("input")) box.checked = on;
    count();
  }

  function count() {
    const n = checked().length;
    ticks.hidden = list.querySelector("input") === null;
    open.disabled = n === 0;
    open.textContent = n === 0 ? "Open" : `Open ${n} ${n === 1 ? "image" : "images"}`;
  }

  function folderButton(label, path) {
    return element(
      "li",
      {},
      element("button", { type: "button", class: "plain folder", onclick: () => go(path) }, label),
    );
  }

  async function go(path) {
    asking?.abort();
    asking = new AbortController();
    try {
      shown = await app.api.post("/api/folders", { path }, asking.signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      place.textContent = error.message;
      return;
    }
    place.textContent = shown.path;
    const { roots } = app.state.get();
    const up =
      shown.parent !== null
        ? folderButton("Up one folder", shown.parent)
        : roots.length > 1
          ? element(
              "li",
              {},
              element("button", { type: "button", class: "plain folder", onclick: start }, "Other folders"),
            )
          : null;
    list.replaceChildren(
      ...[
        up,
        ...shown.folders.map((name) => folderButton(`${name}/`, join(name))),
        ...shown.files.map(({ name, bytes }) =>
          element(
            "li",
            {},
            element(
              "label",
              {},
              element("input", { type: "checkbox", checked: true, value: name, onchange: count }),
              element("span", { class: "grow" }, name),
              element("span", { class: "quiet" }, sizeText(bytes)),
            ),
          ),
        ),
      ].filter(Boolean),
    );
    if (!list.children.length) list.append(element("li", { class: "quiet" }, "No folders or images here."));
    count();
    const entries = list.querySelectorAll("button, input");
    (entries[up ? 1 : 0] ?? entries[0])?.focus(); // not on the way back, where there is something to choose
  }

  function start() {
    asking?.abort();
    const { roots } = app.state.get();
    if (roots.length === 1) {
      go(roots[0]);
      return;
    }
    place.textContent = roots.length
      ? "Folders that panfocus app was given:"
      : "The server is getting ready …";
    list.replaceChildren(...roots.map((root) => folderButton(root, root)));
    count();
    list.querySelector("button")?.focus();
  }

  async function make() {
    const names = checked();
    const all = names.length === shown.files.length;
    open.disabled = true;
    try {
      const stack = await app.api.post(
        "/api/stacks",
        all ? { folder: shown.path } : { files: names.map(join) },
      );
      app.accept({ kind: "stack", stack });
      if (!dialog.open) return; // cancelled meanwhile: it is among the earlier stacks
      dialog.close();
      app.select(stack.id);
      document.getElementById("stack-title").focus(); // the button that opened this is on the page before
    } catch (error) {
      place.textContent = error.message;
      open.disabled = false;
    }
  }

  const following = app.state.on((now, before) => {
    if (now.loaded && !before.loaded) start();
  });
  start();
}
