"use strict";
// Draws the page from the data that it carries. Python computes, this file shows; nothing is fetched.

const report = JSON.parse(document.getElementById("report").textContent);
const methods = Object.keys(report.methods);
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b5a800", "#888888"];
// In the order of the columns: what compares with the truth comes first.
const KINDS = { reference: "against the reference", sources: "against the sources", single: "of the result alone", time: "cost" };
const ROWS = { source: "Sources", result: "Results", labels: "Decision maps", error: "Error against the reference" };
const SIGNIFICANT = 0.05;
const LARGEST_ZOOM = 64;

const figures = new Intl.NumberFormat("en", {
  minimumSignificantDigits: 4, maximumSignificantDigits: 4, useGrouping: false,
});
// Of a score that exists, null says that it is infinite, which JSON cannot.
const amount = (score) => (score === null ? Infinity : score);
const written = (score) => (score === null ? "∞" : figures.format(score));
const writtenP = (p) => (p < 0.001 ? "p < 0.001" : `p ${p.toPrecision(2)}`);
const colourOf = (method) => COLOURS[methods.indexOf(method) % COLOURS.length];

function element(name, attributes = {}, ...children) {
  const drawn = ["svg", "g", "line", "circle", "text", "title"].includes(name);
  const node = drawn ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function direction(key) {
  return report.metrics[key].better === "larger" ? "↑" : "↓";
}

function isBetter(key, a, b) {
  return report.metrics[key].better === "larger" ? a > b : a < b;
}

// ---- Tables: one row per method, one column per metric. `cell(method, key)` gives {value, notes} or undefined.

function scoreTable(caption, keys, names, cell) {
  const body = element("tbody");
  const rows = names.map((name) => {
    const row = element("tr", {}, element("th", { scope: "row", title: report.methods[name] }, name));
    return { name, row };
  });
  const kindOf = (key) => report.metrics[key].kind;
  const begins = (i) => (i === 0 || kindOf(keys[i]) !== kindOf(keys[i - 1]) ? "begins" : "");

  function fill() {
    for (const { name, row } of rows) {
      row.replaceChildren(row.firstChild, ...keys.map((key, i) => {
        const found = cell(name, key);
        if (!found) return element("td", { class: begins(i) }, "–");
        const best = !names.some((other) => {
          const rival = cell(other, key);
          return rival && isBetter(key, amount(rival.value), amount(found.value));
        });
        return element("td", { class: `${begins(i)} ${best ? "best" : ""}` },
          element("span", {}, written(found.value)), ...found.notes.map((line) => element("small", {}, line)));
      }));
    }
  }

  function sort(header, key) {
    // The first click puts the best first, the next one the worst.
    const descending = report.metrics[key]?.better === "larger";
    const first = descending ? "descending" : "ascending";
    const order = header.ariaSort === first ? (descending ? "ascending" : "descending") : first;
    for (const other of head.querySelectorAll("th")) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const place = ({ name }) => {
      if (!key) return methods.indexOf(name);
      const found = cell(name, key);
      return found && amount(found.value);
    };
    const sorted = rows.toSorted((a, b) => {
      const [x, y] = [place(a), place(b)];
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined); // without a score: last
      return x === y ? 0 : sign * (x < y ? -1 : 1);
    });
    body.append(...sorted.map(({ row }) => row));
  }

  function heading(label, title, key, place) {
    const button = element("button", { type: "button", title }, label);
    const header = element("th", { scope: "col", class: place }, button);
    button.addEventListener("click", () => sort(header, key));
    return header;
  }

  const starts = keys.map((_, i) => i).filter((i) => begins(i));
  const head = element("thead", {},
    element("tr", { class: "kinds" }, element("th"), ...starts.map((start, i) =>
      element("th", { class: "begins", colspan: (starts[i + 1] ?? keys.length) - start, scope: "colgroup" },
        KINDS[kindOf(keys[start])]))),
    element("tr", {}, heading("Method", "in the order in which they were given", null, ""),
      ...keys.map((key, i) => heading(`${key} ${direction(key)}`,
        `${report.metrics[key].title}: ${report.metrics[key].says}; ${report.metrics[key].better} is better`,
        key, begins(i)))));
  fill();
  body.append(...rows.map(({ row }) => row));
  const table = element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption },
    element("table", {}, head, body));
  return { table, fill };
}

