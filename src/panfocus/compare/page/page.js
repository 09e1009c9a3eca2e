"use strict";
// Draws the page from the data embedded in it. All numbers are computed in Python; nothing is fetched.

const report = JSON.parse(document.getElementById("report").textContent);
const methods = Object.keys(report.methods);
// In the order of the columns.
const KINDS = { reference: "with reference", depth: "with true depth", sources: "with sources", single: "result only", time: "time" };
const KEYS = Object.keys(report.metrics).sort((a, b) => kindIndex(a) - kindIndex(b));
// Shown at first if there are more than MANY metrics.
const MAIN_METRICS = ["SSIM", "PSNR", "PSNR_RGB", "MSE", "QABF", "NMI", "QCB", "label_error", "depth_error", "far_share", "s/MP"];
const MANY = 8;
// Headings of a scene, and the kinds of pictures below each.
const ROWS = {
  Sources: ["source", "reference"],
  Results: ["result"],
  "Decision maps": ["labels"],
  "Error against the reference": ["error"],
};
const MAX_ZOOM = 64;

const numberFormat = new Intl.NumberFormat("en", {
  minimumSignificantDigits: 4, maximumSignificantDigits: 4, useGrouping: false,
});
// A score of null is infinite, which JSON cannot express.
const toNumber = (score) => (score === null ? Infinity : score);
const formatScore = (score) => (score === null ? "∞" : numberFormat.format(score));
const formatP = (p) => (p < 0.001 ? "p < 0.001" : `p ${p.toPrecision(2)}`);
const countText = (n, thing) => `${n} ${thing}${n === 1 ? "" : "s"}`;
const colourOf = (method) => report.method_colours[methods.indexOf(method) % report.method_colours.length];

function kindIndex(key) {
  return Object.keys(KINDS).indexOf(report.metrics[key].kind);
}

