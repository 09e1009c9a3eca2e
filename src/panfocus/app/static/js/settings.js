// The Fuse button with an estimate; the settings, in forms made of what the server tells of the methods.
import { element, fieldOf, setText } from "./dom.js";
import { createEstimate } from "./estimate.js";
import { formOf } from "./forms.js";

export function mount(root, app) {
  const fuse = element("button", { type: "button", class: "main big", id: "fuse", onclick: start }, "Fuse");
  const estimate = createEstimate(app, () => (fuseable ? chosen : null));
  const method = element("select", {
    id: "method",
    "aria-describedby": "method-summary",
    onchange: () => useMethod(method.value),
  });
  const summary = element("p", { class: "help", id: "method-summary" });
  const fields = element("div", {});
  const options = element("div", {});
  const reset = element(
    "button",
    { type: "button", class: "plain small", onclick: () => fill({}) },
    "Back to the defaults",
  );
  const changed = element("span", { class: "quiet" });
  fuse.setAttribute("aria-describedby", "estimate");
  root.append(
    element("h3", { id: "fuse-title", class: "unseen" }, "Fuse"),
    fuse,
    estimate.line,
    estimate.warnings,
    element(
      "details",
      { class: "more", id: "settings-details" },
      element("summary", {}, "Settings ", changed),
      fieldOf("Method", method, summary),
      fields,
      element("h4", {}, "Frames and result"),
      options,
      reset,
    ),
    estimate.commandLine,
  );

  let chosen = {}; // as POST /api/jobs takes it: only what differs from the defaults
  let fuseable = false;
  let posting = false;

  function useMethod(name) {
    const { dictionary: _, settings: __, ...rest } = chosen;
    const first = app.state.get().methods[0]?.name === name;
    fill(first ? without(rest, "method") : { ...rest, method: name });
  }

  /** Show these options in the forms. */
  function fill(given) {
    chosen = structuredClone(given);
    const { methods, options: known, dictionaries } = app.state.get();
    const current = methods.find((one) => one.name === chosen.method) ?? methods[0];
    method.replaceChildren(...methods.map((one) => element("option", { value: one.name }, one.name)));
    if (!current) return;
    method.value = current.name;
    setText(summary, current.summary);
    fields.replaceChildren(
      ...formOf(
        current.fields,
        dictionaries,
        (field) => (field.kind === "dictionary" ? chosen.dictionary : chosen.settings?.[field.name]),
        (field, value) => {
          if (field.kind === "dictionary") put(chosen, "dictionary", value);
          else {
            chosen.settings ??= {};
            put(chosen.settings, field.name, value);
            if (Object.keys(chosen.settings).length === 0) delete chosen.settings;
          }
          touched();
        },
      ),
    );
    options.replaceChildren(
      ...formOf(
        known,
        dictionaries,
        (field) => chosen[field.name],
        (field, value) => {
          put(chosen, field.name, value);
          touched();
        },
      ),
    );
    touched();
  }

  function touched() {
    const { settings = {}, ...others } = chosen;
    const n = Object.keys(settings).length + Object.keys(others).length;
    setText(changed, n === 0 ? "(defaults)" : `(${n} changed)`);
    estimate.ask();
  }

  function readiness() {
    const stack = app.stack();
    if (!stack) return { text: "", ready: false };
    if (app.state.get().uploads[stack.id] || stack.receiving)
      return { text: "Files are being sent …", ready: false };
    const used = stack.frames.filter((frame) => !frame.excluded && frame.state !== "bad");
    const waiting = used.filter((frame) => frame.state !== "ready").length;
    if (waiting) return { text: `${waiting} of ${used.length} frames are still being read …`, ready: false };
    const n = used.reduce((sum, frame) => sum + (frame.pages || 1), 0);
    if (n < 2) return { text: "A fusion needs at least two frames.", ready: false };
    return { text: null, ready: true };
  }

  async function start() {
    if (root.querySelector(":invalid")) {
      root.querySelector("details").open = true;
      root.querySelector(":invalid").reportValidity();
      return;
    }
    if (posting) return;
    posting = true; // the button is not disabled meanwhile: it would lose the focus
    fuse.setAttribute("aria-busy", "true");
    try {
      const job = await app.api.post("/api/jobs", { stack: app.stack().id, options: chosen });
      app.accept({ kind: "job", job });
      app.select(job.stack, job.id);
      app.announce("The fusion is on its way.");
    } catch (error) {
      app.complain(error);
    } finally {
      posting = false;
      fuse.removeAttribute("aria-busy");
    }
  }

  /** The options that the stack was last fused with, so that a reload or another tab shows the same. */
  function lastOptions() {
    const jobs = app.state
      .get()
      .jobs.filter((job) => job.stack === app.state.get().selected.stack && job.kind === "fuse");
    return jobs.at(-1)?.options ?? {};
  }

  app.useOptions = (given) => {
    fill(given.method ? { ...without(chosen, "settings", "dictionary"), ...given } : { ...chosen, ...given });
    root.querySelector("#settings-details").open = true;
    app.announce("The settings are filled in.");
  };

  let shownFrames = null;
  app.state.on((now, before) => {
    const stackChanged = now.selected.stack !== before.selected.stack;
    if (
      stackChanged ||
      (now.methods !== before.methods && !same(now.methods, before.methods)) ||
      now.loaded !== before.loaded
    )
      fill(lastOptions());
    else if (now.dictionaries !== before.dictionaries && !same(now.dictionaries, before.dictionaries))
      fill(chosen);
    const { text, ready } = readiness();
    fuseable = ready;
    fuse.disabled = !ready;
    if (!ready) {
      estimate.say(text);
      shownFrames = null;
    } else {
      const frames = app.stack().frames.map((frame) => [frame.name, frame.excluded]);
      const known = JSON.stringify([now.selected.stack, frames]);
      if (shownFrames !== known) estimate.ask();
      shownFrames = known;
    }
  });
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function without(object, ...names) {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

function put(object, name, value) {
  if (value === undefined) delete object[name];
  else object[name] = value;
}
