// The list of strokes: go to one, delete it; save all to a file or load them.

import { downloadFile, element, setText } from "../dom.js";

/** `getStrokes()` returns the strokes of the shown job. */
export function createStrokeList(app, getStrokes) {
  const summary = element("summary", {});
  const list = element("ol", { class: "strokes" });
  const clear = createButton("Delete all", () => {
    if (confirm("Delete all strokes of this picture? Undo restores them.")) getStrokes().change([]);
  });
  const save = createButton("Save strokes", async () => {
    const strokes = getStrokes();
    await strokes.saving;
    downloadFile(URL.createObjectURL(new Blob([JSON.stringify(strokes.toFile())], { type: "application/json" })), "retouch.json");
  });
  const file = element("input", { type: "file", accept: ".json,application/json", class: "visually-hidden", tabIndex: -1, "aria-label": "Stroke file", onchange: load });
  const details = element("details", { ontoggle: () => drawList() }, summary, list, element("div", { class: "row" }, clear, save, createButton("Load strokes", () => file.click()), file));
  let strokes = null;
  let job = null;

  async function load() {
    const [chosen] = file.files;
    file.value = "";
    if (!chosen) return;
    let data = null;
    try {
      data = JSON.parse(await chosen.text());
    } catch {
      app.showNotice(`${chosen.name}: Not a stroke file (invalid JSON).`);
      return;
    }
    try {
      await getStrokes().loadFile(data);
      app.announce("Strokes loaded.");
    } catch (error) {
      app.showNotice(`${chosen.name}: ${error.message}`);
    }
  }

  function draw(newStrokes, newJob) {
    strokes = newStrokes;
    job = newJob;
    const n = strokes?.strokes.length ?? 0;
    setText(summary, `Strokes (${n})`);
    clear.disabled = n === 0;
    save.disabled = n === 0;
    drawList();
  }

  function drawList() {
    if (!details.open || !strokes) return; // there may be thousands
    list.replaceChildren(...strokes.strokes.map(createItem));
  }

  function createItem(stroke, i) {
    const text = `${i + 1}: frame ${stroke.frame + 1}, ${Math.round(2 * stroke.radius)} pixels`;
    const title = job?.result?.names[stroke.frame] ?? "";
    const remove = () => {
      strokes.change(strokes.strokes.filter((other) => other !== stroke));
      (list.children[Math.min(i, list.children.length - 1)]?.querySelector("button") ?? summary).focus();
    };
    const [row, col] = stroke.points[Math.floor(stroke.points.length / 2)];
    return element(
      "li",
      {},
      element("button", { type: "button", class: "plain grow", title, onclick: () => app.viewer.goTo(row, col) }, text),
      element("button", { type: "button", class: "plain small", "aria-label": `Delete stroke ${i + 1}`, onclick: remove }, "Delete"),
    );
  }

  return { element: details, draw };
}

function createButton(text, onclick) {
  return element("button", { type: "button", onclick }, text);
}
