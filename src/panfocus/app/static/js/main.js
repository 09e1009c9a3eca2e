// Puts the page together: the `app` object that all panels share, the choice of stack, job and tool.
import * as api from "./api.js";
import { element, setItems } from "./dom.js";
import { mount as mountFrames } from "./frames.js";
import { mount as mountProgress } from "./progress.js";
import { mount as mountResults } from "./results.js";
import { mountRoom } from "./room.js";
import { mount as mountSettings } from "./settings.js";
import { applyEvent, createState, EMPTY, followEvents, jobToShow } from "./state.js";
import { mount as mountWelcome } from "./welcome.js";

const PANELS = { look: "inspect", retouch: "retouch", relief: "relief", export: "export", learn: "learn" };
const byId = (id) => document.getElementById(id);

const state = createState({ ...EMPTY, selected: selectionInHash() });
const app = {
  api,
  state,
  events: null,
  viewer: null,
  stack: () => state.get().stacks.find((stack) => stack.id === state.get().selected.stack) ?? null,
  job: () => state.get().jobs.find((job) => job.id === state.get().selected.job) ?? null,
  select,
  openTool,
  announce,
  complain,
  loaded: new Promise((resolve) => state.on((now) => now.loaded && resolve())),
  accept: (message) => applyEvent(state, message), // an answer of the server, put where its event would go
  useOptions: () => {}, // the settings panel puts its own here
  unfold: () => {}, // so does what folds the parts beside the picture
};
window.panfocus = app; // for the browser's console and for tests

function selectionInHash() {
  const found = new URLSearchParams(location.hash.slice(1));
  return { stack: found.get("stack"), job: found.get("job") };
}

/** Show a stack, and one of its jobs, by default the one to begin with. Null: the start page. */
function select(stackId, jobId = jobToShow(state.get().jobs, stackId)?.id ?? null) {
  const now = state.get().selected;
  if (now.stack === stackId && now.job === jobId) return;
  state.set({ selected: { stack: stackId, job: jobId } });
  if (now.stack !== stackId) scrollToTop();
  const parts = new URLSearchParams();
  if (stackId) parts.set("stack", stackId);
  if (jobId) parts.set("job", jobId);
  history.replaceState(null, "", parts.size ? `#${parts}` : location.pathname);
}

/** What was scrolled before, such as the start page on a phone, would hide the picture of the stack that opens. */
function scrollToTop() {
  for (const part of [document.scrollingElement, byId("side"), byId("picture-area")]) part.scrollTop = 0;
}

/** Say something to a screen reader, without a change on the page. */
function announce(text) {
  const line = byId("announcer");
  line.textContent = "";
  setTimeout(() => {
    line.textContent = text;
  }, 50); // the same words twice are said twice
}

/** Show an error, or something that must be read, until it is put away. */
function complain(problem) {
  const text = problem?.message ?? String(problem);
  if (problem?.name === "AbortError") return;
  const notices = byId("notices");
  const close = () => {
    const others = [...notices.children].filter((other) => other !== notice);
    setItems(notices, others, byId(app.stack() ? "stack-title" : "welcome-title"));
  };
  const notice = element(
    "div",
    { class: "notice" },
    element("p", {}, text),
    element("button", { type: "button", class: "plain small", onclick: close }, "Close"),
  );
  notices.append(notice);
}

function openTool(name) {
  state.set({ tool: name });
}

/** The tabs as the ARIA practices have them: arrow keys move, one tab stop. */
function mountTabs() {
  const tabs = [...byId("tabs").children];
  for (const tab of tabs) {
    tab.addEventListener("click", () => openTool(tab.dataset.tool));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, Home: -tabs.length, End: tabs.length }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const at = tabs.indexOf(tab);
      const next =
        Math.abs(step) === 1 ? (at + step + tabs.length) % tabs.length : step < 0 ? 0 : tabs.length - 1;
      tabs[next].focus();
      openTool(tabs[next].dataset.tool);
    });
  }
  const draw = () => {
    const { tool } = state.get();
    byId("workspace").dataset.tool = tool;
    for (const tab of tabs) {
      const chosen = tab.dataset.tool === tool;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      byId(`panel-${tab.dataset.tool}`).hidden = !chosen;
    }
  };
  state.on((now, before) => now.tool !== before.tool && draw());
  draw();
}

