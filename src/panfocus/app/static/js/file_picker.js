// The dialog "Open on this computer": select a folder or files that the server reads in place.
import { element, sizeText } from "./dom.js";

/** Open the dialog; the new stack is selected. */
export function openFilePicker(app) {
  const pathLine = element("p", { class: "path", id: "picker-path" });
  const list = element("ul", { class: "picker-list" });
  const checkButton = (text, isChecked) =>
    element("button", { type: "button", class: "plain small", onclick: () => checkAll(isChecked) }, text);
  const checkButtons = element(
    "div",
    { class: "row", role: "group", "aria-label": "Images to open", hidden: true },
    checkButton("All", true),
    checkButton("None", false),
  );
  const open = element("button", { type: "button", class: "main", disabled: true, onclick: createStack }, "Open");
  const dialog = element(
    "dialog",
    {
      class: "picker",
      "aria-labelledby": "picker-title",
      onclose: () => {
        dialog.remove();
        unsubscribe();
      },
    },
    // Focused until the list is loaded: on Cancel, a quick Enter would close the dialog.
    element("h2", { id: "picker-title", tabIndex: -1, autofocus: true }, "Open on this computer"),
    pathLine,
    checkButtons,
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
  let pending = null; // the request for the folder clicked last

  const join = (name) => `${shown.path.replace(/\/$/, "")}/${name}`;
  const checked = () => [...list.querySelectorAll("input:checked")].map((box) => box.value);

  function checkAll(isChecked) {
    for (const box of list.querySelectorAll("input")) box.checked = isChecked;
    update();
  }

  function update() {
    const n = checked().length;
    checkButtons.hidden = list.querySelector("input") === null;
    open.disabled = n === 0;
    open.textContent = n === 0 ? "Open" : `Open ${n} ${n === 1 ? "image" : "images"}`;
  }

  function folderButton(label, path) {
    return element(
      "li",
      {},
      element("button", { type: "button", class: "plain folder", onclick: () => openFolder(path) }, label),
    );
  }

  async function openFolder(path) {
    pending?.abort();
    pending = new AbortController();
    try {
      shown = await app.api.post("/api/folders", { path }, pending.signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      pathLine.textContent = error.message;
      return;
    }
    pathLine.textContent = shown.path;
    const { roots } = app.state.get();
    const up =
      shown.parent !== null
        ? folderButton("Up one folder", shown.parent)
        : roots.length > 1
          ? element(
              "li",
              {},
              element("button", { type: "button", class: "plain folder", onclick: showRoots }, "Other folders"),
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
              element("input", { type: "checkbox", checked: true, value: name, onchange: update }),
              element("span", { class: "grow" }, name),
              element("span", { class: "muted" }, sizeText(bytes)),
            ),
          ),
        ),
      ].filter(Boolean),
    );
    if (!list.children.length) list.append(element("li", { class: "muted" }, "No folders or images here."));
    update();
    const entries = list.querySelectorAll("button, input");
    (entries[up ? 1 : 0] ?? entries[0])?.focus(); // "Up one folder" only if there is nothing else
  }

  function showRoots() {
    pending?.abort();
    const { roots } = app.state.get();
    if (roots.length === 1) {
      openFolder(roots[0]);
      return;
    }
    pathLine.textContent = roots.length
      ? "Folders of this server:"
      : "The server is starting …";
    list.replaceChildren(...roots.map((root) => folderButton(root, root)));
    update();
    list.querySelector("button")?.focus();
  }

  async function createStack() {
    const names = checked();
    const isAll = names.length === shown.files.length;
    open.disabled = true;
    try {
      const stack = await app.api.post(
        "/api/stacks",
        isAll ? { folder: shown.path } : { files: names.map(join) },
      );
      app.applyMessage({ kind: "stack", stack });
      if (!dialog.open) return; // cancelled: the stack is listed under "Earlier stacks"
      dialog.close();
      app.select(stack.id);
      document.getElementById("stack-title").focus(); // the button that opened the dialog is hidden now
    } catch (error) {
      pathLine.textContent = error.message;
      open.disabled = false;
    }
  }

  const unsubscribe = app.state.on((now, before) => {
    if (now.loaded && !before.loaded) showRoots();
  });
  showRoots();
}
