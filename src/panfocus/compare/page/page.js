"use strict";
// Draws the page from the data that it carries. Python computes, this file shows; nothing is fetched.

const report = JSON.parse(document.getElementById("report").textContent);
const methods = Object.keys(report.methods);
// In the order of the columns: what compares with the truth comes first.
const KINDS = { reference: "against the reference", sources: "against the sources", single: "of the result alone", time: "cost" };
const KEYS = Object.keys(report.metrics).sort((a, b) => kindPlace(a) - kindPlace(b));
// What is shown at first where there are more metrics than fit: the ones to read before the others.
const FIRST_READ = ["SSIM", "PSNR", "PSNR_RGB", "MSE", "QABF", "NMI", "QCB", "s/MP"];
const MANY = 8;
// The pictures of a scene, by kind.
const ROWS = {
  Sources: ["source", "reference"],
  Results: ["result"],
  "Decision maps": ["labels"],
  "Error against the reference": ["error"],
};
const LARGEST_ZOOM = 64;

const figures = new Intl.NumberFormat("en", {
  minimumSignificantDigits: 4, maximumSignificantDigits: 4, useGrouping: false,
});
// Of a score that exists, null says that it is infinite, which JSON cannot.
const amount = (score) => (score === null ? Infinity : score);
const written = (score) => (score === null ? "∞" : figures.format(score));
const writtenP = (p) => (p < 0.001 ? "p < 0.001" : `p ${p.toPrecision(2)}`);
const counted = (n, thing) => `${n} ${thing}${n === 1 ? "" : "s"}`;
const colourOf = (method) => report.method_colours[methods.indexOf(method) % report.method_colours.length];

function kindPlace(key) {
  return Object.keys(KINDS).indexOf(report.metrics[key].kind);
}

function element(name, attributes = {}, ...children) {
  const drawn = ["svg", "line", "circle", "text", "title"].includes(name);
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

function swatch(colour) {
  const node = element("span", { class: "swatch", "aria-hidden": true });
  node.style.background = colour;
  return node;
}

// The name of a method in its colour; it may be broken after colons, which stand between settings.
function label(method) {
  const parts = method.split(/(?<=:)/).flatMap((part) => [part, element("wbr")]);
  return [swatch(colourOf(method)), ...parts];
}

// ---- Which metrics are shown, in every table and plot: what belongs to one carries its key.

const chosen = new Set(KEYS.length > MANY ? KEYS.filter((key) => FIRST_READ.includes(key)) : KEYS);
if (!chosen.size) KEYS.slice(0, MANY).forEach((key) => chosen.add(key));

function showChosen(root) {
  for (const node of root.querySelectorAll("[data-key]")) node.hidden = !chosen.has(node.dataset.key);
  for (const head of root.querySelectorAll("[data-keys]")) {
    const shown = head.dataset.keys.split(" ").filter((key) => chosen.has(key)).length;
    head.hidden = !shown;
    head.colSpan = shown || 1;
  }
}

function metricChooser() {
  const summary = element("summary");
  const boxes = KEYS.map((key) => {
    const box = element("input", { type: "checkbox", value: key });
    box.addEventListener("change", () => choose(box.checked ? [...chosen, key] : [...chosen].filter((other) => other !== key)));
    return box;
  });

  function choose(keys) {
    chosen.clear();
    for (const key of keys) chosen.add(key);
    for (const box of boxes) box.checked = chosen.has(box.value);
    summary.textContent = `Metrics: ${chosen.size} of ${KEYS.length} shown`;
    showChosen(document);
  }

  const groups = Object.entries(KINDS).flatMap(([kind, title]) => {
    const keys = KEYS.filter((key) => report.metrics[key].kind === kind);
    if (!keys.length) return [];
    const all = element("button", { type: "button" }, title);
    // A click on a kind shows all of it, or hides all of it where all was shown.
    all.addEventListener("click", () => {
      const others = [...chosen].filter((key) => !keys.includes(key));
      choose(keys.every((key) => chosen.has(key)) ? others : [...others, ...keys]);
    });
    return [element("div", { role: "group", "aria-label": title }, all, ...keys.map((key) =>
      element("label", { title: report.metrics[key].title }, boxes[KEYS.indexOf(key)], ` ${key}`)))];
  });
  choose([...chosen]);
  return element("details", { class: "chooser" }, summary, element("div", {}, ...groups));
}

// ---- Tables: one row per method, one column per metric. `cell(method, key)` gives undefined, or what to show:
// {value, best: "", "best" or "best proven", mark, title, notes}.

function scoreTable(caption, keys, names, cell) {
  const body = element("tbody");
  const rows = names.map((name) => {
    const row = element("tr", {}, element("th", { scope: "row", title: report.methods[name] }, ...label(name)));
    return { name, row };
  });
  const kindOf = (key) => report.metrics[key].kind;
  const begins = (i) => (i === 0 || kindOf(keys[i]) !== kindOf(keys[i - 1]) ? "begins" : "");

  function fill() {
    for (const { name, row } of rows) {
      row.replaceChildren(row.firstChild, ...keys.map((key, i) => {
        const found = cell(name, key);
        if (!found) return element("td", { class: begins(i), "data-key": key }, "–");
        return element("td", { class: `${begins(i)} ${found.best}`, "data-key": key, title: found.title },
          element("span", {}, written(found.value)), element("span", { class: "mark" }, found.mark),
          ...found.notes.map((line) => element("small", {}, line)));
      }));
    }
    showChosen(body);
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

  function heading(label, title, key, attributes = {}) {
    const button = element("button", { type: "button", title }, label);
    const header = element("th", { scope: "col", ...attributes }, button);
    button.addEventListener("click", () => sort(header, key));
    return header;
  }

  const head = element("thead", {},
    element("tr", { class: "kinds" }, element("th"), ...Object.entries(KINDS).flatMap(([kind, title]) => {
      const own = keys.filter((key) => kindOf(key) === kind);
      return own.length ? [element("th", { class: "begins", scope: "colgroup", "data-keys": own.join(" ") }, title)] : [];
    })),
    element("tr", {}, heading("Method", "in the order in which they were given", null),
      ...keys.map((key, i) => heading(`${key} ${direction(key)}`,
        `${report.metrics[key].title}: ${report.metrics[key].says}; ${report.metrics[key].better} is better`,
        key, { class: begins(i), "data-key": key }))));
  body.append(...rows.map(({ row }) => row));
  fill();
  showChosen(head);
  const table = element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption },
    element("table", {}, head, body));
  return { table, fill };
}

