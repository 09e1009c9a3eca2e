// The Fuse button with an estimate; the settings, in forms made of what the server tells of the methods.
import { element, fieldOf, setText } from "./dom.js";
import { createEstimate } from "./estimate.js";
import { formOf } from "./forms.js";
import { checkFramesSaved } from "./frame_changes.js";
import { keep, kept } from "./kept.js";
import { jobToShow } from "./state.js";

export function mount(root, app) {
  let fuseable = false;
  let refused = false; // by the estimate
  let shownFrames = null; // those that the estimate is of
  const drawButton = () => {
    fuse.disabled = !fuseable || refused;
  };
  const judged = (now) => {
    refused = now;
    drawButton();
  };
  const estimate = createEstimate(app, () => (fuseable ? forms.chosen() : null), judged);
  const forms = createForms(app, () => estimate.ask());
  const fuse = createFuseButton(root, app, forms);
  root.append(
    element("h3", { id: "fuse-title", class: "unseen" }, "Fuse"),
    fuse,
    estimate.line,
    estimate.warnings,
    forms.details,
    estimate.commandLine,
  );

  app.useOptions = (given) => {
    const chosen = forms.chosen();
    forms.choose({ ...(given.method ? without(chosen, "settings", "dictionary") : chosen), ...given });
    forms.details.open = true;
    app.unfold("side");
    app.announce("The settings are filled in.");
  };

  app.state.on((now, before) => {
    if (needsOtherOptions(now, before)) forms.fill(optionsToShow(app.state.get()));
    else if (now.dictionaries !== before.dictionaries && !same(now.dictionaries, before.dictionaries))
      forms.fill(forms.chosen());
    const hindrance = whyNotFuse(app);
    fuseable = hindrance === null;
    drawButton();
    const frames = fuseable ? framesOf(app.stack()) : null;
    if (!fuseable || now.selected.stack !== before.selected.stack) estimate.say(hindrance ?? "");
    // The first fusion compiles, which those after it need not.
    if (fuseable && (shownFrames !== frames || hasEnded(now.jobs, before.jobs))) estimate.ask();
    shownFrames = frames;
  });
}

/** The button that starts a fusion with what is chosen in the forms. */
function createFuseButton(root, app, forms) {
  const button = element("button", { type: "button", class: "main big", id: "fuse", onclick: start }, "Fuse");
  button.setAttribute("aria-describedby", "estimate");
  let posting = false;

  async function start() {
    const wrong = root.querySelector(":invalid");
    if (wrong) {
      wrong.reportValidity();
      return;
    }
    if (posting) return;
    posting = true; // the button is not disabled meanwhile: it would lose the focus
    button.setAttribute("aria-busy", "true");
    // As they are now: others may be chosen while changes of the frames are on their way.
    const wanted = { stack: app.stack().id, options: structuredClone(forms.chosen()) };
    try {
      await checkFramesSaved();
      const job = await app.api.post("/api/jobs", wanted);
      app.accept({ kind: "job", job });
      if (app.stack()?.id === job.stack) app.select(job.stack, job.id); // else something else is looked at by now
      app.announce("The fusion is on its way.");
    } catch (error) {
      app.complain(error);
    } finally {
      posting = false;
      button.removeAttribute("aria-busy");
    }
  }

  return button;
}

