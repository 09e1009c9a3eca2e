// Room for the picture: the parts beside it are folded away, or it fills the screen.
import { onPageKey } from "./dom.js";

const KEPT = "panfocus-folded";
const PARTS = { side: "S", tools: "T" }; // and the key of each

/** The buttons of `index.html` that fold the parts beside the picture, which is remembered, and the keys. */
export function mountRoom(workspace, app) {
  const folded = new Set(kept());
  const buttons = new Map();
  for (const part of Object.keys(PARTS)) {
    const button = document.getElementById(`fold-${part}`);
    button.addEventListener("click", () => fold(part, !folded.has(part)));
    buttons.set(part, button);
  }

  function fold(part, away) {
    if (away) folded.add(part);
    else folded.delete(part);
    keep([...folded]);
    draw();
  }

  function draw() {
    workspace.dataset.folded = [...folded].join(" ");
    for (const [part, button] of buttons) {
      button.setAttribute("aria-expanded", String(!folded.has(part)));
      button.title = `${folded.has(part) ? "Show" : "Fold away"} the ${button.dataset.name} (${PARTS[part]})`;
    }
  }

  onPageKey((event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    // On the picture and the relief alone: letters mean other things elsewhere, to a voice they are words.
    if (event.target.getAttribute("role") !== "application") return;
    const key = event.key.toUpperCase(); // with Caps Lock too
    const part = Object.keys(PARTS).find((name) => PARTS[name] === key);
    if (key === "F") fillScreen();
    else if (part && buttons.get(part).checkVisibility()) buttons.get(part).click();
    else return;
    event.preventDefault();
  });
  app.unfold = (part) => folded.has(part) && fold(part, false);
  draw();
}

/** Let the picture fill the screen, or end that. The whole page does, so that what it has to tell is seen. */
export async function fillScreen() {
  try {
    if (document.fullscreenElement) await document.exitFullscreen();
    else await document.documentElement.requestFullscreen();
  } catch {
    // The browser or its settings do not allow it: the picture stays as it is.
  }
}

function kept() {
  try {
    return (localStorage.getItem(KEPT) ?? "").split(" ").filter((part) => part in PARTS);
  } catch {
    return []; // no storage allowed
  }
}

function keep(parts) {
  try {
    localStorage.setItem(KEPT, parts.join(" "));
  } catch {
    // No storage allowed: the choice holds until the page is closed.
  }
}
