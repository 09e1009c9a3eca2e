// The state of the page: the server's state, updated by its events, and the selection in this tab.
import { get } from "./api.js";
import { followStream } from "./event_stream.js";

/** Create an observable value. Listeners get (now, before) after each change; `on` returns an unsubscribe function. */
export function createState(first) {
  let now = first;
  const listeners = new Set();
  const rounds = []; // a change made by a listener is announced after the current round
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
        for (const listener of [...listeners]) notify(listener, ...rounds[0]);
      }
    },
  };
}

function notify(listener, now, before) {
  try {
    listener(now, before);
  } catch (error) {
    console.error(error); // an error in one panel must not stop the others
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
  tool: "inspect",
  connected: true,
  connectionError: "",
  loaded: false,
};

/** Return the list with `item` replacing the one of the same id, or appended. An older revision is ignored. */
function withItem(list, item) {
  const at = list.findIndex((other) => other.id === item.id);
  if (at < 0) return [...list, item];
  return item.revision < list[at].revision ? list : list.with(at, item);
}

/** Return the fusion to show first: the running or queued one, else the newest result, else the newest of all. */
export function jobToShow(jobs, stackId) {
  const fusions = jobs.filter((job) => job.stack === stackId && job.kind === "fuse");
  for (const state of ["running", "queued", "done"]) {
    const found = fusions.findLast((job) => job.state === state);
    if (found) return found;
  }
  return fusions.at(-1) ?? null;
}

/** Return the stack with updated frames. Scores are relative to the sharpest frame, so all are computed again. */
function withFrames(stack, { frames: changed, revision }) {
  if (revision < stack.revision) return stack;
  const fresh = new Map(changed.map((frame) => [frame.key, frame]));
  const frames = stack.frames.map((frame) => fresh.get(frame.key) ?? frame);
  const best = frames.reduce((most, { sharpness }) => Math.max(most, sharpness ?? 0), 0);
  const scoreOf = ({ sharpness }) => (best && sharpness !== null ? sharpness / best : null);
  return { ...stack, revision, frames: frames.map((frame) => ({ ...frame, score: scoreOf(frame) })) };
}

const deleted = new Set(); // ids: a late response must not restore what was deleted

/** Apply a message of the server to the state. */
export function applyEvent(state, message) {
  const { stacks, jobs } = state.get();
  const { id, stack } = message[message.kind] ?? {};
  if (deleted.has(id) || deleted.has(stack)) return;
  if (message.kind === "stack") state.set({ stacks: withItem(stacks, message.stack) });
  else if (message.kind === "frames")
    state.set({ stacks: stacks.map((stack) => (stack.id === message.stack ? withFrames(stack, message) : stack)) });
  else if (message.kind === "job") state.set({ jobs: withItem(jobs, message.job) });
  else if (message.kind === "dictionaries") state.set({ dictionaries: message.names });
  else if (message.kind === "gone") {
    deleted.add(message.id);
    state.set({
      stacks: stacks.filter((stack) => stack.id !== message.id),
      jobs: jobs.filter((job) => job.id !== message.id && job.stack !== message.id),
    });
  }
}

/** Follow the server's events. The whole state is read after every (re)connection, so no event is missed. */
export function followEvents(state) {
  let retry = 0;
  const reads = new Set(); // for each read in progress, the messages received meanwhile, which are newer

  async function readAll() {
    const meanwhile = [];
    reads.add(meanwhile);
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
      state.set({ connected: false, connectionError: error.status ? error.message : "" });
      clearTimeout(retry);
      retry = setTimeout(readAll, 5000);
    } finally {
      reads.delete(meanwhile);
    }
  }

  followStream({
    onOpen: readAll,
    onMessage(message) {
      for (const meanwhile of reads) meanwhile.push(message);
      applyEvent(state, message);
    },
    onError: () => state.set({ connected: false, connectionError: "" }),
  });
  return { readAll };
}
