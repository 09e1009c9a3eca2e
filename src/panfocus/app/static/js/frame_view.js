// A dialog that shows one frame of the stack large; arrow keys go to the others.
import { createCheckbox, debounced, element, setText } from "./dom.js";
import { frameFacts } from "./frame_row.js";

const DELAY = 150; // ms: when paging faster than this, only thumbnails are shown

/** Show a frame of the open stack; `exclude(frame, isExcluded)` as in frames.js. */
export function openFrameView(app, first, exclude) {
  const title = element("h2", { id: "frame-title" });
  const facts = element("p", { class: "muted" });
  const picture = createPicture(app);
  const use = createCheckbox("Use this frame", { onchange: () => exclude(current(), !use.input.checked).then(draw) });
  const step = (text, by) => element("button", { type: "button", onclick: () => go(by) }, text);
  const [previous, next] = [step("Previous", -1), step("Next", 1)];
  const close = element("button", { type: "button", class: "main", onclick: () => dialog.close() }, "Close");
  const dialog = element(
    "dialog",
    { class: "picker frame-view", "aria-labelledby": "frame-title", onkeydown: onKey, onclose: onClose },
    element("div", { class: "row" }, element("div", { class: "grow", role: "status" }, title, facts), close),
    picture.box,
    picture.error,
    element("div", { class: "row" }, use.label, element("span", { class: "spacer" }), previous, next),
  );
  let { key } = first;
  const frames = () => app.stack()?.frames ?? [];
  const current = () => frames().find((frame) => frame.key === key);
  const opener = document.activeElement;

  function go(by) {
    const ready = frames().filter((frame) => frame.state === "ready");
    const at = ready.findIndex((frame) => frame.key === key);
    const to = ready[Math.min(Math.max(at + by, 0), ready.length - 1)];
    if (!to || to.key === key) return;
    key = to.key;
    draw();
  }

  function onKey(event) {
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go(by);
  }

  function draw() {
    const frame = current();
    if (frame?.state !== "ready") {
      dialog.close(); // its stack was deleted, or its file has changed and is read again
      return;
    }
    const ready = frames().filter((one) => one.state === "ready");
    setText(title, `${frames().indexOf(frame) + 1}. ${frame.name}`);
    setText(facts, frameFacts(frame));
    use.input.checked = !frame.excluded;
    const focused = document.activeElement; // disabling a button may move the focus at once
    previous.disabled = ready[0] === frame;
    next.disabled = ready.at(-1) === frame;
    if (focused?.disabled) close.focus(); // a disabled button gets no keys
    picture.show(`/api/stacks/${app.stack().id}`, key);
  }

  function onClose() {
    unsubscribe();
    dialog.remove();
    opener?.focus();
  }

  const unsubscribe = app.state.on((now, old) => now.stacks !== old.stacks && draw());
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
  draw();
}

/** Create the picture: first the thumbnail, then the larger one when it is loaded. */
function createPicture(app) {
  const image = element("img", { alt: "" });
  const errorLine = element("p", { class: "error", role: "alert", hidden: true });
  let shown = "";

  const load = debounced(async (address) => {
    if (address !== shown) return;
    const larger = new Image();
    larger.src = address;
    try {
      await larger.decode();
      if (address === shown) image.src = address;
    } catch {
      const reason = await app.api.get(address).catch((error) => error.message); // an image gives no reason
      if (address !== shown) return;
      setText(errorLine, `Cannot show the large picture: ${reason}`);
      errorLine.hidden = false;
    }
  }, DELAY);

  function show(stack, key) {
    const address = `${stack}/pictures/${key}`;
    if (address === shown) return;
    shown = address;
    errorLine.hidden = true;
    image.src = `${stack}/thumbnails/${key}`;
    load(address);
  }

  return { box: element("div", { class: "frame-view-box" }, image), error: errorLine, show };
}