function summaryTable(group, keys) {
  const choice = element("select", {}, ...methods.map((name) => element("option", {}, name)));
  const inFull = element("input", { type: "checkbox" });
  const n = group.scenes.length;
  const { table, fill } = scoreTable(`Mean scores on ${group.name}`, keys, methods, (name, key) => {
    const found = group.summary[key][name];
    if (!found) return undefined;
    const test = found.against[choice.value];
    const rank = found.rank === null ? [] : [`rank ${found.rank.toFixed(1)}${found.rank_n < n ? ` on ${found.rank_n}` : ""}`];
    const p = test ? [writtenP(test.p)] : [];
    return {
      value: found.mean,
      best: found.proven ? "best proven" : found.best ? "best" : "",
      mark: test && test.p < report.significant ? (test.better ? "▲" : "▼") : "",
      title: [`mean of ${counted(found.n, "scene")}`, ...rank, ...p.map((text) => `${text} against ${choice.value}`)].join(", "),
      notes: [...(found.n < n ? [`n ${found.n}`] : []), ...(inFull.checked ? [...rank, ...p] : [])],
    };
  });
  choice.addEventListener("change", fill);
  inFull.addEventListener("change", fill);
  const controls = element("p", { class: "controls" },
    element("label", {}, "Tested against ", choice), element("label", {}, inFull, " ranks and p-values"));
  return [controls, table, summaryLegend(n), metricsLegend(keys)];
}

function summaryLegend(n) {
  const leastP = Math.min(methods.length * (methods.length - 1) / 2 ** n, 1);
  return element("p", { class: "muted" },
    `Mean of ${counted(n, "scene")}; the arrow in a heading points to what is good. `,
    element("span", { class: "sample best proven" }, "best"), " and significantly ahead of every other method; ",
    element("span", { class: "sample best" }, "best"), " mean, which may be chance. Methods with fewer scenes (n) are not marked. "
    + `▲ better, ▼ worse than the method chosen above, where p < ${report.significant}: two-sided Wilcoxon signed-rank test on the `
    + "scenes that both have, corrected after Holm for all pairs of methods. Rank: mean of the ranks on the scenes that all methods have."
    + (leastP >= report.significant && methods.length > 1
      ? ` With ${counted(n, "scene")} the p of ${methods.length} methods cannot fall below ${leastP.toPrecision(2)}.` : ""));
}

