/* Pointer and keys on the panes: to the tool if one is set, else to the view. */

const STEP = 1; // of the keyboard cursor, in screen pixels at least one image pixel
const BIG_STEP = 20;
const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/* Send what happens on the stage to `viewer`. */
export function listen(stage, viewer) {
  for (const { osd } of Object.values(viewer.panes)) leaveToTools(osd, viewer);
  const down = new Set(); // pointers that are pressed
  let drawing = null; // the pointer whose stroke the tool gets
  let pulled = null; // where the middle button last was

  const end = (event) => {
    drawing = null;
    viewer.tool?.onUp?.(viewer.toImage(event.clientX ?? 0, event.clientY ?? 0), event);
  };

  stage.addEventListener("pointerdown", (event) => {
    if (!viewer.paneAt(event.target)) return;
    stage.focus({ preventScroll: true });
    down.add(event.pointerId);
    if (event.button === 1) {
      pulled = event;
      event.preventDefault();
    } else if (viewer.tool && drawing !== null) {
      // a second finger: it is a pinch, not a stroke
      end(new PointerEvent("pointercancel", { clientX: event.clientX, clientY: event.clientY }));
    } else if (viewer.tool && event.button === 0 && down.size === 1) {
      drawing = event.pointerId;
      viewer.tool.onDown?.(viewer.toImage(event.clientX, event.clientY), event);
    }
  }, true);

  stage.addEventListener("pointermove", (event) => {
    const place = viewer.toImage(event.clientX, event.clientY);
    if (pulled) {
      viewer.pull(event.clientX - pulled.clientX, event.clientY - pulled.clientY);
      pulled = event;
    }
    if (!viewer.paneAt(event.target)) return;
    viewer.point(place);
    const mine = drawing === event.pointerId;
    if (!viewer.tool || (down.size && !mine)) return;
    // Between two frames of the screen a pen or mouse reports several points: a stroke wants them all.
    const points = mine ? (event.getCoalescedEvents?.() ?? []) : [];
    for (const each of points.length ? points : [event]) {
      viewer.tool?.onMove?.(viewer.toImage(each.clientX, each.clientY), each, mine);
    }
  }, true);

  for (const kind of ["pointerup", "pointercancel"]) {
    window.addEventListener(kind, (event) => {
      down.delete(event.pointerId);
      if (event.button === 1 || kind === "pointercancel") pulled = null;
      if (drawing === event.pointerId) end(event);
    }, true);
  }
  stage.addEventListener("pointerleave", () => viewer.point(null));

  stage.addEventListener("keydown", (event) => {
    if (event.target !== stage) return; // the divider has keys of its own
    if (event.key === "Escape" && drawing !== null) {
      end(event);
      return;
    }
    if (viewer.tool?.onKey?.(event, viewer.cursor) || onKey(event, viewer)) event.preventDefault();
  });
}

/* While a tool is set, drags are its own; without one a click chooses a place. */
function leaveToTools(osd, viewer) {
  for (const name of ["canvas-drag", "canvas-drag-end"]) {
    const before = 1; // those who ask whether the view moves
    osd.addHandler(name, (event) => (event.preventDefaultAction = Boolean(viewer.tool)), null, before);
  }
  osd.addHandler("canvas-click", ({ quick, originalEvent: { clientX, clientY } }) => {
    if (quick && !viewer.tool) viewer.choosePlace(viewer.toImage(clientX, clientY));
  });
}

/* Keys of the view. Returns whether the key meant something. */
function onKey(event, viewer) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const arrow = ARROWS[event.key];
  if (arrow && viewer.cursor.shown) {
    const step = Math.max(1, Math.round((event.shiftKey ? BIG_STEP : STEP) / Math.min(1, viewer.scale())));
    viewer.cursor.move(arrow[0] * step, arrow[1] * step);
    return true;
  }
  if (arrow) {
    const part = event.shiftKey ? 0.5 : 0.1;
    viewer.panes.main.pan(arrow[1] * part, arrow[0] * part);
    return true;
  }
  const meaning = {
    0: () => viewer.fit(),
    1: () => viewer.zoom(1),
    2: () => viewer.zoom(2),
    "+": () => viewer.zoomBy(1.5),
    "=": () => viewer.zoomBy(1.5), // the key of + without shift
    "-": () => viewer.zoomBy(1 / 1.5),
    c: () => viewer.cursor.show(!viewer.cursor.shown),
    Enter: () => viewer.choosePlace(viewer.cursor),
    Escape: () => viewer.cursor.show(false),
  }[event.key === "C" ? "c" : event.key]; // with Caps Lock too
  meaning?.();
  return Boolean(meaning);
}
