// The frames of the open stack: their order and use.
import { element, setText } from "./dom.js";
import { changeFrames } from "./frame_changes.js";
import { createFrameRow } from "./frame_row.js";
import { openFrameView } from "./frame_view.js";
import { mountStackHeader } from "./stack_header.js";
import { createUploadButtons } from "./upload.js";

export function mount(root, app) {
  const drawHeader = mountStackHeader(document.getElementById("stack-head"), app);
  const list = createFrameList(app);
  const count = element("span", { class: "muted" });
  const use = createUseButtons(list.excludeWhere);
  const add = element("div", { class: "row" }, ...createUploadButtons(app, () => app.stack()?.id ?? null));
  const adding = element("details", { class: "more" }, element("summary", {}, "Add frames"), add);
  root.append(
    element(
      "div",
      { class: "row" },
      element("h3", { id: "frames-title" }, "Frames"),
      count,
      element("span", { class: "spacer" }),
      use,
    ),
    list.node,
    adding,
  );

  function draw(stack) {
    drawHeader(stack);
    if (stack === null) return;
    const used = stack.frames.filter((frame) => !frame.excluded && frame.state !== "bad").length;
    setText(count, used === stack.frames.length ? `${used}` : `${used} of ${stack.frames.length} used`);
    use.hidden = stack.frames.length < 2;
    adding.hidden = stack.in_place; // frames that are read in place were selected there
    list.draw(stack);
  }

  let shown = null;
  app.state.on((now, before) => {
    const stack = app.stack();
    if (stack === shown && now.uploads === before.uploads) return;
    const hasChanged = stack?.id !== shown?.id;
    shown = stack;
    draw(stack);
    if (hasChanged) rescan(app);
  });
  window.addEventListener("focus", () => rescan(app));
}

/** Create buttons for all frames; `excludeWhere(isExcluded)` gets a function of a frame. */
function createUseButtons(excludeWhere) {
  const button = (text, isExcluded) =>
    element("button", { type: "button", class: "plain small", onclick: () => excludeWhere(isExcluded) }, text);
  return element(
    "div",
    { class: "row", role: "group", "aria-label": "Use frames" },
    button("All", () => false),
    button("None", () => true),
    button("Invert", (frame) => !frame.excluded),
  );
}

/** Create the list of frames. */
function createFrameList(app) {
  const node = element("ol", { class: "frames" });
  const rows = [];
  let dragged = null; // a frame

  async function change(createBody) {
    const isDone = await changeFrames(app, createBody);
    if (!isDone && app.stack()) draw(app.stack()); // reset the checkboxes
    return isDone;
  }

  async function move(frame, getNewIndex, focus) {
    let to = null;
    const isDone = await change((frames) => {
      const order = frames.map(({ key }) => key);
      const from = order.indexOf(frame.key);
      if (from < 0) return {}; // its file has changed and is read again
      to = Math.min(Math.max(getNewIndex(from), 0), frames.length - 1);
      order.splice(to, 0, ...order.splice(from, 1));
      return { order };
    });
    if (!isDone || to === null) return;
    if (focus) rows[to]?.focusArrow(focus);
    app.announce(`${frame.name} is now frame ${to + 1}.`);
  }

  /** Exclude the frames for which `isExcluded(frame)` holds, use the others. */
  function excludeWhere(isExcluded) {
    return change((frames) => {
      // Only frames that change are sent: another tab may have changed the others.
      const changes = frames.filter((frame) => isExcluded(frame) !== frame.excluded);
      const getKeys = (excluded) => changes.filter((frame) => frame.excluded === excluded).map(({ key }) => key);
      return { excluded: getKeys(false), used: getKeys(true) };
    });
  }

  function exclude(frame, isExcluded) {
    return excludeWhere((other) => (other.key === frame.key ? isExcluded : other.excluded));
  }

  const actions = {
    move,
    exclude,
    open: (frame) => openFrameView(app, frame, exclude),
    startDrag: (index) => {
      dragged = app.stack().frames[index];
    },
    draggedIndex: () => app.stack().frames.findIndex(({ key }) => key === dragged?.key),
    drop: (index) => move(dragged, () => index, null),
  };

  function draw(stack) {
    while (rows.length < stack.frames.length) {
      rows.push(createFrameRow(rows.length, actions));
      node.append(rows.at(-1).node);
    }
    while (rows.length > stack.frames.length) rows.pop().node.remove();
    for (const [i, frame] of stack.frames.entries()) rows[i].draw(frame, stack);
  }

  return { node, draw, excludeWhere };
}

/** Read files again that were changed or replaced since, if the stack is read in place. */
function rescan(app) {
  const stack = app.stack();
  // Events report the result; if the server is offline, the page shows that elsewhere.
  if (stack?.in_place) app.api.post(`/api/stacks/${stack.id}/look`).catch(() => {});
}
