// The Fuse button with its estimate, and the settings, whose fields the server describes.
import { createField, createSelect, element, setText } from "./dom.js";
import { createEstimate } from "./estimate.js";
import { createFields } from "./forms.js";
import { requireFrameChanges } from "./frame_changes.js";
import { jobToShow } from "./state.js";
import { session } from "./storage.js";

export function mount(root, app) {
  let canFuse = false;
  let isRefused = false; // by the estimate
  let estimatedFrames = null;
  const drawButton = () => {
    fuse.disabled = !canFuse || isRefused;
  };
  const onEstimate = (refused) => {
    isRefused = refused;
    drawButton();
  };
  const estimate = createEstimate(app, () => (canFuse ? forms.options() : null), onEstimate);
  const forms = createForms(app, () => estimate.request());
  const fuse = createFuseButton(root, app, forms);
  root.append(
    element("h3", { id: "fuse-title", class: "visually-hidden" }, "Fuse"),
    fuse,
    estimate.line,
    estimate.warnings,
    forms.details,
    estimate.commandLine,
  );

  app.useOptions = (changes) => {
    const options = forms.options();
    forms.setOptions({ ...(changes.method ? without(options, "settings", "dictionary") : options), ...changes });
    forms.details.open = true;
    app.showPanel("side");
    app.announce("The settings are filled in.");
  };

  app.state.on((now, before) => {
    if (needsOtherOptions(now, before)) forms.fill(optionsToShow(app.state.get()));
    else if (now.dictionaries !== before.dictionaries && !same(now.dictionaries, before.dictionaries))
      forms.fill(forms.options());
    const obstacle = getObstacle(app);
    canFuse = obstacle === null;
    drawButton();
    const frames = canFuse ? summarizeFrames(app.stack()) : null;
    if (!canFuse || now.selected.stack !== before.selected.stack) estimate.showText(obstacle ?? "");
    // After the first fusion, the time for compilation is no longer part of the estimate.
    if (canFuse && (estimatedFrames !== frames || hasEnded(now.jobs, before.jobs))) estimate.request();
    estimatedFrames = frames;
  });
}

/** Create the button that starts a fusion with the options of the forms. */
function createFuseButton(root, app, forms) {
  const button = element("button", { type: "button", class: "main big", id: "fuse", onclick: start }, "Fuse");
  button.setAttribute("aria-describedby", "estimate");
  let isPosting = false;

  async function start() {
    const invalid = root.querySelector(":invalid");
    if (invalid) {
      invalid.reportValidity();
      return;
    }
    if (isPosting) return;
    isPosting = true; // instead of disabling the button, which would lose the focus
    button.setAttribute("aria-busy", "true");
    // A copy, because the user may change options while frame changes are being sent.
    const request = { stack: app.stack().id, options: structuredClone(forms.options()) };
    try {
      await requireFrameChanges();
      const job = await app.api.post("/api/jobs", request);
      app.applyMessage({ kind: "job", job });
      if (app.stack()?.id === job.stack) app.select(job.stack, job.id); // not if another stack was opened meanwhile
      app.announce("The fusion has started.");
    } catch (error) {
      app.showNotice(error);
    } finally {
      isPosting = false;
      button.removeAttribute("aria-busy");
    }
  }

  return button;
}