function summaryTable(group, keys) {
  const choice = element("select", {}, ...methods.map((name) => element("option", {}, name)));
  const { table, fill } = scoreTable(`Mean scores on ${group.name}`, keys, methods, (name, key) => {
    const found = group.summary[key][name];
    return found && { value: found.mean, notes: notes(found) };
  });

  function notes(found) {
    const test = found.against[choice.value];
    const lines = [];
    if (found.rank !== null) lines.push(`rank ${found.rank.toFixed(1)}`);
    if (found.n < group.scenes.length) lines.push(`n ${found.n}`);
    if (test) lines.push(`${test.p < SIGNIFICANT ? (test.better ? "▲ " : "▼ ") : ""}${writtenP(test.p)}`);
    return lines;
  }

  choice.addEventListener("change", fill);
  const n = group.scenes.length;
  const legend = element("p", { class: "muted" },
    `Mean over ${n} scene${n === 1 ? "" : "s"}; the arrow in a heading points to what is good, the best mean is marked. `
    + "Rank: mean of the ranks on the single scenes. p: two-sided Wilcoxon signed-rank test on the scenes that both "
    + "methods have, corrected after Holm for the number of methods; ▲ better, ▼ worse than the method chosen, "
    + `where p < ${SIGNIFICANT}.`
    + (n < 6 ? ` With ${n} scene${n === 1 ? "" : "s"} p cannot fall below ${2 ** (1 - n)}.` : ""));
  const control = element("p", {}, element("label", {}, "Significance against ", choice));
  return [control, table, legend];
}

// ---- Plots: per metric one strip for each method, one dot for each scene.

