// The frames of the open stack: their order, and which of them are used.
import { element, setText } from "./dom.js";
import { createFrameRow } from "./frame_row.js";
import { chooserButtons } from "./intake.js";
import { mountStackHead } from "./stack_head.js";

export function mount(root, app) {
  const head = mountStackHead(document.getElementById("stack-head"), app);
  const list = element("ol", { class: "frames" });
  const count = element("span", { class: "quiet" });
  const add = element("div", { class: "row" }, ...chooserButtons(app, () => app.stack()?.id ?? null));
  root.append(
    element("div", { class: "row" }, element("h3", { id: "frames-title" }, "Frames"), count),
    list,
    element("details", { class: "more" }, element("summary", {}, "Add frames"), add),
  );
  const rows = [];
  let carried = null; // the place of the frame that is being dragged

  // Changes are made one after the other, each of what the one before has left: keys are pressed quickly.
  let last = Promise.resolve();
  const change = (bodyFor) => {
    const { id } = app.stack(); // another may be open when its turn comes
    last = last.then(async () => {
      const stack = app.state.get().stacks.find((one) => one.id === id);
      if (!stack) return; // deleted meanwhile
      try {
        app.accept({
          kind: "stack",
          stack: await app.api.patch(`/api/stacks/${stack.id}`, bodyFor(stack.frames)),
        });
      } catch (error) {
        app.complain(error);
        draw(app.stack()); // a box that was ticked shows again what holds
      }
    });
    return last;
  };

  async function move(frame, newPlace, focus) {
    let to = 0;
    await change((frames) => {
      const from = frames.findIndex((other) => other.key === frame.key);
      if (from < 0) return {}; // its file has changed meanwhile, and is being read again
      to = Math.min(Math.max(newPlace(from), 0), frames.length - 1);
      const order = frames.map((_, i) => i);
      order.splice(to, 0, ...order.splice(from, 1));
      return { order };
    });
    if (focus) rows[to].focusArrow(focus);
    app.announce(`${frame.name} is frame ${to + 1} now.`);
  }

  function exclude(frame, out) {
    return change((frames) => ({
      excluded: frames.flatMap((other, i) => ((other.key === frame.key ? out : other.excluded) ? [i] : [])),
    }));
  }

  const actions = {
    move,
    exclude,
    carry: (place) => {
      carried = place;
    },
    carried: () => carried,
    drop: (place) => move(app.stack().frames[carried], () => place, null),
  };

  function draw(stack) {
    head(stack);
    if (stack === null) return;
    const used = stack.frames.filter((frame) => !frame.excluded && frame.state !== "bad").length;
    setText(count, used === stack.frames.length ? `${used}` : `${used} of ${stack.frames.length} used`);
    add.parentElement.hidden = stack.in_place; // frames read in place are what was chosen there
    while (rows.length < stack.frames.length) {
      rows.push(createFrameRow(rows.length, actions));
      list.append(rows.at(-1).node);
    }
    while (rows.length > stack.frames.length) rows.pop().node.remove();
    for (const [i, frame] of stack.frames.entries()) rows[i].draw(frame, stack);
  }

  let shown = null;
  app.state.on((now, before) => {
    const stack = app.stack();
    if (stack === shown && now.uploads === before.uploads) return;
    const opened = stack?.id !== shown?.id;
    shown = stack;
    draw(stack);
    if (opened) lookAgain(app);
  });
  window.addEventListener("focus", () => lookAgain(app));
}

/** Files that are read where they are may have been mended or replaced: what has changed is read again. */
function lookAgain(app) {
  const stack = app.stack();
  // What comes of it is told by events; where nobody answers, the page says so itself.
  if (stack?.in_place) app.api.post(`/api/stacks/${stack.id}/look`).catch(() => {});
}
