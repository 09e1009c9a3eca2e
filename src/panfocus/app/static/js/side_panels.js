// Space for the picture: fold the panels beside it, or fill the screen.
import { onPageKey } from "./dom.js";
import { local } from "./storage.js";

const STORAGE_KEY = "panfocus-folded-panels";
const KEYS = { side: "S", tools: "T" }; // panel: its key

/** Connect the fold buttons of `index.html` and the keys. The choice is remembered. */
export function mountSidePanels(workspace, app) {
  const folded = new Set((local.read(STORAGE_KEY) ?? []).filter((panel) => panel in KEYS));
  const buttons = new Map();
  for (const panel of Object.keys(KEYS)) {
    const button = document.getElementById(`fold-${panel}`);
    button.addEventListener("click", () => setFolded(panel, !folded.has(panel)));
    buttons.set(panel, button);
  }

  function setFolded(panel, isFolded) {
    if (isFolded) folded.add(panel);
    else folded.delete(panel);
    local.write(STORAGE_KEY, [...folded]);
    draw();
  }

  function draw() {
    workspace.dataset.folded = [...folded].join(" ");
    for (const [panel, button] of buttons) {
      button.setAttribute("aria-expanded", String(!folded.has(panel)));
      button.title = `${folded.has(panel) ? "Show" : "Hide"} ${button.dataset.name} (${KEYS[panel]})`;
    }
  }

  onPageKey((event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    // Only on the picture and the relief: elsewhere single letters would interfere with typing and voice control.
    if (event.target.getAttribute("role") !== "application") return;
    const key = event.key.toUpperCase(); // also with Caps Lock
    const panel = Object.keys(KEYS).find((name) => KEYS[name] === key);
    if (key === "F") toggleFullScreen();
    else if (panel && buttons.get(panel).checkVisibility()) buttons.get(panel).click();
    else return;
    event.preventDefault();
  });
  app.showPanel = (panel) => folded.has(panel) && setFolded(panel, false);
  draw();
}

/** Enter or leave full screen. The whole page does, so that notices stay visible. */
export async function toggleFullScreen() {
  try {
    if (document.fullscreenElement) await document.exitFullscreen();
    else await document.documentElement.requestFullscreen();
  } catch {
    // The browser does not allow it.
  }
}
