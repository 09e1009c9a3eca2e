// A row of the frame list.
import { element, setText } from "./dom.js";

const FRAME_TYPE = "application/x-panfocus-frame";

/**
 * Create the row at an index of the list; `draw(frame, stack)` shows a frame in it. `actions` has
 * move(frame, getNewIndex, focus), exclude(frame, isExcluded), open(frame), and startDrag(index), draggedIndex() and
 * drop(index).
 */
export function createFrameRow(index, actions) {
  let frame = null;
  let shown = "";
  const picture = element("img", {
    alt: "",
    loading: "lazy",
    decoding: "async",
    width: 96,
    height: 72,
    draggable: false,
  });
  const larger = element(
    "button",
    { type: "button", class: "plain frame-picture", onclick: () => actions.open(frame) },
    picture,
  );
  const name = element("span", { class: "frame-name" });
  const facts = element("span", { class: "muted" });
  const score = element("meter", { min: 0, max: 1 });
  const focus = element("label", { class: "focus-score muted" }, "Focus", score);
  const error = element("span", { class: "error" });
  const use = element("input", {
    type: "checkbox",
    onchange: () => {
      shown = ""; // draw again, also if the change is rejected
      actions.exclude(frame, !use.checked);
    },
  });
  const arrow = (symbol, which, step) =>
    element(
      "button",
      {
        type: "button",
        class: "plain icon",
        onclick: () => actions.move(frame, (from) => from + step, which),
      },
      symbol,
    );
  const arrows = { up: arrow("↑", "up", -1), down: arrow("↓", "down", 1) };
  const node = element(
    "li",
    { class: "frame" },
    larger,
    element("div", { class: "frame-text" }, name, facts, focus, error),
    element(
      "div",
      { class: "frame-actions" },
      element("label", { class: "use" }, use, "Use"),
      arrows.up,
      arrows.down,
    ),
  );
  makeDraggable(node, index, actions);

  function drawFocus() {
    focus.hidden = frame.score === null || frame.score === undefined;
    if (focus.hidden) return;
    score.value = frame.score;
    focus.title = `Focus: ${Math.round(frame.score * 100)} % of the sharpest frame`;
    score.setAttribute("aria-label", `Focus of ${frame.name}, relative to the sharpest frame`);
  }

  function drawPicture(src) {
    if (frame.state === "ready" && picture.dataset.src !== src) {
      picture.dataset.src = src;
      picture.src = src;
    } else if (frame.state !== "ready" && picture.dataset.src) {
      delete picture.dataset.src;
      picture.removeAttribute("src");
    }
  }

  function draw(now, stack) {
    const src = `/api/stacks/${stack.id}/thumbnails/${now.key}`;
    const wanted = JSON.stringify([src, now, stack.frames.length]);
    if (shown === wanted) return;
    shown = wanted;
    frame = now;
    setText(name, `${index + 1}. ${frame.name}`);
    name.title = frame.name;
    setText(facts, frameFacts(frame));
    setText(error, frame.error ?? "");
    drawFocus();
    drawPicture(src);
    larger.disabled = frame.state !== "ready";
    larger.setAttribute("aria-label", `Enlarge ${frame.name}`);
    node.classList.toggle("bad", frame.state === "bad");
    node.classList.toggle("excluded", frame.excluded);
    use.checked = !frame.excluded && frame.state !== "bad";
    use.disabled = frame.state === "bad";
    use.setAttribute("aria-label", `Use ${frame.name}`);
    arrows.up.disabled = index === 0;
    arrows.down.disabled = index === stack.frames.length - 1;
    arrows.up.setAttribute("aria-label", `Move ${frame.name} earlier`);
    arrows.down.setAttribute("aria-label", `Move ${frame.name} later`);
  }

  /** Focus an arrow, or the other one if it is disabled. */
  function focusArrow(which) {
    const other = which === "up" ? "down" : "up";
    arrows[arrows[which].disabled ? other : which].focus();
  }

  return { node, draw, focusArrow };
}

/** Let a row be dragged to the position of another one, whose edge is marked. */
function makeDraggable(node, index, { startDrag, draggedIndex, drop }) {
  const isFrame = (event) => event.dataTransfer.types.includes(FRAME_TYPE);
  const unmark = () => node.classList.remove("before", "after");
  node.draggable = true;
  node.addEventListener("dragstart", (event) => {
    startDrag(index);
    event.dataTransfer.setData(FRAME_TYPE, String(index));
    event.dataTransfer.effectAllowed = "move";
  });
  node.addEventListener("dragover", (event) => {
    if (!isFrame(event)) return;
    event.preventDefault();
    node.classList.toggle("before", index < draggedIndex());
    node.classList.toggle("after", index > draggedIndex());
  });
  node.addEventListener("dragleave", unmark);
  node.addEventListener("drop", (event) => {
    unmark();
    if (!isFrame(event)) return;
    event.preventDefault();
    drop(index);
  });
}

/** Describe a frame in one line. */
export function frameFacts(frame) {
  if (frame.state === "bad") return "cannot be used";
  if (frame.state !== "ready") return "reading …";
  const depth = { uint8: "8 bit", uint16: "16 bit", float32: "float" }[frame.dtype] ?? frame.dtype;
  const pages = frame.pages > 1 ? `${frame.pages} pages, ` : "";
  return `${pages}${frame.width} × ${frame.height}, ${depth}`;
}
