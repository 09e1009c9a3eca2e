// Pointer and keyboard input on the panes, for the active tool or for the view.
//
// A tool may have onDown(place, event), onMove(place, event, isDown), onUp(place, event) and onKey(event, cursor), which
// returns whether the key was used. event.type is not "pointerup" if a drag was cancelled.

const STEP = 1; // of the keyboard cursor, in screen pixels, but at least one image pixel
const BIG_STEP = 20; // with Shift
const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** Connect the events of the stage with the viewer. */
export function listenToInput(stage, viewer) {
  for (const { osd } of Object.values(viewer.panes)) configurePane(osd, viewer);
  const pressed = new Set(); // pointer ids
  let toolPointer = null; // id of the pointer whose drag the tool gets
  let middleDrag = null; // the last event of a drag with the middle button

  const endDrag = (event) => {
    toolPointer = null;
    viewer.tool?.onUp?.(viewer.toImage(event.clientX ?? 0, event.clientY ?? 0), event);
  };

  stage.addEventListener("pointerdown", (event) => {
    if (!viewer.paneAt(event.target)) return;
    stage.focus({ preventScroll: true });
    pressed.add(event.pointerId);
    if (event.button === 1) {
      middleDrag = event;
      event.preventDefault();
    } else if (viewer.tool && toolPointer !== null) {
      // a second finger: a pinch instead of a stroke
      endDrag(new PointerEvent("pointercancel", { clientX: event.clientX, clientY: event.clientY }));
    } else if (viewer.tool && event.button === 0 && pressed.size === 1) {
      toolPointer = event.pointerId;
      viewer.tool.onDown?.(viewer.toImage(event.clientX, event.clientY), event);
    }
  }, true);

  stage.addEventListener("pointermove", (event) => {
    const place = viewer.toImage(event.clientX, event.clientY);
    if (middleDrag) {
      viewer.panBy(event.clientX - middleDrag.clientX, event.clientY - middleDrag.clientY);
      middleDrag = event;
    }
    if (!viewer.paneAt(event.target)) return;
    viewer.setPointer(place);
    const isToolDrag = toolPointer === event.pointerId;
    if (!viewer.tool || (pressed.size && !isToolDrag)) return;
    // A stroke uses all points that a pen or mouse reports between two screen frames.
    const points = isToolDrag ? (event.getCoalescedEvents?.() ?? []) : [];
    for (const each of points.length ? points : [event]) {
      viewer.tool?.onMove?.(viewer.toImage(each.clientX, each.clientY), each, isToolDrag);
    }
  }, true);

  for (const kind of ["pointerup", "pointercancel"]) {
    window.addEventListener(kind, (event) => {
      pressed.delete(event.pointerId);
      if (event.button === 1 || kind === "pointercancel") middleDrag = null;
      if (toolPointer === event.pointerId) endDrag(event);
    }, true);
  }
  stage.addEventListener("pointerleave", () => viewer.setPointer(null));

  stage.addEventListener("keydown", (event) => {
    if (event.target !== stage) return; // the divider handles its keys
    if (event.key === "Escape" && toolPointer !== null) {
      endDrag(event);
      return;
    }
    if (viewer.tool?.onKey?.(event, viewer.cursor) || onKey(event, viewer)) event.preventDefault();
  });
}

/** Leave drags to the active tool; without a tool, a click selects a place. */
function configurePane(osd, viewer) {
  for (const name of ["canvas-drag", "canvas-drag-end"]) {
    const priority = 1; // before the handlers that move the view
    osd.addHandler(name, (event) => (event.preventDefaultAction = Boolean(viewer.tool)), null, priority);
  }
  osd.addHandler("canvas-click", ({ quick, originalEvent: { clientX, clientY } }) => {
    if (quick && !viewer.tool) viewer.selectPlace(viewer.toImage(clientX, clientY));
  });
}

/** Handle keys of the view. Return whether the key was used. */
function onKey(event, viewer) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const arrow = ARROWS[event.key];
  if (arrow && viewer.cursor.isVisible) {
    const step = Math.max(1, Math.round((event.shiftKey ? BIG_STEP : STEP) / Math.min(1, viewer.scale())));
    viewer.cursor.move(arrow[0] * step, arrow[1] * step);
    return true;
  }
  if (arrow) {
    const share = event.shiftKey ? 0.5 : 0.1;
    viewer.panes.main.pan(arrow[1] * share, arrow[0] * share);
    return true;
  }
  const action = {
    0: () => viewer.fit(),
    1: () => viewer.zoom(1),
    2: () => viewer.zoom(2),
    "+": () => viewer.zoomBy(1.5),
    "=": () => viewer.zoomBy(1.5), // + without Shift
    "-": () => viewer.zoomBy(1 / 1.5),
    c: () => viewer.cursor.setVisible(!viewer.cursor.isVisible),
    Enter: () => viewer.selectPlace(viewer.cursor),
    Escape: () => viewer.cursor.setVisible(false),
  }[event.key === "C" ? "c" : event.key]; // also with Caps Lock
  action?.();
  return Boolean(action);
}
