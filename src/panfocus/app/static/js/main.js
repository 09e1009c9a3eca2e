// Assembles the page: the `app` object that all panels share, and the selection of stack, job and tool.
import * as api from "./api.js";
import { createSelect, element, setItems } from "./dom.js";
import { mount as mountFrames } from "./frames.js";
import { mount as mountProgress } from "./progress.js";
import { mount as mountResults } from "./results.js";
import { mount as mountSettings } from "./settings.js";
import { mountSidePanels } from "./side_panels.js";
import { applyEvent, createState, EMPTY, followEvents, jobToShow } from "./state.js";
import { local } from "./storage.js";
import { mount as mountWelcome } from "./welcome.js";

const TOOLS = ["inspect", "retouch", "relief", "export", "learn"]; // and the names of their modules
const THEMES = { "": ["◐", "system"], light: ["☀", "light"], dark: ["☾", "dark"] }; // symbol and name
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
  showNotice,
  loaded: new Promise((resolve) => state.on((now) => now.loaded && resolve())),
  applyMessage: (message) => applyEvent(state, message), // a response, before its event comes
  useOptions: () => {}, // set by the settings panel
  showPanel: () => {}, // set by side_panels.js
};
window.panfocus = app; // for the browser's console and for tests

function selectionInHash() {
  const parts = new URLSearchParams(location.hash.slice(1));
  return { stack: parts.get("stack"), job: parts.get("job") };
}

/** Show a stack and one of its jobs, by default the one of `jobToShow`; null shows the start page. */
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

/** Scroll to the top, where the picture of a newly opened stack is. */
function scrollToTop() {
  for (const part of [document.scrollingElement, byId("side"), byId("picture-area")]) part.scrollTop = 0;
}

/** Announce a text to screen readers, without a visible change. */
function announce(text) {
  const line = byId("announcer");
  line.textContent = "";
  setTimeout(() => {
    line.textContent = text;
  }, 50); // so that a repeated text is announced again
}

/** Show an error, or a text that must be read, until it is closed. */
function showNotice(problem) {
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

/** Connect the tabs by the ARIA practices: arrow keys move, one tab stop. */
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
      const isSelected = tab.dataset.tool === tool;
      tab.setAttribute("aria-selected", String(isSelected));
      tab.tabIndex = isSelected ? 0 : -1;
      byId(`panel-${tab.dataset.tool}`).hidden = !isSelected;
    }
  };
  state.on((now, before) => now.tool !== before.tool && draw());
  draw();
}

function mountHeader() {
  const stacks = byId("stack-select");
  stacks.addEventListener("change", () => select(stacks.value));
  byId("new-stack").addEventListener("click", () => {
    select(null, null);
    byId("welcome-title")?.focus();
  });
  mountTheme(byId("theme"));
  mountSkipLink(byId("skip-to-stack"), () => {
    if (!app.stack()) return byId("welcome").querySelector("button");
    app.showPanel("side");
    return byId(byId("fuse").disabled ? "stack-title" : "fuse");
  });
  mountSkipLink(byId("skip-to-picture"), () => app.viewer?.stage);
  state.on((now, before) => {
    if (now.connected !== before.connected || now.connectionError !== before.connectionError) {
      byId("offline").hidden = now.connected;
      byId("offline").textContent =
        now.connectionError || "The server does not respond. This page reconnects automatically.";
    }
    if (now.stacks === before.stacks && now.selected === before.selected && now.loaded === before.loaded)
      return;
    byId("stack-field").hidden = now.stacks.length === 0;
    byId("new-stack").hidden = now.selected.stack === null;
    const wanted = [["", "Choose a stack"], ...now.stacks.map((stack) => [stack.id, stack.name])];
    if (stacks.dataset.shown !== JSON.stringify(wanted)) {
      stacks.dataset.shown = JSON.stringify(wanted);
      stacks.replaceChildren(...createSelect(wanted).children);
      stacks.firstChild.disabled = true;
    }
    stacks.value = now.selected.stack ?? "";
    document.title = app.stack() ? `${app.stack().name} · panfocus` : "panfocus";
  });
}

