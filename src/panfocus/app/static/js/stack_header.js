// The header of the open stack: name, folder, upload progress and warnings.
import { element, keepFocus, setLines, setText, sizeText } from "./dom.js";
import { joinNames } from "./upload.js";
import { removeStack } from "./welcome.js";

/** Create the header. Return the function that shows a stack in it. */
export function mountStackHeader(root, app) {
  const title = element("h2", { id: "stack-title", tabIndex: -1 });
  const source = element("p", { class: "muted path" });
  const warnings = element("ul", { class: "warnings", "aria-label": "Warnings" });
  const bar = element("progress", { max: 1, "aria-label": "Upload progress" });
  const status = element("span", {});
  const stop = element(
    "button",
    { type: "button", class: "plain small", onclick: () => app.state.get().uploads[app.stack().id]?.stop() },
    "Stop",
  );
  const upload = element(
    "div",
    { class: "upload", hidden: true },
    bar,
    element("div", { class: "row" }, status, element("span", { class: "spacer" }), stop),
  );
  const skipMissing = async () => {
    try {
      await app.api.remove(`/api/stacks/${app.stack().id}/unsent`);
    } catch (error) {
      app.showNotice(error);
    }
  };
  const missing = element("p", {});
  const unsent = element(
    "div",
    { class: "warning", id: "unsent", role: "status", hidden: true },
    missing,
    element("button", { type: "button", class: "plain small", onclick: skipMissing }, "Skip them"),
  );
  const rename = async () => {
    const name = prompt("Name of the stack:", app.stack().name)?.trim();
    if (!name) return;
    try {
      app.applyMessage({ kind: "stack", stack: await app.api.patch(`/api/stacks/${app.stack().id}`, { name }) });
    } catch (error) {
      app.showNotice(error);
    }
  };
  root.append(
    title,
    source,
    upload,
    unsent,
    warnings,
    element(
      "div",
      { class: "row" },
      element("button", { type: "button", class: "plain small", onclick: rename }, "Rename"),
      element(
        "button",
        { type: "button", class: "plain small", onclick: () => removeStack(app, app.stack()) },
        "Delete stack",
      ),
    ),
  );
  return (stack) => {
    if (stack === null) return;
    // Opening the stack has hidden the start page, which had the focus.
    if (document.getElementById("welcome").contains(document.activeElement)) title.focus();
    setText(title, stack.name);
    setText(source, stack.folder ?? "Selected files on this computer, read in place");
    source.hidden = !stack.in_place;
    setLines(warnings, stack.warnings);
    const progress = app.state.get().uploads[stack.id];
    const swap = () => {
      upload.hidden = !progress && !stack.receiving;
      stop.hidden = !progress;
    };
    keepFocus(upload, swap, () => title);
    const unsentNames = upload.hidden ? stack.unsent : []; // during an upload nothing is missing
    const remedy = "Select them again under “Add frames”, or skip them.";
    setText(missing, unsentNames.length ? `Not uploaded: ${joinNames(unsentNames)}. ${remedy}` : "");
    keepFocus(unsent, () => unsent.toggleAttribute("hidden", unsentNames.length === 0), () => title);
    if (progress) {
      const { done, files, sent, total } = progress;
      bar.value = total ? sent / total : 0;
      setText(status, `Uploaded ${done} of ${files} files, ${sizeText(sent)} of ${sizeText(total)}`);
    } else if (stack.receiving) {
      bar.removeAttribute("value");
      setText(status, "Another tab is uploading files.");
    }
  };
}
