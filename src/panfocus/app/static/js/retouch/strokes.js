/* The strokes of a job: what is painted, what was taken back, and their way to the server. */

import { get, put } from "../api.js";
import { guard } from "../leaving.js";
import { addsOf, alike, merged } from "./merge.js";

const RETRY = 3000; // ms until a server that did not answer is asked again
const opened = new Map(); // by job: strokes that are on their way survive the choice of another job

/* The strokes of a job; `report(problem)` is told once what goes wrong on their way. */
export function strokesOf(job, report) {
  if (!opened.has(job.id)) opened.set(job.id, new StrokeList(job, report));
  return opened.get(job.id);
}

/* Keep the strokes of these jobs alone: the others were deleted. */
export function forgetOthers(jobs) {
  const there = new Set(jobs.map((job) => job.id));
  for (const id of [...opened.keys()]) if (!there.has(id)) opened.delete(id);
}

/* Wait until the server has all strokes of a job. */
export async function saved(job) {
  await opened.get(job.id)?.sending;
}

class StrokeList {
  strokes = [];
  served = []; // those that the server is known to have, of `servedVersion`
  servedVersion = 0;
  loaded = false;
  failed = false; // to be read, the last time
  version = -1; // of what the server shows, or will have told in a moment; it only rises
  sending = null; // a promise while strokes are on their way
  #past = []; // lists as they were before each change
  #future = [];
  #found = []; // strokes that were there when this tab first read them: undo goes back beyond them too
  #listeners = new Set();

  constructor(job, report) {
    this.report = report;
    this.path = `/api/jobs/${encodeURIComponent(job.id)}/retouch`;
    this.head = {
      panfocus_retouch: 1,
      width: job.result.width,
      height: job.result.height,
      frames: job.result.n_frames,
    };
  }

  /* `listener(list)` is called after each change, and when the server has shown it. */
  on(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /* Read what the server has at a version, unless it is known or changes of our own are on their way. */
  async load(version) {
    if (this.sending || version <= this.version) return;
    const before = this.version;
    this.version = version;
    try {
      const { strokes, version: read } = await get(this.path);
      if (this.sending || this.version !== version) return; // newer ones are known
      if (!this.loaded) this.#found = strokes;
      this.strokes = strokes;
      this.#rebase(strokes);
      this.#know(strokes, read);
      Object.assign(this, { loaded: true, failed: false });
    } catch (error) {
      if (!this.failed) this.report(error);
      this.failed = true;
      setTimeout(() => this.#loadAgain(version, before), RETRY);
    }
    this.#tell();
  }

  /* Unless newer ones were read meanwhile. Where nobody looks at them, they are read when somebody does. */
  #loadAgain(version, before) {
    if (this.version !== version) return;
    this.version = before;
    if (this.#listeners.size) this.load(version);
  }

  get canUndo() {
    return this.#past.length > 0 || this.#lastFound() >= 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  /* Put other strokes in the place of those that are there. */
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
    this.#show(this.#past.pop() ?? this.strokes.toSpliced(this.#lastFound(), 1)); // after a reload
  }

  redo() {
    if (!this.canRedo) return;
    this.#past.push(this.strokes);
    this.#show(this.#future.pop());
  }

  /* The strokes as `panfocus fuse --retouch` reads them. */
  file() {
    return { ...this.head, strokes: this.strokes };
  }

  /* Take the strokes of a file, if the server finds that they are for this picture. */
  async take(data) {
    await this.sending;
    const answer = await put(this.path, { ...data, version: this.servedVersion });
    this.#remember();
    this.strokes = answer.strokes.strokes;
    this.#know(this.strokes, answer.version);
    this.#tell();
  }

  #remember() {
    this.#past.push(this.strokes);
    this.#future = [];
  }

  /* Where the last stroke is that was there before this tab, -1 if there is none: not one that another tab added. */
  #lastFound() {
    const added = new Set(addsOf(this.#found, this.strokes));
    return this.strokes.findLastIndex((stroke) => !added.has(stroke));
  }

  /* The server has `theirs`, of another tab: undo and redo go on from there, and change what was painted here alone. */
  #rebase(theirs) {
    const rebased = (list) => merged(this.served, list, theirs);
    const changes = (list, i, all) => !alike(list, all[i + 1] ?? this.strokes);
    this.#past = this.#past.map(rebased).filter(changes);
    this.#future = this.#future.map(rebased).filter(changes);
  }

  #know(served, version) {
    Object.assign(this, { served, version, servedVersion: version });
  }

  #show(strokes) {
    this.strokes = strokes;
    this.sending ??= guard(this.#send()).finally(() => {
      this.sending = null;
      this.#tell();
    });
    this.#tell();
  }

  /* Send until the server has what is painted here: one request at a time, the newest strokes. */
  async #send() {
    for (let sent = null; sent !== this.strokes; ) {
      sent = this.strokes;
      try {
        const answer = await put(this.path, { ...this.head, strokes: sent, version: this.servedVersion });
        this.#know(sent, answer.version);
        // Found by the server, and kept: what is done again has the same bits.
        sent.forEach((stroke, i) => Object.assign(stroke, { gain: answer.strokes.strokes[i].gain }));
        for (const stroke of sent) delete stroke.match;
        this.#tell();
      } catch (error) {
        if (error.status === 0) {
          await new Promise((resolve) => setTimeout(resolve, RETRY)); // the server is away: the strokes wait
          sent = null;
          continue;
        }
        if (error.status === 409 && this.#merge(JSON.parse(error.answer))) continue;
        if (this.strokes !== sent) continue; // newer ones may be taken
        this.report(`Not saved, and taken back: ${error.message}`);
        this.#goBack();
        return;
      }
    }
  }

  /* The server has other strokes than those that ours were made from: keep both, and say so. */
  #merge({ strokes: there, version }) {
    if (!there) return false;
    const theirs = there.strokes;
    const before = this.served;
    // An answer may have been lost on its way: what is there more is then our own.
    if (addsOf(addsOf(before, theirs), addsOf(before, this.strokes)).length || addsOf(theirs, before).length)
      this.report("Another tab painted here too: its strokes are kept, and yours were added.");
    this.strokes = merged(before, this.strokes, theirs);
    this.#rebase(theirs);
    this.#know(theirs, version);
    return true;
  }

  /* The server refuses what is painted here: show again what it has. What was refused can be done again. */
  #goBack() {
    const all = [...this.#past, this.strokes, ...this.#future.toReversed()];
    const at = all.findLastIndex((list) => alike(list, this.served));
    this.strokes = this.served;
    this.#past = all.slice(0, Math.max(at, 0));
    this.#future = at < 0 ? [] : all.slice(at + 1).reverse();
  }

  #tell() {
    for (const listener of [...this.#listeners]) listener(this);
  }
}
