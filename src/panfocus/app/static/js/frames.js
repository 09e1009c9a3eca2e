// The frames of the open stack: their order, and which of them are used.
import { element, setText } from "./dom.js";
import { changeFrames } from "./frame_changes.js";
import { createFrameRow } from "./frame_row.js";
import { openFrameView } from "./frame_view.js";
import { chooserButtons } from "./intake.js";
import { mountStackHead } from "./stack_head.js";

export function mount(root, app) {
  const head = mountStackHead(document.getElementById("stack-head"), app);
  const list = createFrameList(app);
  const count = element("span", { class: "quiet" });
  const use = createChoices(list.excludeEach);
  const add = element("div", { class: "row" }, ...chooserButtons(app, () => app.stack()?.id ?? null));
  const adding = element("details", { class: "more" }, element("summary", {}, "Add frames"), add);
  root.append(
    element(
      "div",
      { class: "row" },
      element("h3", { id: "frames-title" }, "Frames"),
      count,
      element("span", { class: "spread" }),
      use,
    ),
    list.node,
    adding,
  );

  function draw(stack) {
    head(stack);
    if (stack === null) return;
    const used = stack.frames.filter((frame) => !frame.excluded && frame.state !== "bad").length;
    setText(count, used === stack.frames.length ? `${used}` : `${used} of ${stack.frames.length} used`);
    use.hidden = stack.frames.length < 2;
    adding.hidden = stack.in_place; // frames read in place are what was chosen there
    list.draw(stack);
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

/** Buttons for all frames at once; `excludeEach(isOut)` is told by whether a frame shall be left out. */
function createChoices(excludeEach) {
  const choose = (text, isOut) =>
    element("button", { type: "button", class: "plain small", onclick: () => excludeEach(isOut) }, text);
  return element(
    "div",
    { class: "row", role: "group", "aria-label": "Use frames" },
    choose("All", () => false),
    choose("None", () => true),
    choose("Invert", (frame) => !frame.excluded),
  );
}

/** The list of frames, and what is done to them there. */
function createFrameList(app) {
  const node = element("ol", { class: "frames" });
  const rows = [];
  let carried = null; // the frame that is being dragged

  async function change(bodyFor) {
    const made = await changeFrames(app, bodyFor);
    if (!made && app.stack()) draw(app.stack()); // a box that was ticked shows again what holds
    return made;
  }

  async function move(frame, newPlace, focus) {
    let to = null;
    const made = await change((frames) => {
      const order = frames.map(({ key }) => key);
      const from = order.indexOf(frame.key);
      if (from < 0) return {}; // its file has changed meanwhile, and is being read again
      to = Math.min(Math.max(newPlace(from), 0), frames.length - 1);
      order.splice(to, 0, ...order.splice(from, 1));
      return { order };
    });
    if (!made || to === null) return;
    if (focus) rows[to]?.focusArrow(focus);
    app.announce(`${frame.name} is frame ${to + 1} now.`);
  }

  // Only frames that change are named: others keep what another tab has made of them meanwhile.
  function excludeEach(isOut) {
    return change((frames) => {
      const others = frames.filter((frame) => isOut(frame) !== frame.excluded);
      const keysOf = (excluded) => others.filter((frame) => frame.excluded === excluded).map(({ key }) => key);
      return { excluded: keysOf(false), used: keysOf(true) };
    });
  }

  function exclude(frame, out) {
    return excludeEach((other) => (other.key === frame.key ? out : other.excluded));
  }

  const actions = {
    move,
    exclude,
    look: (frame) => openFrameView(app, frame, exclude),
    carry: (place) => {
      carried = app.stack().frames[place];
    },
    carried: () => app.stack().frames.findIndex(({ key }) => key === carried?.key),
    drop: (place) => move(carried, () => place, null),
  };

  function draw(stack) {
    while (rows.length < stack.frames.length) {
      rows.push(createFrameRow(rows.length, actions));
      node.append(rows.at(-1).node);
    }
    while (rows.length > stack.frames.length) rows.pop().node.remove();
    for (const [i, frame] of stack.frames.entries()) rows[i].draw(frame, stack);
  }

  return { node, draw, excludeEach };
}

/** Files that are read where they are may have been mended or replaced: what has changed is read again. */
function lookAgain(app) {
  const stack = app.stack();
  // What comes of it is told by events; where nobody answers, the page says so itself.
  if (stack?.in_place) app.api.post(`/api/stacks/${stack.id}/look`).catch(() => {});
}