function element(name, attributes = {}, ...children) {
  const isSvg = ["svg", "line", "circle", "text", "title"].includes(name);
  const node = isSvg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function arrow(key) {
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

/** Return the swatch and name of a method; a line may break after a colon, which separates settings. */
function methodLabel(method) {
  const parts = method.split(/(?<=:)/).flatMap((part) => [part, element("wbr")]);
  return [swatch(colourOf(method)), ...parts];
}

// ---- The selected metrics, for all tables and plots. Elements of a metric have its key as data-key.

const selectedKeys = new Set(KEYS.length > MANY ? KEYS.filter((key) => MAIN_METRICS.includes(key)) : KEYS);
if (!selectedKeys.size) KEYS.slice(0, MANY).forEach((key) => selectedKeys.add(key));

function showSelected(root) {
  for (const node of root.querySelectorAll("[data-key]")) node.hidden = !selectedKeys.has(node.dataset.key);
  for (const head of root.querySelectorAll("[data-keys]")) {
    const shown = head.dataset.keys.split(" ").filter((key) => selectedKeys.has(key)).length;
    head.hidden = !shown;
    head.colSpan = shown || 1;
  }
}

function createMetricSelection() {
  const summary = element("summary");
  const boxes = KEYS.map((key) => {
    const box = element("input", { type: "checkbox", value: key });
    box.addEventListener("change", () => select(box.checked ? [...selectedKeys, key] : [...selectedKeys].filter((other) => other !== key)));
    return box;
  });

  function select(keys) {
    selectedKeys.clear();
    for (const key of keys) selectedKeys.add(key);
    for (const box of boxes) box.checked = selectedKeys.has(box.value);
    summary.textContent = `Metrics: ${selectedKeys.size} of ${KEYS.length} shown`;
    showSelected(document);
  }

  const groups = Object.entries(KINDS).flatMap(([kind, title]) => {
    const keys = KEYS.filter((key) => report.metrics[key].kind === kind);
    if (!keys.length) return [];
    const all = element("button", { type: "button" }, title);
    // A click on a kind shows all its metrics, or hides them if all were shown.
    all.addEventListener("click", () => {
      const others = [...selectedKeys].filter((key) => !keys.includes(key));
      select(keys.every((key) => selectedKeys.has(key)) ? others : [...others, ...keys]);
    });
    return [element("div", { role: "group", "aria-label": title }, all, ...keys.map((key) =>
      element("label", { title: report.metrics[key].title }, boxes[KEYS.indexOf(key)], ` ${key}`)))];
  });
  select([...selectedKeys]);
  return element("details", { class: "metric-selection" }, summary, element("div", {}, ...groups));
}

// ---- Tables: one row per method, one column per metric. `cell(method, key)` returns undefined or
// {value, best, mark, title, notes}; `best` is "", "best" or "best proven".

function scoreTable(caption, keys, names, cell) {
  const body = element("tbody");
  const rows = names.map((name) => {
    const row = element("tr", {}, element("th", { scope: "row", title: report.methods[name] }, ...methodLabel(name)));
    return { name, row };
  });
  const kindOf = (key) => report.metrics[key].kind;
  const groupClass = (i) => (i === 0 || kindOf(keys[i]) !== kindOf(keys[i - 1]) ? "begins" : "");

  function fill() {
    for (const { name, row } of rows) {
      row.replaceChildren(row.firstChild, ...keys.map((key, i) => {
        const content = cell(name, key);
        if (!content) return element("td", { class: groupClass(i), "data-key": key }, "–");
        return element("td", { class: `${groupClass(i)} ${content.best}`, "data-key": key, title: content.title },
          element("span", {}, formatScore(content.value)), element("span", { class: "mark" }, content.mark),
          ...content.notes.map((line) => element("small", {}, line)));
      }));
    }
    showSelected(body);
  }

  function sort(header, key) {
    // The first click sorts the best first, the next one the worst.
    const descending = report.metrics[key]?.better === "larger";
    const first = descending ? "descending" : "ascending";
    const order = header.ariaSort === first ? (descending ? "ascending" : "descending") : first;
    for (const other of head.querySelectorAll("th")) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const sortValue = ({ name }) => {
      if (!key) return methods.indexOf(name);
      const content = cell(name, key);
      return content && toNumber(content.value);
    };
    const sorted = rows.toSorted((a, b) => {
      const [x, y] = [sortValue(a), sortValue(b)];
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined); // methods without a score are last
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
      const kindKeys = keys.filter((key) => kindOf(key) === kind);
      return kindKeys.length ? [element("th", { class: "begins", scope: "colgroup", "data-keys": kindKeys.join(" ") }, title)] : [];
    })),
    element("tr", {}, heading("Method", "in the order of the command", null),
      ...keys.map((key, i) => heading(`${key} ${arrow(key)}`,
        `${report.metrics[key].title}: ${report.metrics[key].says}; ${report.metrics[key].better} is better`,
        key, { class: groupClass(i), "data-key": key }))));
  body.append(...rows.map(({ row }) => row));
  fill();
  showSelected(head);
  const table = element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption },
    element("table", {}, head, body));
  return { table, fill };
}

function summaryTable(group, keys) {
  const baseline = element("select", {}, ...methods.map((name) => element("option", {}, name)));
  const showDetails = element("input", { type: "checkbox" });
  const n = group.scenes.length;
  const { table, fill } = scoreTable(`Mean scores on ${group.name}`, keys, methods, (name, key) => {
    const summary = group.summary[key][name];
    if (!summary) return undefined;
    const test = summary.against[baseline.value];
    const rank = summary.rank === null ? [] : [`rank ${summary.rank.toFixed(1)}${summary.rank_n < n ? ` on ${summary.rank_n}` : ""}`];
    const p = test ? [formatP(test.p)] : [];
    return {
      value: summary.mean,
      best: summary.proven ? "best proven" : summary.best ? "best" : "",
      mark: test && test.p < report.significant ? (test.better ? "▲" : "▼") : "",
      title: [`mean of ${countText(summary.n, "scene")}`, ...rank, ...p.map((text) => `${text} against ${baseline.value}`)].join(", "),
      notes: [...(summary.n < n ? [`n ${summary.n}`] : []), ...(showDetails.checked ? [...rank, ...p] : [])],
    };
  });
  baseline.addEventListener("change", fill);
  showDetails.addEventListener("change", fill);
  const controls = element("p", { class: "controls" },
    element("label", {}, "Compare with ", baseline), element("label", {}, showDetails, " ranks and p-values"));
  return [controls, table, createSummaryLegend(n), createMetricsLegend(keys)];
}