/** The settings, folded; `touched()` is called when what is chosen has changed. */
function createForms(app, touched) {
  const method = element("select", {
    id: "method",
    "aria-describedby": "method-summary",
    onchange: () => useMethod(method.value),
  });
  const summary = element("p", { class: "help", id: "method-summary" });
  const fields = element("div", {});
  const options = element("div", {});
  const changed = element("span", { class: "quiet" });
  const details = element(
    "details",
    { class: "more", id: "settings-details" },
    element("summary", {}, "Settings ", changed),
    fieldOf("Method", method, summary),
    fields,
    element("h4", {}, "Frames and result"),
    options,
    element(
      "button",
      { type: "button", class: "plain small", onclick: () => choose({}) },
      "Back to the defaults",
    ),
  );
  let chosen = {}; // as POST /api/jobs takes it: only what differs from the defaults

  function useMethod(name) {
    const rest = without(chosen, "dictionary", "settings", "method");
    const first = app.state.get().methods[0]?.name === name;
    choose(first ? rest : { ...rest, method: name });
  }

  /** Take these options as the user's own. */
  function choose(given) {
    fill(given);
    remember();
  }

  const remember = () => keep(keyOf(app.state.get().selected.stack), chosen);

  /** Show these options in the forms. */
  function fill(given) {
    chosen = structuredClone(given);
    const { methods, options: known, dictionaries } = app.state.get();
    if (!dictionaries.includes(chosen.dictionary)) delete chosen.dictionary; // it was deleted
    const current = methods.find((one) => one.name === chosen.method) ?? methods[0];
    method.replaceChildren(...methods.map((one) => element("option", { value: one.name }, one.name)));
    if (!current) return;
    method.value = current.name;
    setText(summary, current.summary);
    fields.replaceChildren(...formOf(current.fields, dictionaries, settingOf, thenTell(putSetting)));
    options.replaceChildren(...formOf(known, dictionaries, ({ name }) => chosen[name], thenTell(putOption)));
    tell();
  }

  const settingOf = ({ kind, name }) => (kind === "dictionary" ? chosen.dictionary : chosen.settings?.[name]);
  const putOption = ({ name }, value) => put(chosen, name, value);

  function putSetting({ kind, name }, value) {
    if (kind === "dictionary") {
      put(chosen, "dictionary", value);
      return;
    }
    chosen.settings ??= {};
    put(chosen.settings, name, value);
    if (Object.keys(chosen.settings).length === 0) delete chosen.settings;
  }

  function thenTell(putField) {
    return (field, value) => {
      putField(field, value);
      remember();
      tell();
    };
  }

  function tell() {
    const { settings = {}, ...others } = chosen;
    const n = Object.keys(settings).length + Object.keys(others).length;
    setText(changed, n === 0 ? "(defaults)" : `(${n} changed)`);
    touched();
  }

  return { details, fill, choose, chosen: () => chosen };
}

/** Why the selected stack cannot be fused now; null where it can. */
function whyNotFuse(app) {
  const stack = app.stack();
  if (!stack) return "";
  if (app.state.get().uploads[stack.id] || stack.receiving) return "Files are being sent …";
  const used = stack.frames.filter((frame) => !frame.excluded && frame.state !== "bad");
  const waiting = used.filter((frame) => frame.state !== "ready").length;
  if (waiting) return `${waiting} of ${used.length} frames are still being read …`;
  const n = used.reduce((sum, frame) => sum + (frame.pages || 1), 0);
  return n < 2 ? "A fusion needs at least two frames." : null;
}

/** What an estimate depends on, beside the options. */
function framesOf(stack) {
  return JSON.stringify([stack.id, stack.frames.map((frame) => [frame.key, frame.excluded])]);
}

function needsOtherOptions(now, before) {
  return (
    now.selected.stack !== before.selected.stack ||
    (now.methods !== before.methods && !same(now.methods, before.methods)) ||
    now.loaded !== before.loaded
  );
}

/** What was chosen here for a stack, else the options of the fusion that it opens with, as in any other tab. */
function optionsToShow({ jobs, selected }) {
  return kept(keyOf(selected.stack)) ?? jobToShow(jobs, selected.stack)?.options ?? {};
}

const keyOf = (stackId) => `panfocus-options-${stackId}`;

function hasEnded(jobs, before) {
  const going = new Set(before.filter(isGoing).map(({ id }) => id));
  return jobs.some((job) => going.has(job.id) && !isGoing(job));
}

const isGoing = ({ state }) => state === "queued" || state === "running";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function without(object, ...names) {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

function put(object, name, value) {
  if (value === undefined) delete object[name];
  else object[name] = value;
}
