/* The bar above the picture (what is shown, what it is compared with, maps laid over, zoom) and the line below. */

import { element, labelled, setText } from "../dom.js";
import { fillScreen } from "../room.js";
import { layersOf, nameOf, rivalsOf } from "./layers.js";
import { createLegend } from "./legend.js";

const ZOOMS = [
  ["Fit", "Fit the picture into the view (0)", (viewer) => viewer.fit()],
  ["1:1", "One pixel of the picture on one of the screen (1)", (viewer) => viewer.zoom(1)],
  ["2:1", "Twice that size (2)", (viewer) => viewer.zoom(2)],
  ["−", "Smaller (-)", (viewer) => viewer.zoomBy(1 / 1.5)],
  ["+", "Larger (+)", (viewer) => viewer.zoomBy(1.5)],
];

export function createControls(room, viewer) {
  const layer = select(() => viewer.show(viewer.job(), layer.value));
  const compared = select(() => compare());
  const how = select(() => compare());
  fill(how, [["slider", "Slider"], ["beside", "Side by side"]]);
  const overlay = select(() => viewer.overlay(overlay.value || null));
  const opacity = element("input", {
    type: "range",
    min: 10,
    max: 100,
    step: 5,
    oninput: () => viewer.overlay(viewer.shown.overlay, Number(opacity.value) / 100),
  });
  const cursor = button("Cursor", "A cursor moved by the arrow keys; Enter looks at its place (C)", () => {
    viewer.cursor.show(!viewer.cursor.shown);
    if (viewer.cursor.shown) viewer.stage.focus();
  });
  const screen = button("", "Full screen (F)", fillScreen);
  screen.classList.add("whole-screen");
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
    labelled("As", how),
    labelled("Map over it", overlay),
    labelled("Strength", opacity),
    element("div", { class: "group" }, ...zooms, cursor, screen),
  );
  const line = element("p", { class: "viewer-line" });
  const legend = createLegend(viewer);
  room.prepend(bar);
  room.append(element("div", { class: "viewer-foot" }, line, legend.element));

  function compare() {
    const reference = compared.value || null;
    const beside = how.value === "beside";
    viewer.sideBySide(beside ? reference : null);
    viewer.compare(beside ? null : reference);
  }

  let place = null;
  const tell = () => {
    const percent = viewer.scale() * devicePixelRatio * 100;
    const zoom = `${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
    const where = place ? `row ${Math.round(place.row)}, column ${Math.round(place.col)}` : "";
    setText(line, viewer.job() ? [zoom, where].filter(Boolean).join(" · ") : "");
  };
  let said = 0;
  viewer.on("cursor", (where) => {
    place = where ?? (viewer.cursor.shown ? viewer.cursor : null);
    tell();
    if (where !== viewer.cursor) return;
    clearTimeout(said); // a held arrow key shall be told once, at its end
    said = setTimeout(() => viewer.app.announce(`Row ${where.row}, column ${where.col}`), 500);
  });

  function update() {
    const { shown } = viewer;
    const { job } = shown;
    bar.hidden = !job;
    legend.update();
    if (!job) return;
    const { pictures, frames, maps } = layersOf(job);
    const named = (names) => names.map((name) => [name, nameOf(job, name)]);
    fill(layer, named(pictures), { Frames: named(frames), Maps: named(maps) }, shown.layer);
    fill(
      compared,
      [["", "nothing"], ...named(pictures)],
      { Frames: named(frames), "Other results": rivalsOf(job, viewer.app.state.get().jobs) },
      shown.compared ?? shown.beside ?? "",
    );
    if (shown.compared || shown.beside) how.value = shown.beside ? "beside" : "slider";
    how.parentElement.hidden = !(shown.compared || shown.beside);
    fill(overlay, [["", "none"], ...named(maps)], {}, shown.overlay ?? "");
    overlay.parentElement.hidden = maps.length === 0;
    opacity.value = Math.round(shown.opacity * 100);
    opacity.parentElement.hidden = !shown.overlay;
    cursor.setAttribute("aria-pressed", viewer.cursor.shown);
    tell();
  }

  update();
  return { update, tell };
}

function select(onchange) {
  return element("select", { onchange });
}

function button(text, help, onclick) {
  const name = /^\w/.test(text) ? null : help; // a sign alone is no name
  return element("button", { type: "button", title: help, "aria-label": name, onclick }, text);
}

/* Options in order, then groups of options; touched only where they differ, so that an open list stays open. */
function fill(control, options, groups = {}, value = null) {
  const wanted = JSON.stringify([options, groups]);
  if (control.dataset.options !== wanted) {
    control.dataset.options = wanted;
    const made = ([name, text, disabled = false]) => element("option", { value: name, disabled }, text);
    const filled = Object.entries(groups).filter(([, members]) => members.length);
    control.replaceChildren(
      ...options.map(made),
      ...filled.map(([label, members]) => element("optgroup", { label }, ...members.map(made))),
    );
  }
  if (value !== null) control.value = value;
}