function createSummaryLegend(n) {
  const minP = Math.min(methods.length * (methods.length - 1) / 2 ** n, 1);
  return element("p", { class: "muted" },
    `Mean of ${countText(n, "scene")}. Arrows in headings: ↑ larger is better, ↓ smaller is better. `,
    element("span", { class: "sample best proven" }, "best"), ": significantly better than every other method; ",
    element("span", { class: "sample best" }, "best"), ": best mean, not significant. Methods with fewer scenes (n) are not marked. "
    + `▲ better, ▼ worse than the method selected above, with p < ${report.significant}: two-sided Wilcoxon signed-rank test on the `
    + "common scenes, Holm-corrected for all pairs of methods. Rank: mean rank on the scenes that all methods have."
    + (minP >= report.significant && methods.length > 1
      ? ` With ${countText(n, "scene")} and ${methods.length} methods, p is at least ${minP.toPrecision(2)}.` : ""));
}

function createMetricsLegend(keys) {
  return element("details", { class: "about" }, element("summary", {}, "Metrics explained"),
    element("dl", {}, ...keys.map((key) => element("div", { "data-key": key },
      element("dt", {}, `${key} ${arrow(key)}`),
      element("dd", {}, `${report.metrics[key].title}: ${report.metrics[key].says}`)))));
}

// ---- Plots: for each metric a strip per method with a dot per scene.

/** Return at most five round numbers within a range, with the finest possible step. */
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

function createPlot(group, key) {
  const [width, strip, margin, foot] = [320, 30, 14, 18];
  const height = methods.length * strip + foot;
  const scores = group.scenes.flatMap((scene) => Object.values(scene.scores).map((of) => of[key]));
  const finite = scores.filter(Number.isFinite);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  // Infinite scores are at the right edge; equal scores are in the middle.
  const x = (score) => (score === null ? width - 4
    : high > low ? margin + (width - 2 * margin) * (score - low) / (high - low) : width / 2);
  const ticks = high > low ? ticksWithin(low, high) : finite.length ? [{ at: low, label: formatScore(low) }] : [];
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
        "data-scene": scene.name }, element("title", {}, `${scene.name}, ${name}: ${formatScore(score)}`)));
    });
    const mean = group.summary[key][name]?.mean;
    if (Number.isFinite(mean)) svg.append(element("line", { class: "mean", x1: x(mean), x2: x(mean), y1: y - 7, y2: y + 7 }));
  });
  return element("figure", { "data-key": key },
    element("figcaption", { title: report.metrics[key].says }, `${key} ${arrow(key)}`), svg);
}

function createPlots(group, keys) {
  const figures = element("div", { class: "plots" }, ...keys.map((key) => createPlot(group, key)));
  const sameScene = (dot) => figures.querySelectorAll(`[data-scene="${CSS.escape(dot.dataset.scene)}"]`);
  const highlight = (isHighlighted) => ({ target }) => {
    if (target.dataset.scene) for (const dot of sameScene(target)) dot.classList.toggle("same", isHighlighted);
  };
  figures.addEventListener("pointerover", highlight(true));
  figures.addEventListener("pointerout", highlight(false));
  figures.addEventListener("click", ({ target }) => {
    const scene = target.dataset.scene && group.sections.get(target.dataset.scene);
    if (!scene) return;
    scene.open = true;
    scene.scrollIntoView();
  });
  showSelected(figures);
  return figures;
}

// ---- Scenes: pictures are created when a scene is opened; they zoom and move together.