/** Connect a skip link: it focuses the element that `target()` returns. */
function mountSkipLink(link, target) {
  link.addEventListener("click", (event) => {
    event.preventDefault(); // the hash holds the selection
    target()?.focus();
  });
}

/** Connect the button that switches between the colours of the system, light and dark. */
function mountTheme(button) {
  const order = Object.keys(THEMES);
  const root = document.documentElement;
  const draw = () => {
    const [symbol, name] = THEMES[root.dataset.theme ?? ""] ?? THEMES[""];
    button.textContent = symbol;
    button.title = `Theme: ${name}`;
    button.setAttribute("aria-label", `Change theme (now: ${name})`);
  };
  button.addEventListener("click", () => {
    root.dataset.theme = order[(order.indexOf(root.dataset.theme ?? "") + 1) % order.length];
    draw();
    local.write("panfocus-theme", root.dataset.theme);
  });
  draw();
}

/** Show the start page, or a stack with its picture and tools. */
function mountStage() {
  let shown = null;
  state.on(({ loaded }) => {
    const { selected } = state.get();
    if (!loaded) {
      byId("welcome").hidden = selected.stack !== null; // the start page does not wait for the server
      return;
    }
    if (selected.stack && !app.stack())
      select(null, null); // it was deleted, here or in another tab
    else if (selected.stack && !app.job()) select(selected.stack);
    const stack = app.stack();
    const job = app.job();
    const done = job?.kind === "fuse" && job.state === "done" && job.result;
    byId("welcome").hidden = stack !== null;
    byId("workspace").hidden = stack === null;
    byId("workspace").dataset.stage = done ? "picture" : job ? "progress" : "none";
    // Before the first job, the frames take the space of the picture.
    const parent = byId(job ? "side" : "picture-area");
    if (byId("frames").parentElement !== parent) parent.append(byId("frames"));
    byId("viewer").hidden = !done;
    byId("tools").hidden = !done;
    for (const panel of ["side", "tools"]) byId(`fold-${panel}`).hidden = !done;
    byId("skip-to-picture").hidden = !done;
    byId("progress").hidden = Boolean(done);
    if (done && app.viewer && shown !== `${job.id} ${job.ended}`) {
      shown = `${job.id} ${job.ended}`;
      app.viewer.show(job, job.retouch?.n_strokes ? "retouched" : "fused");
    }
  });
}

/** Unfold the part with an invalid value: the browser shows its message only beside a visible input. */
function mountValidation() {
  const unfold = ({ target }) => {
    for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  };
  document.addEventListener("invalid", unfold, true);
}

/** Load and start the module of a panel. If this fails, the panel shows it and the rest of the page works. */
async function mountModule(name, target, start) {
  try {
    await start(await import(`./${name}.js`));
  } catch (error) {
    console.error(error);
    target.append(
      element(
        "p",
        { class: "muted" },
        `Cannot load this part of the page (${name}). Reload the page to try again.`,
      ),
    );
  }
}

mountHeader();
mountTabs();
mountStage();
mountValidation();
mountSidePanels(byId("workspace"), app);
mountWelcome(byId("welcome"), app);
mountSettings(byId("settings"), app);
mountFrames(byId("frames"), app);
mountResults(byId("results"), app);
mountProgress(byId("progress"), app);
state.set({});
app.events = followEvents(state);
window.addEventListener("hashchange", async () => {
  await app.events.readAll(); // the hash may name a stack or job that is not known yet
  const { stack, job } = selectionInHash();
  select(stack, job);
});

await mountModule("viewer", byId("viewer"), ({ createViewer }) => {
  app.viewer = createViewer(byId("viewer"), app);
});
for (const tool of TOOLS) {
  const panel = byId(`panel-${tool}`);
  await new Promise((resolve) => setTimeout(resolve)); // one task each, to keep tasks short
  await mountModule(tool, panel, ({ mount }) => mount(panel, app));
}
state.set({}); // let the viewer show the selection
