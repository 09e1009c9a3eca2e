// One row of the list of frames: what is known of a frame, whether it is used, and its way to another place.
import { element, setText } from "./dom.js";

const FRAME_TYPE = "application/x-panfocus-frame";

/**
 * The row at a place of the list; `draw(frame, stack)` makes it show a frame. `actions` has move(frame, newPlace,
 * focus), exclude(frame, out), look(frame), and for drags carry(place), carried() and drop(place).
 */
export function createFrameRow(place, actions) {
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
    { type: "button", class: "plain frame-picture", onclick: () => actions.look(frame) },
    picture,
  );
  const name = element("span", { class: "frame-name" });
  const facts = element("span", { class: "quiet" });
  const score = element("meter", { min: 0, max: 1 });
  const focus = element("label", { class: "focus-score quiet" }, "Focus", score);
  const error = element("span", { class: "fault" });
  const use = element("input", {
    type: "checkbox",
    onchange: () => {
      shown = ""; // whatever comes of it: a refused change is taken back
      actions.exclude(frame, !use.checked);
    },
  });
  const arrow = (sign, which, step) =>
    element(
      "button",
      {
        type: "button",
        class: "plain icon",
        onclick: () => actions.move(frame, (from) => from + step, which),
      },
      sign,
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
  letDrag(node, place, actions);

  function drawFocus() {
    focus.hidden = frame.score === null || frame.score === undefined;
    if (focus.hidden) return;
    score.value = frame.score;
    focus.title = `Focus: ${Math.round(frame.score * 100)} % of the sharpest frame`;
    score.setAttribute("aria-label", `Focus of ${frame.name}, of the sharpest frame`);
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
    const known = JSON.stringify([src, now, stack.frames.length]);
    if (shown === known) return;
    shown = known;
    frame = now;
    setText(name, `${place + 1}. ${frame.name}`);
    name.title = frame.name;
    setText(facts, factsOf(frame));
    setText(error, frame.error ?? "");
    drawFocus();
    drawPicture(src);
    larger.disabled = frame.state !== "ready";
    larger.setAttribute("aria-label", `Look at ${frame.name}`);
    node.classList.toggle("bad", frame.state === "bad");
    node.classList.toggle("out", frame.excluded);
    use.checked = !frame.excluded && frame.state !== "bad";
    use.disabled = frame.state === "bad";
    use.setAttribute("aria-label", `Use ${frame.name}`);
    arrows.up.disabled = place === 0;
    arrows.down.disabled = place === stack.frames.length - 1;
    arrows.up.setAttribute("aria-label", `Move ${frame.name} earlier`);
    arrows.down.setAttribute("aria-label", `Move ${frame.name} later`);
  }

  /** Give an arrow the focus, or the other one where there is no way on. */
  function focusArrow(which) {
    const other = which === "up" ? "down" : "up";
    arrows[arrows[which].disabled ? other : which].focus();
  }

  return { node, draw, focusArrow };
}

/** Let a row be dragged to the place of another; the edge where it would go is marked. */
function letDrag(node, place, { carry, carried, drop }) {
  const isFrame = (event) => event.dataTransfer.types.includes(FRAME_TYPE);
  const unmark = () => node.classList.remove("before", "after");
  node.draggable = true;
  node.addEventListener("dragstart", (event) => {
    carry(place);
    event.dataTransfer.setData(FRAME_TYPE, String(place));
    event.dataTransfer.effectAllowed = "move";
  });
  node.addEventListener("dragover", (event) => {
    if (!isFrame(event)) return;
    event.preventDefault();
    node.classList.toggle("before", place < carried());
    node.classList.toggle("after", place > carried());
  });
  node.addEventListener("dragleave", unmark);
  node.addEventListener("drop", (event) => {
    unmark();
    if (!isFrame(event)) return;
    event.preventDefault();
    drop(place);
  });
}

/** What is known of a frame, in one line. */
export function factsOf(frame) {
  if (frame.state === "bad") return "cannot be used";
  if (frame.state !== "ready") return "being read …";
  const depth = { uint8: "8 bit", uint16: "16 bit", float32: "float" }[frame.dtype] ?? frame.dtype;
  const pages = frame.pages > 1 ? `${frame.pages} pages, ` : "";
  return `${pages}${frame.width} × ${frame.height}, ${depth}`;
}
