// The start page: where to drop a stack, and the stacks that are there already.
import { element } from "./dom.js";
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
  root.append(
    element(
      "div",
      { class: "drop-zone" },
      element("h2", { id: "welcome-title", tabIndex: -1 }, "Drop the photographs of a focus stack here"),
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

  let shown = "";
  app.state.on((now, before) => {
    if (now.stacks === before.stacks) return;
    const known = JSON.stringify(
      now.stacks.map((stack) => [stack.id, stack.name, countOf(stack), thumbnailOf(stack)]),
    );
    if (known === shown) return;
    shown = known;
    earlierPart.hidden = now.stacks.length === 0;
    earlier.replaceChildren(
      ...now.stacks.toReversed().map((stack) =>
        element(
          "li",
          {},
          element(
            "button",
            { type: "button", class: "plain grow", onclick: () => app.select(stack.id) },
            element("img", {
              src: thumbnailOf(stack),
              alt: "",
              loading: "lazy",
              width: 64,
              height: 48,
            }),
            element("span", {}, stack.name, element("small", {}, ` ${countOf(stack)}`)),
          ),
          element(
            "button",
            {
              type: "button",
              class: "plain small",
              "aria-label": `Delete ${stack.name}`,
              onclick: () => removeStack(app, stack),
            },
            "Delete",
          ),
        ),
      ),
    );
  });
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
  return ready ? `/api/stacks/${stack.id}/thumbnails/${ready.key}` : undefined;
}