function metricsLegend(keys) {
  return element("details", { class: "about" }, element("summary", {}, "What the metrics say"),
    element("dl", {}, ...keys.map((key) => element("div", { "data-key": key },
      element("dt", {}, `${key} ${direction(key)}`),
      element("dd", {}, `${report.metrics[key].title}: ${report.metrics[key].says}`)))));
}

// ---- Plots: per metric one strip for each method, one dot for each scene.

// Round numbers within a range: the finest steps that give no more than five.
function ticksWithin(low, high) {
  const power = 10 ** Math.floor(Math.log10((high - low) / 5));
  for (const step of [1, 2, 5, 10, 20].map((factor) => factor * power)) {
    const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
    if (last - first >= 5) continue;
    const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step)
      .map((at) => ({ at, label: at.toFixed(decimals) }));
  }
}

function plot(group, key) {
  const [width, strip, margin, foot] = [320, 30, 14, 18];
  const height = methods.length * strip + foot;
  const scores = group.scenes.flatMap((scene) => Object.values(scene.scores).map((of) => of[key]));
  const finite = scores.filter(Number.isFinite);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  // What is infinite lies at the right rim; equal scores lie in the middle.
  const x = (score) => (score === null ? width - 4
    : high > low ? margin + (width - 2 * margin) * (score - low) / (high - low) : width / 2);
  const ticks = high > low ? ticksWithin(low, high) : finite.length ? [{ at: low, label: written(low) }] : [];
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${key} of every scene, by method` });
  for (const { at, label } of ticks) {
    svg.append(element("line", { x1: x(at), x2: x(at), y1: 0, y2: height - foot + 4 }),
      element("text", { class: "tick", x: x(at), y: height - 2, "text-anchor": "middle" }, label));
  }
  methods.forEach((name, i) => {
    const y = i * strip + 20;
    svg.append(element("text", { x: 0, y: y - 9 }, name),
      element("line", { class: "strip", x1: 0, x2: width, y1: y, y2: y }));
    group.scenes.forEach((scene, j) => {
      const score = scene.scores[name]?.[key];
      if (score === undefined) return;
      svg.append(element("circle", { cx: x(score), cy: y + ((j % 5) - 2) * 1.5, r: 3.5, fill: colourOf(name),
        "data-scene": scene.name }, element("title", {}, `${scene.name}, ${name}: ${written(score)}`)));
    });
    const mean = group.summary[key][name]?.mean;
    if (Number.isFinite(mean)) svg.append(element("line", { class: "mean", x1: x(mean), x2: x(mean), y1: y - 7, y2: y + 7 }));
  });
  return element("figure", { "data-key": key },
    element("figcaption", { title: report.metrics[key].says }, `${key} ${direction(key)}`), svg);
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
  showChosen(shown);
  return shown;
}

// ---- Scenes: their pictures are made when they are opened, and share one place and scale.

function zoomTogether(viewer, toolbar) {
  const state = { scale: 1, left: 0, top: 0 }; // `left`, `top`: the first visible place, as shares of the picture
  const fingers = new Map(); // the pointers that are down, by number: place in the view, as shares of it
  const percent = element("output", { title: "Size of a pixel of the picture, on the screen" });

  // The scale at which a pixel of the picture is one of the screen.
  function trueScale() {
    const image = viewer.querySelector("img");
    return image.getAttribute("width") / (image.closest(".view").getBoundingClientRect().width * devicePixelRatio);
  }

  function show() {
    const largest = 1 - 1 / state.scale;
    // A picture that is smaller than its frame stands in the middle.
    const within = (place) => (largest < 0 ? largest / 2 : Math.min(Math.max(place, 0), largest));
    [state.left, state.top] = [within(state.left), within(state.top)];
    // Every picture takes its place from these three: they cannot fall out of step.
    for (const [name, value] of Object.entries(state)) viewer.style.setProperty(`--${name}`, value);
    const size = state.scale / trueScale();
    percent.textContent = `${Math.round(100 * size)} %`;
    viewer.classList.toggle("zoomed", state.scale > 1);
    viewer.classList.toggle("pixels", size >= 2);
  }

  function zoomTo(wanted, x = 0.5, y = 0.5) {
    const scale = Math.min(Math.max(wanted, Math.min(1, trueScale())), LARGEST_ZOOM);
    state.left += x / state.scale - x / scale;
    state.top += y / state.scale - y / scale;
    state.scale = scale;
    show();
  }

  function zoom(factor, x, y) {
    zoomTo(state.scale * factor, x, y);
  }

  function move(x, y) {
    state.left += x / state.scale;
    state.top += y / state.scale;
    show();
  }

  const viewOf = (event) => event.target.closest(".view");
  function place(event) {
    const box = viewOf(event).getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  }

  viewer.addEventListener("wheel", (event) => {
    // The wheel scrolls the page, unless a click or Ctrl says that the pictures are meant; a touchpad's pinch has Ctrl.
    if (!viewOf(event) || !(event.ctrlKey || document.activeElement === viewer)) return;
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1);
    zoom(2 ** (-pixels / 200), ...place(event));
  }, { passive: false });

  viewer.addEventListener("pointerdown", (event) => {
    const view = viewOf(event);
    if (!view) return;
    fingers.set(event.pointerId, place(event));
    if (state.scale > 1 || fingers.size > 1) view.setPointerCapture(event.pointerId);
  });
  viewer.addEventListener("pointermove", (event) => {
    const view = viewOf(event);
    viewer.classList.toggle("pointed", Boolean(view) && event.pointerType === "mouse");
    if (!view) return;
    const at = place(event);
    viewer.style.setProperty("--at-x", at[0]);
    viewer.style.setProperty("--at-y", at[1]);
    const before = fingers.get(event.pointerId);
    if (!before) return;
    if (fingers.size === 2) {
      const [[, other]] = [...fingers].filter(([number]) => number !== event.pointerId);
      const distance = ([x, y]) => Math.hypot((x - other[0]) * view.clientWidth, (y - other[1]) * view.clientHeight);
      zoom(distance(at) / Math.max(distance(before), 1), (at[0] + other[0]) / 2, (at[1] + other[1]) / 2);
      move((before[0] - at[0]) / 2, (before[1] - at[1]) / 2);
    } else if (state.scale > 1) {
      move(before[0] - at[0], before[1] - at[1]);
    }
    fingers.set(event.pointerId, at);
  });
  for (const end of ["pointerup", "pointercancel"]) viewer.addEventListener(end, (event) => fingers.delete(event.pointerId));
  viewer.addEventListener("pointerleave", () => viewer.classList.remove("pointed"));
  viewer.addEventListener("dblclick", (event) => viewOf(event) && zoomTo(1));
  viewer.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] };
    if (event.target !== viewer || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (event.key === "0") zoomTo(1);
    else if (event.key === "1") zoomTo(trueScale());
    else if (event.key === "Escape") viewer.blur();
    else if (event.key in steps && state.scale > 1) move(...steps[event.key]);
    else return;
    event.preventDefault();
  });

  const button = (label, title, act) => {
    const node = element("button", { type: "button", title, "aria-label": title }, label);
    node.addEventListener("click", act);
    return node;
  };
  toolbar.append(button("−", "Smaller", () => zoom(1 / 1.5)), percent, button("+", "Larger", () => zoom(1.5)),
    button("1:1", "A pixel of the picture on a pixel of the screen", () => zoomTo(trueScale())),
    button("All", "The whole picture", () => zoomTo(1)));
  new ResizeObserver(show).observe(viewer);
  show();
}

function legendOf(kind, scene) {
  if (kind === "labels") {
    const colours = report.label_colours[scene.sources.length];
    return element("p", { class: "legend" }, ...scene.sources.map((file, i) => element("span", {}, swatch(colours[i]), file)));
  }
  if (kind === "error") {
    const scale = element("span", { class: "scale" });
    scale.style.background = `linear-gradient(to right, ${report.error_colours.join()})`;
    return element("p", { class: "legend" }, "absolute difference in grey: 0", scale,
      `${Math.round(255 * report.error_limit)} of 255 and more`
      + (report.crop ? `; outside the frame: the ${report.crop} border pixels that the scores leave out` : ""));
  }
  return "";
}

function pictureFigure(picture, scene, row) {
  const image = element("img", { src: picture.address, width: picture.width, height: picture.height, draggable: false,
    alt: `${scene.name}, ${row.toLowerCase()}: ${picture.title}` });
  const layer = element("div", { class: "layer" }, image);
  if (picture.kind === "error" && report.crop) {
    // The part that is scored, in shares of a picture which may be reduced.
    const frame = element("div", { class: "scored" });
    frame.style.inset = picture.border.map((share) => `${100 * share}%`).join(" ");
    layer.append(frame);
  }
  const caption = picture.method ? label(picture.title) : [picture.title];
  return element("figure", {}, element("div", { class: "view" }, layer), element("figcaption", {}, ...caption));
}

function pictureRows(pictures, scene) {
  const columns = methods.filter((name) => name in scene.scores);
  return Object.entries(ROWS).flatMap(([title, kinds]) => {
    const shown = pictures.filter((picture) => kinds.includes(picture.kind));
    if (!shown.length) return [];
    const heading = shown.some(({ kind }) => kind === "reference") ? "Sources and reference" : title;
    return [element("h4", {}, heading), legendOf(kinds[0], scene), element("div", { class: "row" }, ...shown.map((picture) => {
      const figure = pictureFigure(picture, scene, title);
      // What belongs to a method stands in its column; the reference at the right end, the sources fill the rest.
      if (picture.method) figure.style.gridColumn = columns.indexOf(picture.title) + 1;
      if (picture.kind === "reference") figure.style.gridArea = "1 / -2 / 2 / -1";
      return figure;
    }))];
  });
}

function sceneSection(group, scene, identity, keys) {
  const content = element("div");
  const section = element("details", { id: `scene-${identity}`, class: "scene" }, element("summary", {}, scene.name), content);

  function build() {
    const pictures = JSON.parse(document.getElementById(`pictures-${identity}`).textContent);
    const names = methods.filter((name) => name in scene.scores);
    const toolbar = element("div", { class: "toolbar", role: "toolbar", "aria-label": `Zoom of ${scene.name}` });
    const viewer = element("div", { class: "viewer", tabindex: 0, role: "group",
      "aria-label": `Pictures of ${scene.name}; plus, minus, 0, 1 and arrows zoom and move them together` },
    ...pictureRows(pictures, scene));
    viewer.style.setProperty("--columns", Math.max(names.length, 2 + (scene.reference !== null)));
    const best = (name, key) => !names.some((other) => {
      const [rival, own] = [scene.scores[other][key], scene.scores[name][key]];
      return rival !== undefined && isBetter(key, amount(rival), amount(own));
    });
    const { table } = scoreTable(`Scores on ${scene.name}`, keys, names, (name, key) => {
      const value = scene.scores[name][key];
      return value === undefined ? undefined : { value, best: best(name, key) ? "best" : "", mark: "", title: "", notes: [] };
    });
    content.append(toolbar, viewer, element("h4", {}, "Scores"), table);
    zoomTogether(viewer, toolbar);
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
  const keys = KEYS.filter((key) => key in group.summary);
  group.sections = new Map();
  const sections = group.scenes.map((scene, i) => sceneSection(group, scene, `${index}-${i}`, keys));
  return element("section", { id: `group-${index}` }, element("h2", {}, group.name),
    element("h3", {}, "Scores"), ...summaryTable(group, keys),
    element("h3", {}, "Every scene"), element("p", { class: "muted" },
      "One dot per scene, an upright line at the mean; a click on a dot opens the scene."), plots(group, keys),
    element("h3", {}, "Pictures"), element("p", { class: "muted" },
      "The pictures of a scene go together. Ctrl and wheel zoom, and after a click into them the wheel alone; or + and -, two fingers, "
      + "the buttons. Drag or arrows move; double click or 0 shows all, 1 shows pixel by pixel. "
      + "They are compressed for this page; the exact files are in results/."),
    ...sections);
}

document.getElementById("conditions").append([
  `panfocus ${report.panfocus}.`,
  `Colour is scored in grey (${report.grey}), also against a reference; PSNR_RGB alone compares colours.`,
  report.crop ? `The scores leave ${counted(report.crop, "border pixel")} out.` : "All pixels count in the scores.",
  report.data_range === null ? "" : `White is ${report.data_range}.`,
  report.jpeg === null ? "" : `Every result went through JPEG of quality ${report.jpeg} and is scored as decoded.`,
  ...report.notices,
].join(" "));
if (report.groups.length > 1) {
  document.getElementById("contents").append(...report.groups.map((group, i) =>
    element("a", { href: `#group-${i}` }, `${group.name} (${counted(group.scenes.length, "scene")})`)));
}
document.getElementById("groups").append(...report.groups.map(groupSection));
document.getElementById("metrics").append(metricChooser());