function synchronizeZoom(viewer, toolbar) {
  const state = { scale: 1, left: 0, top: 0 }; // `left`, `top`: top left corner of the view, as fractions of the picture
  const pointers = new Map(); // pressed pointers, by id: position as fractions of the view
  const percent = element("output", { title: "Zoom" });

  /** Return the scale of 100 %: one pixel of the picture per screen pixel. */
  function actualScale() {
    const image = viewer.querySelector("img");
    return image.getAttribute("width") / (image.closest(".view").getBoundingClientRect().width * devicePixelRatio);
  }

  function show() {
    const max = 1 - 1 / state.scale;
    // A picture smaller than its frame is centred.
    const clamp = (offset) => (max < 0 ? max / 2 : Math.min(Math.max(offset, 0), max));
    [state.left, state.top] = [clamp(state.left), clamp(state.top)];
    // All pictures use these three variables in CSS.
    for (const [name, value] of Object.entries(state)) viewer.style.setProperty(`--${name}`, value);
    const size = state.scale / actualScale();
    percent.textContent = `${Math.round(100 * size)} %`;
    viewer.classList.toggle("zoomed", state.scale > 1);
    viewer.classList.toggle("pixels", size >= 2);
  }

  function zoomTo(newScale, x = 0.5, y = 0.5) {
    const scale = Math.min(Math.max(newScale, Math.min(1, actualScale())), MAX_ZOOM);
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

  const getView = (event) => event.target.closest(".view");
  function getPosition(event) {
    const box = getView(event).getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  }

  viewer.addEventListener("wheel", (event) => {
    // The wheel zooms only after a click on a picture or with Ctrl (also set by a pinch); otherwise it scrolls the page.
    if (!getView(event) || !(event.ctrlKey || document.activeElement === viewer)) return;
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1);
    zoom(2 ** (-pixels / 200), ...getPosition(event));
  }, { passive: false });

  viewer.addEventListener("pointerdown", (event) => {
    const view = getView(event);
    if (!view) return;
    pointers.set(event.pointerId, getPosition(event));
    if (state.scale > 1 || pointers.size > 1) view.setPointerCapture(event.pointerId);
  });
  viewer.addEventListener("pointermove", (event) => {
    const view = getView(event);
    viewer.classList.toggle("pointed", Boolean(view) && event.pointerType === "mouse");
    if (!view) return;
    const at = getPosition(event);
    viewer.style.setProperty("--at-x", at[0]);
    viewer.style.setProperty("--at-y", at[1]);
    const before = pointers.get(event.pointerId);
    if (!before) return;
    if (pointers.size === 2) {
      const [[, other]] = [...pointers].filter(([number]) => number !== event.pointerId);
      const distance = ([x, y]) => Math.hypot((x - other[0]) * view.clientWidth, (y - other[1]) * view.clientHeight);
      zoom(distance(at) / Math.max(distance(before), 1), (at[0] + other[0]) / 2, (at[1] + other[1]) / 2);
      move((before[0] - at[0]) / 2, (before[1] - at[1]) / 2);
    } else if (state.scale > 1) {
      move(before[0] - at[0], before[1] - at[1]);
    }
    pointers.set(event.pointerId, at);
  });
  for (const end of ["pointerup", "pointercancel"]) viewer.addEventListener(end, (event) => pointers.delete(event.pointerId));
  viewer.addEventListener("pointerleave", () => viewer.classList.remove("pointed"));
  viewer.addEventListener("dblclick", (event) => getView(event) && zoomTo(1));
  viewer.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] };
    if (event.target !== viewer || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (event.key === "0") zoomTo(1);
    else if (event.key === "1") zoomTo(actualScale());
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
  toolbar.append(button("−", "Zoom out", () => zoom(1 / 1.5)), percent, button("+", "Zoom in", () => zoom(1.5)),
    button("1:1", "100 %", () => zoomTo(actualScale())),
    button("Fit", "Fit the picture", () => zoomTo(1)));
  new ResizeObserver(show).observe(viewer);
  show();
}

function createLegend(kind, scene) {
  if (kind === "labels") {
    const colours = report.label_colours[scene.sources.length];
    return element("p", { class: "legend" }, ...scene.sources.map((file, i) => element("span", {}, swatch(colours[i]), file)));
  }
  if (kind === "error") {
    const scale = element("span", { class: "scale" });
    scale.style.background = `linear-gradient(to right, ${report.error_colours.join()})`;
    return element("p", { class: "legend" }, "absolute grey difference: 0", scale,
      `${Math.round(255 * report.error_limit)} of 255 or more`
      + (report.crop ? `; outside the frame: the ${report.crop} border pixels that are not scored` : ""));
  }
  return "";
}

function createFigure(picture, scene, row) {
  const image = element("img", { src: picture.address, width: picture.width, height: picture.height, draggable: false,
    alt: `${scene.name}, ${row.toLowerCase()}: ${picture.title}` });
  const layer = element("div", { class: "layer" }, image);
  if (picture.kind === "error" && report.crop) {
    // The scored part, as fractions, because the picture may be reduced.
    const frame = element("div", { class: "scored" });
    frame.style.inset = picture.border.map((share) => `${100 * share}%`).join(" ");
    layer.append(frame);
  }
  const caption = picture.method ? methodLabel(picture.title) : [picture.title];
  return element("figure", {}, element("div", { class: "view" }, layer), element("figcaption", {}, ...caption));
}

