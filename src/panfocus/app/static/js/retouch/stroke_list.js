/* The strokes as a list: to find one, to delete it, to keep all in a file or to load them from one. */

import { element, setText } from "../dom.js";
import { offer } from "../download.js";

/* `current()` gives the strokes that are shown. */
export function createStrokeList(app, current) {
  const summary = element("summary", {});
  const list = element("ol", { class: "strokes" });
  const clear = button("Delete all", () => {
    if (confirm("Delete all strokes of this picture? Undo brings them back.")) current().change([]);
  });
  const save = button("Save strokes", async () => {
    const strokes = current();
    await strokes.sending;
    offer(URL.createObjectURL(new Blob([JSON.stringify(strokes.file())], { type: "application/json" })), "retouch.json");
  });
  const file = element("input", { type: "file", accept: ".json,application/json", class: "unseen", tabIndex: -1, "aria-label": "File of strokes", onchange: load });
  const details = element("details", { ontoggle: () => drawList() }, summary, list, element("div", { class: "row" }, clear, save, button("Load strokes", () => file.click()), file));
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
      app.complain(`${chosen.name} is no file of strokes: it is not JSON.`);
      return;
    }
    try {
      await current().take(data);
      app.announce("The strokes are loaded.");
    } catch (error) {
      app.complain(`${chosen.name}: ${error.message}`);
    }
  }

  function draw(now, of) {
    strokes = now;
    job = of;
    const n = now?.strokes.length ?? 0;
    setText(summary, `Strokes (${n})`);
    clear.disabled = n === 0;
    save.disabled = n === 0;
    drawList();
  }

  function drawList() {
    if (!details.open || !strokes) return; // there may be thousands
    list.replaceChildren(...strokes.strokes.map((stroke, i) => item(stroke, i)));
  }

  function item(stroke, i) {
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

function button(text, onclick) {
  return element("button", { type: "button", onclick }, text);
}
