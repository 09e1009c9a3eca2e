// The bar above the picture (layer, comparison, overlay, zoom) and the line below it.

import { debounced, element, labelled, setText } from "../dom.js";
import { toggleFullScreen } from "../side_panels.js";
import { layerName, listLayers, listOtherResults, positionText } from "./layers.js";
import { createLegend } from "./legend.js";

const ZOOMS = [
  ["Fit", "Fit the picture (0)", (viewer) => viewer.fit()],
  ["1:1", "100 %: one pixel of the picture per screen pixel (1)", (viewer) => viewer.zoom(1)],
  ["2:1", "200 % (2)", (viewer) => viewer.zoom(2)],
  ["−", "Zoom out (-)", (viewer) => viewer.zoomBy(1 / 1.5)],
  ["+", "Zoom in (+)", (viewer) => viewer.zoomBy(1.5)],
];

export function createControls(root, viewer) {
  const layer = element("select", { onchange: () => viewer.show(viewer.job(), layer.value) });
  const compared = element("select", { onchange: () => compare() });
  const mode = element("select", { onchange: () => compare() });
  fill(mode, [["slider", "Slider"], ["beside", "Side by side"]]);
  const overlay = element("select", { onchange: () => viewer.overlay(overlay.value || null) });
  const opacity = element("input", {
    type: "range",
    min: 10,
    max: 100,
    step: 5,
    oninput: () => viewer.overlay(viewer.shown.overlay, Number(opacity.value) / 100),
  });
  const cursor = button("Keyboard cursor", "A cursor moved by the arrow keys; Enter inspects its position (C)", () => {
    viewer.cursor.setVisible(!viewer.cursor.isVisible);
    if (viewer.cursor.isVisible) viewer.stage.focus();
  });
  const screen = button("", "Full screen (F)", toggleFullScreen);
  screen.classList.add("full-screen");
  screen.hidden = !document.fullscreenEnabled;
  document.addEventListener("fullscreenchange", () => {
    screen.setAttribute("aria-pressed", String(document.fullscreenElement !== null));
  });
  const zooms = ZOOMS.map(([text, help, act]) => button(text, help, () => act(viewer)));
  const bar = element(
    "div",
    { class: "viewer-bar", role: "group", "aria-label": "View" },
    labelled("Show", layer),
    labelled("Compare with", compared),
    labelled("Mode", mode),
    labelled("Overlay", overlay),
    labelled("Opacity", opacity),
    element("div", { class: "group" }, ...zooms, cursor, screen),
  );
  const line = element("p", { class: "viewer-line" });
  const legend = createLegend(viewer);
  root.prepend(bar);
  root.append(element("div", { class: "viewer-foot" }, line, legend.element));

  function compare() {
    const reference = compared.value || null;
    const isSideBySide = mode.value === "beside";
    viewer.sideBySide(isSideBySide ? reference : null);
    viewer.compare(isSideBySide ? null : reference);
  }

  let place = null;
  const updateLine = () => {
    const percent = viewer.scale() * devicePixelRatio * 100;
    const zoom = `${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
    const position = place ? positionText(place) : "";
    setText(line, viewer.job() ? [zoom, position].filter(Boolean).join(" · ") : "");
  };
  const announce = debounced((cursor) => viewer.app.announce(positionText(cursor)), 500); // once for a held key
  viewer.on("cursor", (newPlace) => {
    place = newPlace ?? (viewer.cursor.isVisible ? viewer.cursor : null);
    updateLine();
    if (newPlace === viewer.cursor) announce(newPlace);
  });

  function update() {
    const { shown } = viewer;
    const { job } = shown;
    bar.hidden = !job;
    legend.update();
    if (!job) return;
    const { pictures, frames, maps } = listLayers(job);
    const named = (names) => names.map((name) => [name, layerName(job, name)]);
    fill(layer, named(pictures), { Frames: named(frames), Maps: named(maps) }, shown.layer);
    fill(
      compared,
      [["", "nothing"], ...named(pictures)],
      { Frames: named(frames), "Other results": listOtherResults(job, viewer.app.state.get().jobs) },
      shown.compared ?? shown.beside ?? "",
    );
    if (shown.compared || shown.beside) mode.value = shown.beside ? "beside" : "slider";
    mode.parentElement.hidden = !(shown.compared || shown.beside);
    fill(overlay, [["", "none"], ...named(maps)], {}, shown.overlay ?? "");
    overlay.parentElement.hidden = maps.length === 0;
    opacity.value = Math.round(shown.opacity * 100);
    opacity.parentElement.hidden = !shown.overlay;
    cursor.setAttribute("aria-pressed", viewer.cursor.isVisible);
    updateLine();
  }

  update();
  return { update, updateLine };
}

function button(text, help, onclick) {
  const name = /^\w/.test(text) ? null : help; // a symbol is not a name
  return element("button", { type: "button", title: help, "aria-label": name, onclick }, text);
}

/** Fill a select with options and groups, only if they differ, so that an open list stays open. */
function fill(control, options, groups = {}, value = null) {
  const wanted = JSON.stringify([options, groups]);
  if (control.dataset.options !== wanted) {
    control.dataset.options = wanted;
    const createOption = ([name, text, disabled = false]) => element("option", { value: name, disabled }, text);
    const groupEntries = Object.entries(groups).filter(([, members]) => members.length);
    control.replaceChildren(
      ...options.map(createOption),
      ...groupEntries.map(([label, members]) => element("optgroup", { label }, ...members.map(createOption))),
    );
  }
  if (value !== null) control.value = value;
}