function plot(group, key) {
  const [width, strip, margin] = [300, 30, 6];
  const height = methods.length * strip + 16;
  const scores = group.scenes.flatMap((scene) => Object.values(scene.scores).map((of) => of[key]));
  const finite = scores.filter(Number.isFinite);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const x = (score) => (high > low && score !== null
    ? margin + (width - 2 * margin) * (score - low) / (high - low)
    : score === null ? width - margin : width / 2);
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${key} of every scene, by method` });
  methods.forEach((name, i) => {
    const y = i * strip + 20;
    svg.append(element("text", { x: 0, y: y - 10 }, name),
      element("line", { x1: 0, x2: width, y1: y, y2: y }));
    group.scenes.forEach((scene, j) => {
      const score = scene.scores[name]?.[key];
      if (score === undefined) return;
      const dot = element("circle", { cx: x(score), cy: y + ((j % 5) - 2) * 1.5, r: 3.5, fill: colourOf(name),
        "data-scene": scene.name }, element("title", {}, `${scene.name}, ${name}: ${written(score)}`));
      svg.append(dot);
    });
    const mean = group.summary[key][name]?.mean;
    if (Number.isFinite(mean)) svg.append(element("line", { class: "mean", x1: x(mean), x2: x(mean), y1: y - 7, y2: y + 7 }));
  });
  svg.append(element("text", { x: 0, y: height - 1 }, written(low)),
    element("text", { x: width, y: height - 1, "text-anchor": "end" }, written(high)));
  return element("figure", {}, element("figcaption", { title: report.metrics[key].says }, `${key} ${direction(key)}`), svg);
}

function plots(group, keys) {
  const shown = element("div", { class: "plots" }, ...keys.map((key) => plot(group, key)));
  const sameScene = (dot) => shown.querySelectorAll(`[data-scene="${CSS.escape(dot.dataset.scene)}"]`);
  const mark = (marked) => ({ target }) => {
    if (target.dataset.scene) for (const dot of sameScene(target)) dot.classList.toggle("same", marked);
  };
  shown.addEventListener("pointerover", mark(true));
  shown.addEventListener("pointerout", mark(false));
  shown.addEventListener("click", ({ target }) => {
    const scene = target.dataset.scene && group.sections.get(target.dataset.scene);
    if (!scene) return;
    scene.open = true;
    scene.scrollIntoView();
  });
  return shown;
}

// ---- Scenes: their pictures are made when they are opened, and share one place and scale.

function zoomTogether(viewer) {
  const state = { scale: 1, left: 0, top: 0 }; // `left`, `top`: the first visible place, as shares of the picture

  function show() {
    const largest = 1 - 1 / state.scale;
    state.left = Math.min(Math.max(state.left, 0), largest);
    state.top = Math.min(Math.max(state.top, 0), largest);
    // Every picture takes its place from these three: they cannot fall out of step.
    for (const [name, value] of Object.entries(state)) viewer.style.setProperty(`--${name}`, value);
    const image = viewer.querySelector("img");
    viewer.classList.toggle("zoomed", state.scale > 1);
    viewer.classList.toggle("pixels",
      image.clientWidth * state.scale * devicePixelRatio >= 2 * image.getAttribute("width"));
  }

  function zoom(factor, x = 0.5, y = 0.5) {
    const scale = Math.min(Math.max(state.scale * factor, 1), LARGEST_ZOOM);
    state.left += x / state.scale - x / scale;
    state.top += y / state.scale - y / scale;
    state.scale = scale;
    show();
  }

  function move(x, y) {
    state.left += x / state.scale;
    state.top += y / state.scale;
    show();
  }

  function reset() {
    Object.assign(state, { scale: 1, left: 0, top: 0 });
    show();
  }

  const viewOf = (event) => event.target.closest(".view");
  function place(event) {
    const box = viewOf(event).getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  }

  viewer.addEventListener("wheel", (event) => {
    // Out of a picture that is not enlarged the wheel scrolls the page, so that nobody is held fast.
    if (!viewOf(event) || event.ctrlKey || (state.scale === 1 && event.deltaY > 0)) return;
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1);
    zoom(2 ** (-pixels / 200), ...place(event));
  }, { passive: false });
  viewer.addEventListener("pointerdown", (event) => {
    if (viewOf(event) && state.scale > 1) viewOf(event).setPointerCapture(event.pointerId);
  });
  viewer.addEventListener("pointermove", (event) => {
    const view = viewOf(event);
    viewer.classList.toggle("pointed", Boolean(view));
    if (!view) return;
    const [x, y] = place(event);
    viewer.style.setProperty("--at-x", x);
    viewer.style.setProperty("--at-y", y);
    if (view.hasPointerCapture(event.pointerId)) move(-event.movementX / view.clientWidth, -event.movementY / view.clientHeight);
  });
  viewer.addEventListener("pointerleave", () => viewer.classList.remove("pointed"));
  viewer.addEventListener("dblclick", (event) => viewOf(event) && reset());
  viewer.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] };
    if (event.target !== viewer || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (event.key === "0") reset();
    else if (event.key in steps && state.scale > 1) move(...steps[event.key]);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(show).observe(viewer);
  show();
}

function legendOf(kind, scene) {
  if (kind === "labels") {
    const colours = report.label_colours[scene.sources.length];
    return element("p", { class: "legend" }, ...scene.sources.map((file, i) => {
      const swatch = element("span", { class: "swatch" });
      swatch.style.background = colours[i];
      return element("span", {}, swatch, file);
    }));
  }
  if (kind === "error") {
    const scale = element("span", { class: "scale" });
    scale.style.background = `linear-gradient(to right, ${report.error_colours.join()})`;
    return element("p", { class: "legend" }, "absolute difference in grey: 0", scale,
      `${Math.round(255 * report.error_limit)} of 255 and more`);
  }
  return "";
}

function pictureRows(pictures, scene) {
  return Object.entries(ROWS).flatMap(([kind, title]) => {
    const shown = pictures.filter((picture) => picture.kind === kind);
    if (!shown.length) return [];
    return [element("h4", {}, title), legendOf(kind, scene), element("div", { class: "row" }, ...shown.map((picture) =>
      element("figure", {},
        element("div", { class: "view" }, element("img", { src: picture.address, width: picture.width,
          height: picture.height, draggable: false, alt: `${scene.name}, ${title.toLowerCase()}: ${picture.title}` })),
        element("figcaption", {}, picture.title))))];
  });
}

function sceneSection(group, scene, identity, keys) {
  const content = element("div");
  const section = element("details", { id: `scene-${identity}` }, element("summary", {}, scene.name), content);

  function build() {
    const pictures = JSON.parse(document.getElementById(`pictures-${identity}`).textContent);
    const viewer = element("div", { class: "viewer", tabindex: 0, role: "group",
      "aria-label": `Pictures of ${scene.name}; plus, minus, 0 and arrows zoom and move them together` },
    ...pictureRows(pictures, scene));
    const names = methods.filter((name) => name in scene.scores);
    const { table } = scoreTable(`Scores on ${scene.name}`, keys, names, (name, key) => {
      const value = scene.scores[name][key];
      return value === undefined ? undefined : { value, notes: [] };
    });
    content.append(viewer, element("h4", {}, "Scores"), table);
    zoomTogether(viewer);
  }

  section.addEventListener("toggle", () => {
    if (!section.open || content.hasChildNodes()) return;
    // The pictures stand at the end of a long file, which may still be on its way.
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", build, { once: true });
    else build();
  });
  group.sections.set(scene.name, section);
  return section;
}

// ---- The page.

function groupSection(group, index) {
  const place = (key) => Object.keys(KINDS).indexOf(report.metrics[key].kind);
  const keys = Object.keys(group.summary).sort((a, b) => place(a) - place(b));
  group.sections = new Map();
  const sections = group.scenes.map((scene, i) => sceneSection(group, scene, `${index}-${i}`, keys));
  return element("section", { id: `group-${index}` }, element("h2", {}, group.name),
    element("h3", {}, "Scores"), ...summaryTable(group, keys),
    element("h3", {}, "Every scene"), element("p", { class: "muted" },
      "One dot per scene, an upright line at the mean; a click on a dot opens the scene."), plots(group, keys),
    element("h3", {}, "Pictures"), element("p", { class: "muted" },
      "Wheel or + and - zoom, drag or arrows move, double click or 0 shows all again; the pictures of a scene go together. "
      + "They are compressed for this page; the exact files are in results/."),
    ...sections);
}

document.getElementById("conditions").append([
  `panfocus ${report.panfocus}.`,
  `Colour is scored in grey (${report.grey}), also against a reference.`,
  report.crop ? `${report.crop} border pixels are left out of the scores.` : "All pixels count in the scores.",
  report.data_range === null ? "" : `White is ${report.data_range}.`,
  ...report.notices,
  report.jpeg === null ? "" : `Every result went through JPEG of quality ${report.jpeg} and is scored as decoded.`,
].join(" "));
if (report.groups.length > 1) {
  document.getElementById("contents").append(...report.groups.map((group, i) =>
    element("a", { href: `#group-${i}` }, `${group.name} (${group.scenes.length} scenes)`)));
}
document.getElementById("groups").append(...report.groups.map(groupSection));
