// The head of the open stack: its name and place, what is being sent to it, and warnings.
import { element, keepFocus, setLines, setText, sizeText } from "./dom.js";
import { someOf } from "./intake.js";
import { removeStack } from "./welcome.js";

/** Name, warnings and what is being sent; gives the function that draws it. */
export function mountStackHead(root, app) {
  const title = element("h2", { id: "stack-title", tabIndex: -1 });
  const source = element("p", { class: "quiet path" });
  const warnings = element("ul", { class: "warnings", "aria-label": "Warnings" });
  const sending = element("progress", { max: 1, "aria-label": "Files sent" });
  const sent = element("span", {});
  const stop = element(
    "button",
    { type: "button", class: "plain small", onclick: () => app.state.get().uploads[app.stack().id]?.stop() },
    "Stop",
  );
  const upload = element(
    "div",
    { class: "upload", hidden: true },
    sending,
    element("div", { class: "row" }, sent, element("span", { class: "spread" }), stop),
  );
  const leaveOut = async () => {
    try {
      await app.api.remove(`/api/stacks/${app.stack().id}/unsent`);
    } catch (error) {
      app.complain(error);
    }
  };
  const missing = element("p", {});
  const unsent = element(
    "div",
    { class: "warning", id: "unsent", role: "status", hidden: true },
    missing,
    element("button", { type: "button", class: "plain small", onclick: leaveOut }, "Leave them out"),
  );
  const rename = async () => {
    const name = prompt("Name of the stack:", app.stack().name)?.trim();
    if (!name) return;
    try {
      app.accept({ kind: "stack", stack: await app.api.patch(`/api/stacks/${app.stack().id}`, { name }) });
    } catch (error) {
      app.complain(error);
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
    // It was opened there, on a page that is hidden now.
    if (document.getElementById("welcome").contains(document.activeElement)) title.focus();
    setText(title, stack.name);
    setText(source, stack.folder ?? "Some files of this computer, read where they are");
    source.hidden = !stack.in_place;
    setLines(warnings, stack.warnings);
    const going = app.state.get().uploads[stack.id];
    const swap = () => {
      upload.hidden = !going && !stack.receiving;
      stop.hidden = !going;
    };
    keepFocus(upload, swap, () => title);
    const awaited = upload.hidden ? stack.unsent : []; // what is on its way is not missing
    const remedy = "Choose them again under “Add frames”, or leave them out.";
    setText(missing, awaited.length ? `Not sent: ${someOf(awaited)}. ${remedy}` : "");
    keepFocus(unsent, () => unsent.toggleAttribute("hidden", awaited.length === 0), () => title);
    if (going) {
      sending.value = going.total ? going.sent / going.total : 0;
      setText(
        sent,
        `${going.done} of ${going.files} files sent, ${sizeText(going.sent)} of ${sizeText(going.total)}`,
      );
    } else if (stack.receiving) {
      sending.removeAttribute("value");
      setText(sent, "Another page is sending files.");
    }
  };
}