/** Create the folded settings; `onChange()` is called when an option has changed. */
function createForms(app, onChange) {
  const method = createSelect([], {
    id: "method",
    "aria-describedby": "method-summary",
    onchange: () => setMethod(method.value),
  });
  const summary = element("p", { class: "help", id: "method-summary" });
  const fields = element("div", {});
  const otherFields = element("div", {});
  const count = element("span", { class: "muted" });
  const details = element(
    "details",
    { class: "more", id: "settings-details" },
    element("summary", {}, "Settings ", count),
    createField("Method", method, summary),
    fields,
    element("h4", {}, "Frames and result"),
    otherFields,
    element(
      "button",
      { type: "button", class: "plain small", onclick: () => setOptions({}) },
      "Reset to defaults",
    ),
  );
  let options = {}; // the body of POST /api/jobs: only values that differ from the defaults

  function setMethod(name) {
    const others = without(options, "dictionary", "settings", "method");
    const isDefault = app.state.get().methods[0]?.name === name;
    setOptions(isDefault ? others : { ...others, method: name });
  }

  /** Show these options and remember them for the stack. */
  function setOptions(newOptions) {
    fill(newOptions);
    remember();
  }

  const remember = () => session.write(storageKey(app.state.get().selected.stack), options);

  /** Show these options in the forms. */
  function fill(newOptions) {
    options = structuredClone(newOptions);
    const { methods, options: otherOptions, dictionaries } = app.state.get();
    if (!dictionaries.includes(options.dictionary)) delete options.dictionary; // it was deleted
    const current = methods.find(({ name }) => name === options.method) ?? methods[0];
    method.replaceChildren(...createSelect(methods.map(({ name }) => [name, name])).children);
    if (!current) return;
    method.value = current.name;
    setText(summary, current.summary);
    fields.replaceChildren(...createFields(current.fields, dictionaries, getSetting, updating(setSetting)));
    const getOption = ({ name }) => options[name];
    otherFields.replaceChildren(...createFields(otherOptions, dictionaries, getOption, updating(setOption)));
    update();
  }

  const getSetting = ({ kind, name }) => (kind === "dictionary" ? options.dictionary : options.settings?.[name]);
  const setOption = ({ name }, value) => setOrDelete(options, name, value);

  function setSetting({ kind, name }, value) {
    if (kind === "dictionary") {
      setOrDelete(options, "dictionary", value);
      return;
    }
    options.settings ??= {};
    setOrDelete(options.settings, name, value);
    if (Object.keys(options.settings).length === 0) delete options.settings;
  }

  function updating(setField) {
    return (field, value) => {
      setField(field, value);
      remember();
      update();
    };
  }

  function update() {
    const { settings = {}, ...others } = options;
    const n = Object.keys(settings).length + Object.keys(others).length;
    setText(count, n === 0 ? "(defaults)" : `(${n} changed)`);
    onChange();
  }

  return { details, fill, setOptions, options: () => options };
}

/** Return why the selected stack cannot be fused now, or null if it can. */
function getObstacle(app) {
  const stack = app.stack();
  if (!stack) return "";
  if (app.state.get().uploads[stack.id] || stack.receiving) return "Uploading files …";
  const used = stack.frames.filter((frame) => !frame.excluded && frame.state !== "bad");
  const waiting = used.filter((frame) => frame.state !== "ready").length;
  if (waiting) return `Reading frames: ${waiting} of ${used.length} left …`;
  const n = used.reduce((sum, frame) => sum + (frame.pages || 1), 0);
  return n < 2 ? "A fusion needs at least two frames." : null;
}

/** Return a text that changes whenever the frames to fuse change. */
function summarizeFrames(stack) {
  return JSON.stringify([stack.id, stack.frames.map((frame) => [frame.key, frame.excluded])]);
}

function needsOtherOptions(now, before) {
  return (
    now.selected.stack !== before.selected.stack ||
    (now.methods !== before.methods && !same(now.methods, before.methods)) ||
    now.loaded !== before.loaded
  );
}

/** Return the options chosen in this tab for a stack, else the options of its current fusion. */
function optionsToShow({ jobs, selected }) {
  return session.read(storageKey(selected.stack)) ?? jobToShow(jobs, selected.stack)?.options ?? {};
}

const storageKey = (stackId) => `panfocus-options-${stackId}`;

function hasEnded(jobs, before) {
  const active = new Set(before.filter(isActive).map(({ id }) => id));
  return jobs.some((job) => active.has(job.id) && !isActive(job));
}

const isActive = ({ state }) => state === "queued" || state === "running";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function without(object, ...names) {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

function setOrDelete(object, name, value) {
  if (value === undefined) delete object[name];
  else object[name] = value;
}
