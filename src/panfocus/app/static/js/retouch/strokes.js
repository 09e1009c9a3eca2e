// The strokes of a job: undo history, saving to the server, and merging with strokes of other tabs.

import { get, put } from "../api.js";
import { guardUnload } from "../unload_guard.js";

const RETRY_DELAY = 3000; // ms, while the server does not respond
const lists = new Map(); // by job id: strokes are saved even if another job is opened meanwhile

/** Return the strokes of a job; `showNotice(problem)` is called if they cannot be loaded or saved. */
export function getStrokes(job, showNotice) {
  if (!lists.has(job.id)) lists.set(job.id, new StrokeList(job, showNotice));
  return lists.get(job.id);
}

/** Forget the strokes of all other jobs, which were deleted. */
export function keepStrokesOf(jobs) {
  const ids = new Set(jobs.map((job) => job.id));
  for (const id of [...lists.keys()]) if (!ids.has(id)) lists.delete(id);
}

/** Wait until the strokes of a job are saved. */
export async function waitForStrokes(job) {
  await lists.get(job.id)?.saving;
}

class StrokeList {
  strokes = [];
  serverStrokes = []; // the strokes on the server at `serverVersion`
  serverVersion = 0;
  isLoaded = false;
  hasFailed = false; // the last attempt to load
  version = -1; // loaded or requested; it only increases
  saving = null; // a promise while strokes are being saved
  #past = []; // lists before each change, for undo
  #future = []; // for redo
  #initial = []; // strokes when this tab first loaded them: undo removes them, too
  #listeners = new Set();

  constructor(job, showNotice) {
    this.showNotice = showNotice;
    this.path = `/api/jobs/${encodeURIComponent(job.id)}/retouch`;
    this.header = {
      panfocus_retouch: 1,
      width: job.result.width,
      height: job.result.height,
      frames: job.result.n_frames,
    };
  }

