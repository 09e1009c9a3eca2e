// The divider between two compared pictures, moved by pointer or arrow keys.

import { element } from "../dom.js";

const STEP = 0.02; // of the width

export function createDivider(pane, onMove) {
  const line = element(
    "div",
    {
      class: "divider",
      tabIndex: 0,
      hidden: true,
      role: "slider",
      "aria-label": "Divider of the comparison",
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-orientation": "horizontal",
    },
    element("span", { class: "grip" }),
  );
  pane.append(line);

  let position = 0.5;
  const setPosition = (value) => {
    position = Math.min(1, Math.max(0, value));
    line.style.left = `${position * 100}%`;
    line.setAttribute("aria-valuenow", Math.round(position * 100));
    line.setAttribute("aria-valuetext", `${Math.round(position * 100)} % of the view`);
  };
  const move = (value) => {
    setPosition(value);
    onMove(position);
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
  setPosition(position);
  return { setPosition, setVisible: (isVisible) => (line.hidden = !isVisible) };
}
