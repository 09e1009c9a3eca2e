// The frames of the open stack: thumbnails with focus scores, order, which are used, what is wrong with them.
import { element, setText } from "./dom.js";
import { chooserButtons } from "./intake.js";
import { mountStackHead } from "./stack_head.js";

const FRAME_TYPE = "application/x-panfocus-frame";

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
      to = Math.min(Math.max(newPlace(from), 0), frames.length - 1);
      const order = frames.map((_, i) => i);
      order.splice(to, 0, ...order.splice(from, 1));
      return { order };
    });
    if (focus) rows[to][rows[to][focus].disabled ? (focus === "up" ? "down" : "up") : focus].focus();
    app.announce(`${frame.name} is frame ${to + 1} now.`);
  }

  function exclude(frame, out) {
    return change((frames) => ({
      excluded: frames.flatMap((other, i) => ((other.key === frame.key ? out : other.excluded) ? [i] : [])),
    }));
  }

  function newRow(place) {
    const row = {
      picture: element("img", {
        alt: "",
        loading: "lazy",
        decoding: "async",
        width: 96,
        height: 72,
        draggable: false,
      }),
      name: element("span", { class: "frame-name" }),
      facts: element("span", { class: "quiet" }),
      score: element("meter", { min: 0, max: 1 }),
      error: element("span", { class: "fault" }),
      use: element("input", {
        type: "checkbox",
        onchange: (event) => exclude(row.frame, !event.target.checked),
      }),
      up: element(
        "button",
        { type: "button", class: "plain icon", onclick: () => move(row.frame, (from) => from - 1, "up") },
        "↑",
      ),
      down: element(
        "button",
        { type: "button", class: "plain icon", onclick: () => move(row.frame, (from) => from + 1, "down") },
        "↓",
      ),
      shown: null,
    };
    row.focus = element("label", { class: "focus-score quiet" }, "Focus", row.score);
    row.node = element(
      "li",
      {
        class: "frame",
        draggable: true,
        ondragstart: (event) => {
          carried = place;
          event.dataTransfer.setData(FRAME_TYPE, String(place));
          event.dataTransfer.effectAllowed = "move";
        },
        ondragover: (event) => {
          if (!event.dataTransfer.types.includes(FRAME_TYPE)) return;
          event.preventDefault();
          row.node.classList.toggle("before", place < carried);
          row.node.classList.toggle("after", place > carried);
        },
        ondragleave: () => row.node.classList.remove("before", "after"),
        ondrop: (event) => {
          row.node.classList.remove("before", "after");
          if (!event.dataTransfer.types.includes(FRAME_TYPE)) return;
          event.preventDefault();
          move(app.stack().frames[carried], () => place, null);
        },
      },
      row.picture,
      element("div", { class: "frame-text" }, row.name, row.facts, row.focus, row.error),
      element(
        "div",
        { class: "frame-actions" },
        element("label", { class: "use" }, row.use, "Use"),
        row.up,
        row.down,
      ),
    );
    return row;
  }

  function drawRow(row, frame, place, stack) {
    const src = `/api/stacks/${stack.id}/thumbnails/${frame.key}`;
    const known = JSON.stringify([src, frame, place, stack.frames.length]);
    if (row.shown === known) return;
    row.shown = known;
    row.frame = frame;
    setText(row.name, `${place + 1}. ${frame.name}`);
    row.name.title = frame.name;
    const waiting = frame.state === "waiting" || frame.state === "looking";
    setText(row.facts, frame.state === "bad" ? "cannot be used" : waiting ? "being read …" : factsOf(frame));
    setText(row.error, frame.error ?? "");
    row.focus.hidden = frame.score === null || frame.score === undefined;
    if (!row.focus.hidden) {
      row.score.value = frame.score;
      row.focus.title = `Focus: ${Math.round(frame.score * 100)} % of the sharpest frame`;
      row.score.setAttribute("aria-label", `Focus of ${frame.name}, of the sharpest frame`);
    }
    if (frame.state === "ready" && row.picture.dataset.src !== src) {
      row.picture.dataset.src = src;
      row.picture.src = src;
    } else if (frame.state !== "ready" && row.picture.dataset.src) {
      delete row.picture.dataset.src;
      row.picture.removeAttribute("src");
    }
    row.node.classList.toggle("bad", frame.state === "bad");
    row.node.classList.toggle("out", frame.excluded);
    row.use.checked = !frame.excluded && frame.state !== "bad";
    row.use.disabled = frame.state === "bad";
    row.use.setAttribute("aria-label", `Use ${frame.name}`);
    row.up.disabled = place === 0;
    row.down.disabled = place === stack.frames.length - 1;
    row.up.setAttribute("aria-label", `Move ${frame.name} earlier`);
    row.down.setAttribute("aria-label", `Move ${frame.name} later`);
  }

  function draw(stack) {
    head(stack);
    if (stack === null) return;
    const used = stack.frames.filter((frame) => !frame.excluded && frame.state !== "bad").length;
    setText(count, used === stack.frames.length ? `${used}` : `${used} of ${stack.frames.length} used`);
    add.parentElement.hidden = stack.in_place; // frames read in place are what was chosen there
    while (rows.length < stack.frames.length) {
      rows.push(newRow(rows.length));
      list.append(rows.at(-1).node);
    }
    while (rows.length > stack.frames.length) rows.pop().node.remove();
    for (const [i, frame] of stack.frames.entries()) drawRow(rows[i], frame, i, stack);
  }

  let shown;
  app.state.on((now, before) => {
    const stack = app.stack();
    if (stack === shown && now.uploads === before.uploads) return;
    shown = stack;
    draw(stack);
  });
}

function factsOf(frame) {
  const depth = { uint8: "8 bit", uint16: "16 bit", float32: "float" }[frame.dtype] ?? frame.dtype;
  const pages = frame.pages > 1 ? `${frame.pages} pages, ` : "";
  return `${pages}${frame.width} × ${frame.height}, ${depth}`;
}
