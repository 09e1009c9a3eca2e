// The start page: where to drop a stack, and the stacks that are there already.
import { element, setItems, setText } from "./dom.js";
import { acceptDrops, chooserButtons } from "./intake.js";
import { openPicker } from "./picker.js";

export function mount(root, app) {
  const earlier = element("ul", { class: "earlier" });
  const earlierPart = element(
    "section",
    { "aria-labelledby": "earlier-title", hidden: true },
    element("h3", { id: "earlier-title" }, "Earlier stacks"),
    earlier,
  );
  const title = element("h2", { id: "welcome-title", tabIndex: -1 }, "Drop the photographs of a focus stack here");
  root.append(
    element(
      "div",
      { class: "drop-zone" },
      title,
      element(
        "p",
        { class: "lead" },
        "Files or a folder. panfocus joins their sharp parts into one picture, here on your computer.",
      ),
      element(
        "div",
        { class: "row centre" },
        ...chooserButtons(app, () => null, "main"),
        element(
          "button",
          { type: "button", id: "pick-here", onclick: () => openPicker(app) },
          "Open on this computer",
        ),
      ),
      element(
        "p",
        { class: "quiet" },
        "“Open on this computer” reads the files where they are, without a copy.",
      ),
    ),
    earlierPart,
  );
  acceptDrops(app, document.getElementById("drop-veil"));

  const rows = new Map(); // by stack: a row stays as long as what it shows, and the focus with it
  app.state.on((now, before) => {
    // The stack that was open is gone, and with it what had the focus.
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

/** A stack in the list; `draw(stack)` makes it show what is known of it now. */
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
    setText(count, ` ${countOf(stack)}`);
    remove.setAttribute("aria-label", `Delete ${stack.name}`);
    const src = thumbnailOf(stack);
    if (picture.getAttribute("src") === src) return;
    if (src === null) picture.removeAttribute("src");
    else picture.src = src;
  }

  return { node, draw };
}

/** Delete a stack after asking. */
export async function removeStack(app, stack) {
  const kept = stack.in_place
    ? "The photographs themselves stay where they are."
    : "The copies of its photographs that panfocus holds go too.";
  if (!confirm(`Delete the stack “${stack.name}” with its results? ${kept}`)) return;
  try {
    await app.api.remove(`/api/stacks/${stack.id}`);
  } catch (error) {
    app.complain(error);
  }
}

/** How many frames there are; a file may have many, which are told once it was read. */
function countOf({ frames }) {
  const n = frames.reduce((sum, frame) => sum + (frame.pages || 1), 0);
  return n === 1 ? "1 frame" : `${n} frames`;
}

function thumbnailOf(stack) {
  const ready = stack.frames.find((frame) => frame.state === "ready");
  return ready ? `/api/stacks/${stack.id}/thumbnails/${ready.key}` : null;
}
