// One frame of the stack, large, in a dialog; arrow keys go on to the others.
import { debounced, element, setText, tickBox } from "./dom.js";
import { factsOf } from "./frame_row.js";

const PATIENCE = 150; // ms: frames that are leafed through quicker are shown by their thumbnails alone

/** Show a frame of the open stack; `exclude(frame, out)` as in frames.js. */
export function openFrameView(app, first, exclude) {
  const title = element("h2", { id: "frame-title" });
  const facts = element("p", { class: "quiet" });
  const picture = createPicture(app);
  const use = tickBox("Use this frame", { onchange: () => exclude(current(), !use.input.checked).then(draw) });
  const step = (text, by) => element("button", { type: "button", onclick: () => go(by) }, text);
  const [before, next] = [step("Previous", -1), step("Next", 1)];
  const close = element("button", { type: "button", class: "main", onclick: () => dialog.close() }, "Close");
  const dialog = element(
    "dialog",
    { class: "picker frame-view", "aria-labelledby": "frame-title", onkeydown: onKey, onclose: end },
    element("div", { class: "row" }, element("div", { class: "grow", role: "status" }, title, facts), close),
    picture.box,
    picture.fault,
    element("div", { class: "row" }, use.label, element("span", { class: "spread" }), before, next),
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
      dialog.close(); // its stack is gone, or its file has changed and is read again
      return;
    }
    const ready = frames().filter((one) => one.state === "ready");
    setText(title, `${frames().indexOf(frame) + 1}. ${frame.name}`);
    setText(facts, factsOf(frame));
    use.input.checked = !frame.excluded;
    before.disabled = ready[0] === frame;
    next.disabled = ready.at(-1) === frame;
    if (document.activeElement?.disabled) close.focus(); // else keys would go nowhere
    picture.show(`/api/stacks/${app.stack().id}`, key);
  }

  function end() {
    following();
    dialog.remove();
    opener?.focus();
  }

  const following = app.state.on((now, old) => now.stacks !== old.stacks && draw());
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
  draw();
}

/** The picture: the thumbnail at once, the larger one when it has come. */
function createPicture(app) {
  const image = element("img", { alt: "" });
  const fault = element("p", { class: "fault", role: "alert", hidden: true });
  let shown = "";

  const load = debounced(async (address) => {
    if (address !== shown) return;
    const larger = new Image();
    larger.src = address;
    try {
      await larger.decode();
      if (address === shown) image.src = address;
    } catch {
      const why = await app.api.get(address).catch((error) => error.message); // which an image does not tell
      if (address !== shown) return;
      setText(fault, `Only the small picture can be shown: ${why}`);
      fault.hidden = false;
    }
  }, PATIENCE);

  function show(stack, key) {
    const address = `${stack}/pictures/${key}`;
    if (address === shown) return;
    shown = address;
    fault.hidden = true;
    image.src = `${stack}/thumbnails/${key}`;
    load(address);
  }

  return { box: element("div", { class: "frame-view-box" }, image), fault, show };
}
