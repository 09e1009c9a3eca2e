// The start page: drop zone and earlier stacks.
import { element, setItems, setText } from "./dom.js";
import { openFilePicker } from "./file_picker.js";
import { acceptDrops, createUploadButtons } from "./upload.js";

export function mount(root, app) {
  const earlier = element("ul", { class: "earlier" });
  const earlierPart = element(
    "section",
    { "aria-labelledby": "earlier-title", hidden: true },
    element("h3", { id: "earlier-title" }, "Earlier stacks"),
    earlier,
  );
  const title = element("h2", { id: "welcome-title", tabIndex: -1 }, "Drop the photos of a focus stack here");
  root.append(
    element(
      "div",
      { class: "drop-zone" },
      title,
      element(
        "p",
        { class: "lead" },
        "Drop files or a folder. panfocus fuses their sharp parts into one picture, on your computer.",
      ),
      element(
        "div",
        { class: "row centre" },
        ...createUploadButtons(app, () => null, "main"),
        element(
          "button",
          { type: "button", id: "pick-here", onclick: () => openFilePicker(app) },
          "Open on this computer",
        ),
      ),
      element(
        "p",
        { class: "muted" },
        "“Open on this computer” reads the files in place, without copying them.",
      ),
    ),
    earlierPart,
  );
  acceptDrops(app, document.getElementById("drop-overlay"));

  const rows = new Map(); // by stack id: rows are reused, so that they keep the focus
  app.state.on((now, before) => {
    // The open stack, which had the focus, was deleted.
    if (!root.hidden && document.getElementById("workspace").contains(document.activeElement)) title.focus();
    if (now.stacks === before.stacks) return;
    const newestFirst = now.stacks.toReversed();
    for (const id of [...rows.keys()]) if (!now.stacks.some((stack) => stack.id === id)) rows.delete(id);
    for (const stack of newestFirst) {
      if (!rows.has(stack.id)) rows.set(stack.id, createRow(app, stack.id));
      rows.get(stack.id).draw(stack);
    }
    setItems(earlier, newestFirst.map(({ id }) => rows.get(id).node), title);
    earlierPart.hidden = newestFirst.length === 0;
  });
}

/** Create the row of a stack; `draw(stack)` updates it. */
function createRow(app, id) {
  const picture = element("img", { alt: "", loading: "lazy", width: 64, height: 48 });
  const name = element("span", {});
  const count = element("small", {});
  const remove = element(
    "button",
    {
      type: "button",
      class: "plain small",
      onclick: () => removeStack(app, app.state.get().stacks.find((stack) => stack.id === id)),
    },
    "Delete",
  );
  const node = element(
    "li",
    {},
    element(
      "button",
      { type: "button", class: "plain grow", onclick: () => app.select(id) },
      picture,
      element("span", {}, name, count),
    ),
    remove,
  );

  function draw(stack) {
    setText(name, stack.name);
    setText(count, ` ${countText(stack)}`);
    remove.setAttribute("aria-label", `Delete ${stack.name}`);
    const src = thumbnailUrl(stack);
    if (picture.getAttribute("src") === src) return;
    if (src === null) picture.removeAttribute("src");
    else picture.src = src;
  }

  return { node, draw };
}

/** Delete a stack after a confirmation. */
export async function removeStack(app, stack) {
  const note = stack.in_place
    ? "The photos themselves are not deleted."
    : "The uploaded copies of its photos are deleted, too.";
  if (!confirm(`Delete the stack “${stack.name}” and its results? ${note}`)) return;
  try {
    await app.api.remove(`/api/stacks/${stack.id}`);
  } catch (error) {
    app.showNotice(error);
  }
}

/** Describe the number of frames; multi-page files are counted once they are read. */
function countText({ frames }) {
  const n = frames.reduce((sum, frame) => sum + (frame.pages || 1), 0);
  return n === 1 ? "1 frame" : `${n} frames`;
}

function thumbnailUrl(stack) {
  const ready = stack.frames.find((frame) => frame.state === "ready");
  return ready ? `/api/stacks/${stack.id}/thumbnails/${ready.key}` : null;
}
