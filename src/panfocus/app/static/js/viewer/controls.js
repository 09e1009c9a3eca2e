/* The bar above the picture (what is shown, what it is compared with, maps laid over, zoom) and the line below. */

import { layersOf, nameOf, rivalsOf, titleOf } from "./layers.js";

const ZOOMS = [
  ["Fit", "Fit the picture into the view (0)", (viewer) => viewer.fit()],
  ["1:1", "One pixel of the picture on one of the screen (1)", (viewer) => viewer.zoom(1)],
  ["2:1", "Twice that size (2)", (viewer) => viewer.zoom(2)],
  ["−", "Smaller (-)", (viewer) => viewer.zoomBy(1 / 1.5)],
  ["+", "Larger (+)", (viewer) => viewer.zoomBy(1.5)],
];

export function createControls(element, viewer) {
  const bar = document.createElement("div");
  bar.className = "viewer-bar";
  bar.setAttribute("role", "toolbar");
  bar.setAttribute("aria-label", "View");
  element.prepend(bar);
  const line = document.createElement("p");
  line.className = "viewer-line";
  element.append(line);

  const layer = select(bar, "Show", () => viewer.show(viewer.job(), layer.value));
  const compared = select(bar, "Compare with", () => compare());
  const how = select(bar, "As", () => compare());
  fill(how, [["slider", "Slider"], ["beside", "Side by side"]]);
  const overlay = select(bar, "Map over it", () => viewer.overlay(overlay.value || null));
  const opacity = range(bar, "Strength", () => viewer.overlay(viewer.shown.overlay, Number(opacity.value) / 100));

  const zooms = document.createElement("div");
  zooms.className = "group";
  bar.append(zooms);
  for (const [text, help, act] of ZOOMS) button(zooms, text, help).addEventListener("click", () => act(viewer));
  const cursor = button(zooms, "Cursor", "A cursor moved by the arrow keys; Enter looks at its place (C)");
  cursor.addEventListener("click", () => {
    viewer.showCursor(!viewer.cursorShown);
    if (viewer.cursorShown) viewer.stage.focus();
  });

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
    line.textContent = viewer.job() ? [zoom, where].filter(Boolean).join(" · ") : "";
  };
  let said = 0;
  viewer.on("cursor", (where) => {
    place = where ?? (viewer.cursorShown ? viewer.cursor : null);
    tell();
    if (where !== viewer.cursor) return;
    clearTimeout(said); // a held arrow key shall be told once, at its end
    said = setTimeout(() => viewer.app?.announce?.(`Row ${where.row}, column ${where.col}`), 500);
  });

  function update() {
    const { shown } = viewer;
    const { job } = shown;
    bar.hidden = !job;
    if (!job) return;
    const { pictures, frames, maps } = layersOf(job);
    const named = (names) => names.map((name) => [name, nameOf(job, name)]);
    const rivals = rivalsOf(job, viewer.app?.state?.get().jobs ?? []);
    fill(layer, named(pictures), { Frames: named(frames), Maps: named(maps) }, shown.layer);
    fill(
      compared,
      [["", "nothing"], ...named(pictures)],
      { Frames: named(frames), "Other results": rivals.map((rival) => [`${rival.id}/fused`, titleOf(rival)]) },
      shown.compared ?? shown.beside ?? "",
    );
    if (shown.compared || shown.beside) how.value = shown.beside ? "beside" : "slider";
    how.parentElement.hidden = !(shown.compared || shown.beside);
    fill(overlay, [["", "none"], ...named(maps)], {}, shown.overlay ?? "");
    overlay.parentElement.hidden = maps.length === 0;
    opacity.value = Math.round(shown.opacity * 100);
    opacity.parentElement.hidden = !shown.overlay;
    cursor.setAttribute("aria-pressed", viewer.cursorShown);
    tell();
  }

  update();
  return { update, tell };
}

function labelled(bar, text, control) {
  const label = document.createElement("label");
  const caption = document.createElement("span");
  caption.textContent = text;
  label.append(caption, control);
  bar.append(label);
  return control;
}

function select(bar, text, changed) {
  const control = labelled(bar, text, document.createElement("select"));
  control.addEventListener("change", changed);
  return control;
}

function range(bar, text, changed) {
  const control = document.createElement("input");
  Object.assign(control, { type: "range", min: 10, max: 100, step: 5 });
  control.addEventListener("input", changed);
  return labelled(bar, text, control);
}

function button(bar, text, help) {
  const control = document.createElement("button");
  Object.assign(control, { type: "button", textContent: text, title: help });
  if (!/^\w/.test(text)) control.setAttribute("aria-label", help);
  bar.append(control);
  return control;
}

/* Options in order, then groups of options; touched only where they differ, so that an open list stays open. */
function fill(control, options, groups = {}, value = null) {
  const wanted = JSON.stringify([options, groups]);
  if (control.dataset.options !== wanted) {
    control.dataset.options = wanted;
    const made = ([name, text]) => new Option(text, name);
    const filled = Object.entries(groups).filter(([, members]) => members.length);
    control.replaceChildren(
      ...options.map(made),
      ...filled.map(([label, members]) => {
        const group = document.createElement("optgroup");
        group.label = label;
        group.append(...members.map(made));
        return group;
      }),
    );
  }
  if (value !== null) control.value = value;
}