function mountHead() {
  const choice = byId("stack-select");
  choice.addEventListener("change", () => select(choice.value));
  byId("new-stack").addEventListener("click", () => {
    select(null, null);
    byId("welcome-title")?.focus();
  });
  mountTheme(byId("theme"));
  mountSkip(byId("skip-to-stack"), () => {
    if (!app.stack()) return byId("welcome").querySelector("button");
    app.unfold("side");
    return byId(byId("fuse").disabled ? "stack-title" : "fuse");
  });
  mountSkip(byId("skip-to-picture"), () => app.viewer?.stage);
  state.on((now, before) => {
    if (now.connected !== before.connected || now.fault !== before.fault) {
      byId("offline").hidden = now.connected;
      byId("offline").textContent =
        now.fault || "The server does not answer. This page goes on by itself when it is back.";
    }
    if (now.stacks === before.stacks && now.selected === before.selected && now.loaded === before.loaded)
      return;
    byId("stack-choice").hidden = now.stacks.length === 0;
    byId("new-stack").hidden = now.selected.stack === null;
    const wanted = [["", "Choose a stack"], ...now.stacks.map((stack) => [stack.id, stack.name])];
    if (choice.dataset.shown !== JSON.stringify(wanted)) {
      choice.dataset.shown = JSON.stringify(wanted);
      choice.replaceChildren(...wanted.map(([value, text]) => element("option", { value }, text)));
      choice.firstChild.disabled = true;
    }
    choice.value = now.selected.stack ?? "";
    document.title = app.stack() ? `${app.stack().name} · panfocus` : "panfocus";
  });
}

/** A link past what comes before, for keys; `target()` gets the focus. */
function mountSkip(link, target) {
  link.addEventListener("click", (event) => {
    event.preventDefault(); // the address keeps what is selected
    target()?.focus();
  });
}

/** A button that goes from the system's colours to light and dark ones. */
function mountTheme(button) {
  const themes = { "": ["◐", "those of the system"], light: ["☀", "light"], dark: ["☾", "dark"] };
  const order = Object.keys(themes);
  const root = document.documentElement;
  const draw = () => {
    const [sign, words] = themes[root.dataset.theme ?? ""] ?? themes[""];
    button.textContent = sign;
    button.title = `Colours: ${words}`;
    button.setAttribute("aria-label", `Colours: ${words}. Change`);
  };
  button.addEventListener("click", () => {
    root.dataset.theme = order[(order.indexOf(root.dataset.theme ?? "") + 1) % order.length];
    draw();
    try {
      localStorage.setItem("panfocus-theme", root.dataset.theme);
    } catch {
      // No storage allowed: the choice holds until the page is closed.
    }
  });
  draw();
}

/** Which of the page's parts are seen: the start, or a stack with its picture and tools. */
function mountStage() {
  let shown = null;
  state.on(({ loaded }) => {
    const { selected } = state.get();
    if (!loaded) {
      byId("welcome").hidden = selected.stack !== null; // the start page need not wait for the server
      return;
    }
    if (selected.stack && !app.stack())
      select(null, null); // deleted, here or in another tab
    else if (selected.stack && !app.job()) select(selected.stack);
    const stack = app.stack();
    const job = app.job();
    const done = job?.kind === "fuse" && job.state === "done" && job.result;
    byId("welcome").hidden = stack !== null;
    byId("workspace").hidden = stack === null;
    byId("workspace").dataset.stage = done ? "picture" : job ? "progress" : "none";
    // Until there is something to watch, the frames have the room of the picture.
    const room = byId(job ? "side" : "picture-area");
    if (byId("frames").parentElement !== room) room.append(byId("frames"));
    byId("viewer").hidden = !done;
    byId("tools").hidden = !done;
    for (const part of ["side", "tools"]) byId(`fold-${part}`).hidden = !done;
    byId("skip-to-picture").hidden = !done;
    byId("progress").hidden = Boolean(done);
    if (done && app.viewer && shown !== `${job.id} ${job.ended}`) {
      shown = `${job.id} ${job.ended}`;
      app.viewer.show(job, job.retouch?.n_strokes ? "retouched" : "fused");
    }
  });
}

/** Unfold what a wrong value is in: the browser tells of none that is not seen, and then nothing would happen. */
function mountFaults() {
  const unfold = ({ target }) => {
    for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  };
  document.addEventListener("invalid", unfold, true);
}

/** A panel's module; if it cannot be loaded the panel says so, and the rest of the page works. */
async function mountModule(name, target, start) {
  try {
    await start(await import(`./${name}.js`));
  } catch (error) {
    console.error(error);
    target.append(
      element(
        "p",
        { class: "quiet" },
        `This part of the page could not be loaded (${name}). Reload the page to try again.`,
      ),
    );
  }
}

mountHead();
mountTabs();
mountStage();
mountFaults();
mountRoom(byId("workspace"), app);
mountWelcome(byId("welcome"), app);
mountSettings(byId("settings"), app);
mountFrames(byId("frames"), app);
mountResults(byId("results"), app);
mountProgress(byId("progress"), app);
state.set({});
app.events = followEvents(state);
window.addEventListener("hashchange", async () => {
  await app.events.readAll(); // it may name what this page has not heard of yet
  const { stack, job } = selectionInHash();
  select(stack, job);
});

await mountModule("viewer", byId("viewer"), ({ createViewer }) => {
  app.viewer = createViewer(byId("viewer"), app);
});
for (const [tool, module] of Object.entries(PANELS)) {
  const panel = byId(`panel-${tool}`);
  await new Promise((resolve) => setTimeout(resolve)); // a task for each: none is long
  await mountModule(module, panel, ({ mount }) => mount(panel, app));
}
state.set({}); // the viewer is there now: show what is selected
