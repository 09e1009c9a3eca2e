/* The line between two compared pictures: dragged by mouse or finger, or moved by the arrow keys. */

import { element } from "../dom.js";

const STEP = 0.02;

export function createDivider(pane, moved) {
  const line = element(
    "div",
    {
      class: "divider",
      tabIndex: 0,
      hidden: true,
      role: "slider",
      "aria-label": "Where the compared picture begins",
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-orientation": "horizontal",
    },
    element("span", { class: "grip" }),
  );
  pane.append(line);

  let position = 0.5;
  const place = (value) => {
    position = Math.min(1, Math.max(0, value));
    line.style.left = `${position * 100}%`;
    line.setAttribute("aria-valuenow", Math.round(position * 100));
    line.setAttribute("aria-valuetext", `${Math.round(position * 100)} % of the view`);
  };
  const move = (value) => {
    place(value);
    moved(position);
  };

  line.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    line.setPointerCapture(event.pointerId);
    event.preventDefault();
    line.focus({ preventScroll: true });
  });
  line.addEventListener("pointermove", (event) => {
    if (!line.hasPointerCapture(event.pointerId)) return;
    const { left, width } = pane.getBoundingClientRect();
    move((event.clientX - left) / width);
  });
  line.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 5 * STEP : STEP;
    const to = {
      ArrowLeft: position - step,
      ArrowDown: position - step,
      ArrowRight: position + step,
      ArrowUp: position + step,
      Home: 0,
      End: 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(to);
  });
  place(position);
  return { element: line, place, show: (visible) => (line.hidden = !visible) };
}