function createRows(pictures, scene) {
  const columns = methods.filter((name) => name in scene.scores);
  return Object.entries(ROWS).flatMap(([title, kinds]) => {
    const shown = pictures.filter((picture) => kinds.includes(picture.kind));
    if (!shown.length) return [];
    const heading = shown.some(({ kind }) => kind === "reference") ? "Sources and reference" : title;
    return [element("h4", {}, heading), createLegend(kinds[0], scene), element("div", { class: "row" }, ...shown.map((picture) => {
      const figure = createFigure(picture, scene, title);
      // Each method has a column; the reference is in the last one, the sources are in the others.
      if (picture.method) figure.style.gridColumn = columns.indexOf(picture.title) + 1;
      if (picture.kind === "reference") figure.style.gridArea = "1 / -2 / 2 / -1";
      return figure;
    }))];
  });
}

function createScene(group, scene, identity, keys) {
  const content = element("div");
  const section = element("details", { id: `scene-${identity}`, class: "scene" }, element("summary", {}, scene.name), content);

  function build() {
    const pictures = JSON.parse(document.getElementById(`pictures-${identity}`).textContent);
    const names = methods.filter((name) => name in scene.scores);
    const toolbar = element("div", { class: "toolbar", role: "toolbar", "aria-label": `Zoom of ${scene.name}` });
    const viewer = element("div", { class: "viewer", tabindex: 0, role: "group",
      "aria-label": `Pictures of ${scene.name}. Plus, minus, 0, 1 and arrow keys zoom and move them together` },
    ...createRows(pictures, scene));
    viewer.style.setProperty("--columns", Math.max(names.length, 2 + (scene.reference !== null)));
    const isBest = (name, key) => !names.some((other) => {
      const [otherScore, ownScore] = [scene.scores[other][key], scene.scores[name][key]];
      return otherScore !== undefined && isBetter(key, toNumber(otherScore), toNumber(ownScore));
    });
    const { table } = scoreTable(`Scores on ${scene.name}`, keys, names, (name, key) => {
      const value = scene.scores[name][key];
      return value === undefined ? undefined : { value, best: isBest(name, key) ? "best" : "", mark: "", title: "", notes: [] };
    });
    content.append(toolbar, viewer, element("h4", {}, "Scores"), table);
    synchronizeZoom(viewer, toolbar);
  }

  section.addEventListener("toggle", () => {
    if (!section.open || content.hasChildNodes()) return;
    // The pictures are at the end of a long file, which may still be loading.
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", build, { once: true });
    else build();
  });
  group.sections.set(scene.name, section);
  return section;
}

// ---- The page.

function createGroup(group, index) {
  const keys = KEYS.filter((key) => key in group.summary);
  group.sections = new Map();
  const sections = group.scenes.map((scene, i) => createScene(group, scene, `${index}-${i}`, keys));
  return element("section", { id: `group-${index}` }, element("h2", {}, group.name),
    element("h3", {}, "Scores"), ...summaryTable(group, keys),
    element("h3", {}, "Every scene"), element("p", { class: "muted" },
      "One dot per scene; the vertical line is the mean. Click a dot to open its scene."), createPlots(group, keys),
    element("h3", {}, "Pictures"), element("p", { class: "muted" },
      "The pictures of a scene zoom and move together. Zoom: Ctrl + wheel, + and -, two fingers or the buttons; after a click on a "
      + "picture, the wheel alone. Move: drag or arrow keys. Fit: double click or 0. 100 %: 1. "
      + "The pictures on this page are compressed; the exact files are in results/."),
    ...sections);
}

document.getElementById("conditions").append([
  `panfocus ${report.panfocus}.`,
  `Colour images are scored in grey (${report.grey}), except by PSNR_RGB.`,
  report.crop ? `${countText(report.crop, "border pixel")} on each side are not scored.` : "All pixels are scored.",
  report.data_range === null ? "" : `White is ${report.data_range}.`,
  report.jpeg === null ? "" : `Results are scored after JPEG compression of quality ${report.jpeg}.`,
  ...report.notices,
].join(" "));
if (report.groups.length > 1) {
  document.getElementById("contents").append(...report.groups.map((group, i) =>
    element("a", { href: `#group-${i}` }, `${group.name} (${countText(group.scenes.length, "scene")})`)));
}
document.getElementById("groups").append(...report.groups.map(createGroup));
document.getElementById("metrics").append(createMetricSelection());