  /** Call `listener(list)` after each change, and when it is saved. */
  on(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Load a version from the server, unless it is loaded or changes are being saved. */
  async load(version) {
    if (this.saving || version <= this.version) return;
    const before = this.version;
    this.version = version;
    try {
      const { strokes, version: loadedVersion } = await get(this.path);
      if (this.saving || this.version !== version) return; // newer strokes are known
      if (!this.isLoaded) this.#initial = strokes;
      this.strokes = strokes;
      this.#rebase(strokes);
      this.#setServerStrokes(strokes, loadedVersion);
      Object.assign(this, { isLoaded: true, hasFailed: false });
    } catch (error) {
      if (!this.hasFailed) this.showNotice(error);
      this.hasFailed = true;
      setTimeout(() => this.#loadAgain(version, before), RETRY_DELAY);
    }
    this.#notify();
  }

  /** Try again, unless newer strokes were loaded meanwhile or nobody listens. */
  #loadAgain(version, before) {
    if (this.version !== version) return;
    this.version = before;
    if (this.#listeners.size) this.load(version);
  }

  get canUndo() {
    return this.#past.length > 0 || this.#lastInitial() >= 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  /** Replace the strokes. */
  change(strokes) {
    this.#remember();
    this.#show(strokes);
  }

  add(stroke) {
    this.change([...this.strokes, stroke]);
  }

  undo() {
    if (!this.canUndo) return;
    this.#future.push(this.strokes);
    this.#show(this.#past.pop() ?? this.strokes.toSpliced(this.#lastInitial(), 1)); // painted before a reload
  }

  redo() {
    if (!this.canRedo) return;
    this.#past.push(this.strokes);
    this.#show(this.#future.pop());
  }

  /** Return the content of a stroke file, as `panfocus fuse --retouch` reads it. */
  toFile() {
    return { ...this.header, strokes: this.strokes };
  }

  /** Replace the strokes by those of a file; throw if the server rejects them. */
  async loadFile(data) {
    await this.saving;
    const response = await put(this.path, { ...data, version: this.serverVersion });
    this.#remember();
    this.strokes = response.strokes.strokes;
    this.#setServerStrokes(this.strokes, response.version);
    this.#notify();
  }

  #remember() {
    this.#past.push(this.strokes);
    this.#future = [];
  }

  /** Return the index of the last stroke from before this tab, or -1. */
  #lastInitial() {
    const added = new Set(findAdded(this.#initial, this.strokes));
    return this.strokes.findLastIndex((stroke) => !added.has(stroke));
  }

  /** Base undo and redo on `theirs`, the strokes of another tab, so that they change only strokes of this tab. */
  #rebase(theirs) {
    const rebase = (list) => mergeStrokes(this.serverStrokes, list, theirs);
    const isChange = (list, i, all) => !areEqual(list, all[i + 1] ?? this.strokes);
    this.#past = this.#past.map(rebase).filter(isChange);
    this.#future = this.#future.map(rebase).filter(isChange);
  }

  #setServerStrokes(serverStrokes, version) {
    Object.assign(this, { serverStrokes, version, serverVersion: version });
  }

  #show(strokes) {
    this.strokes = strokes;
    this.saving ??= guardUnload(this.#save()).finally(() => {
      this.saving = null;
      this.#notify();
    });
    this.#notify();
  }

  /** Send the newest strokes, one request at a time, until the server has them all. */
  async #save() {
    for (let sent = null; sent !== this.strokes; ) {
      sent = this.strokes;
      try {
        const response = await put(this.path, { ...this.header, strokes: sent, version: this.serverVersion });
        this.#setServerStrokes(sent, response.version);
        // Keep the gains that the server has computed, so that a redo gives the same bits.
        sent.forEach((stroke, i) => Object.assign(stroke, { gain: response.strokes.strokes[i].gain }));
        for (const stroke of sent) delete stroke.match;
        this.#notify();
      } catch (error) {
        if (error.status === 0) {
          await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY)); // the server is offline
          sent = null;
          continue;
        }
        if (error.status === 409 && this.#merge(JSON.parse(error.body))) continue;
        if (this.strokes !== sent) continue; // newer strokes may be accepted
        this.showNotice(`The stroke was not saved and is undone: ${error.message}`);
        this.#revert();
        return;
      }
    }
  }

  /** Merge with strokes that another tab has saved. Return false if the server sent none. */
  #merge({ strokes: file, version }) {
    if (!file) return false;
    const theirs = file.strokes;
    const before = this.serverStrokes;
    // If only a response was lost, the additional strokes are our own.
    if (findAdded(findAdded(before, theirs), findAdded(before, this.strokes)).length || findAdded(theirs, before).length)
      this.showNotice("Another tab has changed the strokes of this picture. Your strokes were added.");
    this.strokes = mergeStrokes(before, this.strokes, theirs);
    this.#rebase(theirs);
    this.#setServerStrokes(theirs, version);
    return true;
  }

  /** Return to the strokes of the server. Redo tries the rejected ones again. */
  #revert() {
    const all = [...this.#past, this.strokes, ...this.#future.toReversed()];
    const at = all.findLastIndex((list) => areEqual(list, this.serverStrokes));
    this.strokes = this.serverStrokes;
    this.#past = all.slice(0, Math.max(at, 0));
    this.#future = at < 0 ? [] : all.slice(at + 1).reverse();
  }

  #notify() {
    for (const listener of [...this.#listeners]) listener(this);
  }
}

/** Return the strokes of `list` that `before` lacks. Equal strokes are counted. */
export function findAdded(before, list) {
  const counts = new Map();
  for (const stroke of before) counts.set(strokeKey(stroke), (counts.get(strokeKey(stroke)) ?? 0) + 1);
  return list.filter((stroke) => {
    const n = counts.get(strokeKey(stroke)) ?? 0;
    if (n) counts.set(strokeKey(stroke), n - 1);
    return n === 0;
  });
}

/** Apply the changes from `before` to `mine` to `theirs`: remove strokes, and append new ones. */
export function mergeStrokes(before, mine, theirs) {
  const removed = findAdded(mine, before);
  const added = findAdded(findAdded(before, theirs), findAdded(before, mine));
  return [...findAdded(removed, theirs), ...added];
}

/** Return whether two lists have the same strokes in the same order. */
function areEqual(one, other) {
  return one.length === other.length && one.every((stroke, i) => strokeKey(stroke) === strokeKey(other[i]));
}

const strokeKeys = new WeakMap(); // cache: a stroke is in many lists of the undo history

/** Return a text that identifies a stroke, the same before and after the server has computed its gain. */
function strokeKey(stroke) {
  const { frame, points, radius, hardness, opacity, gain, match } = stroke;
  const isMatched = Boolean(gain || match);
  if (!strokeKeys.has(stroke)) strokeKeys.set(stroke, JSON.stringify([frame, points, radius, hardness, opacity, isMatched]));
  return strokeKeys.get(stroke);
}
