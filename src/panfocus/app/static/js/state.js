// What the page knows: the server's state, kept up to date by its events, and what is selected here.
import { get } from "./api.js";
import { followStream } from "./stream.js";

/** An observable value. Listeners get (now, before) after each change; `on` gives a function that ends it. */
export function createState(first) {
  let now = first;
  const listeners = new Set();
  const rounds = []; // a change made by a listener is told after the round that it belongs to
  return {
    get: () => now,
    on(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    set(change) {
      const before = now;
      now = { ...now, ...change };
      rounds.push([now, before]);
      if (rounds.length > 1) return;
      for (; rounds.length; rounds.shift()) {
        for (const listener of [...listeners]) tell(listener, ...rounds[0]);
      }
    },
  };
}

function tell(listener, now, before) {
  try {
    listener(now, before);
  } catch (error) {
    console.error(error); // one panel's fault must not stop the others
  }
}

export const EMPTY = {
  version: "",
  stacks: [],
  jobs: [],
  methods: [],
  options: [],
  dictionaries: [],
  roots: [],
  limits: {},
  selected: { stack: null, job: null },
  uploads: {},
  space: null,
  tool: "look",
  connected: true,
  fault: "",
  loaded: false,
};

/** The list with `item` in the place of the one with its id, or at the end; an older view of the same changes nothing. */
function withItem(list, item) {
  const at = list.findIndex((other) => other.id === item.id);
  if (at < 0) return [...list, item];
  return item.revision < list[at].revision ? list : list.with(at, item);
}

/** The fusion of a stack to begin with: one that runs or waits, else the newest result, else the newest of all. */
export function jobToShow(jobs, stackId) {
  const fusions = jobs.filter((job) => job.stack === stackId && job.kind === "fuse");
  for (const state of ["running", "queued", "done"]) {
    const found = fusions.findLast((job) => job.state === state);
    if (found) return found;
  }
  return fusions.at(-1) ?? null;
}

/** The stack with other frames in the place of those with their keys; scores are told anew, as the best may be. */
function withFrames(stack, { frames: changed, revision }) {
  if (revision < stack.revision) return stack;
  const fresh = new Map(changed.map((frame) => [frame.key, frame]));
  const frames = stack.frames.map((frame) => fresh.get(frame.key) ?? frame);
  const best = frames.reduce((most, { sharpness }) => Math.max(most, sharpness ?? 0), 0);
  const scoreOf = ({ sharpness }) => (best && sharpness !== null ? sharpness / best : null);
  return { ...stack, revision, frames: frames.map((frame) => ({ ...frame, score: scoreOf(frame) })) };
}

const gone = new Set(); // ids of what was deleted: an answer that comes late shall not bring it back

/** Put one message of the server into the state. */
export function applyEvent(state, message) {
  const { stacks, jobs } = state.get();
  const { id, stack } = message[message.kind] ?? {};
  if (gone.has(id) || gone.has(stack)) return;
  if (message.kind === "stack") state.set({ stacks: withItem(stacks, message.stack) });
  else if (message.kind === "frames")
    state.set({ stacks: stacks.map((stack) => (stack.id === message.stack ? withFrames(stack, message) : stack)) });
  else if (message.kind === "job") state.set({ jobs: withItem(jobs, message.job) });
  else if (message.kind === "dictionaries") state.set({ dictionaries: message.names });
  else if (message.kind === "gone") {
    gone.add(message.id);
    state.set({
      stacks: stacks.filter((stack) => stack.id !== message.id),
      jobs: jobs.filter((job) => job.id !== message.id && job.stack !== message.id),
    });
  }
}

/**
 * Follow the server's events. After every (re)connection the whole state is read anew: nothing stays unknown.
 */
export function followEvents(state) {
  let retry = 0;
  const readings = new Set(); // for each reading of the state the messages that came meanwhile, which are newer

  async function readAll() {
    const meanwhile = [];
    readings.add(meanwhile);
    try {
      const read = await get("/api/state");
      const oldFirst = (a, b) => (a.created < b.created ? -1 : Number(a.created > b.created));
      state.set({
        ...read,
        stacks: read.stacks.sort(oldFirst),
        jobs: read.jobs.sort(oldFirst),
        connected: true,
        loaded: true,
      });
      for (const message of meanwhile) applyEvent(state, message);
    } catch (error) {
      state.set({ connected: false, fault: error.status ? error.message : "" });
      clearTimeout(retry);
      retry = setTimeout(readAll, 5000);
    } finally {
      readings.delete(meanwhile);
    }
  }

  followStream({
    opened: readAll,
    told(message) {
      for (const meanwhile of readings) meanwhile.push(message);
      applyEvent(state, message);
    },
    lost: () => state.set({ connected: false, fault: "" }),
  });
  return { readAll };
}
