// Changes of frames (order, use) are sent one after another: each is based on the result of the one before.

import { guardUnload } from "./unload_guard.js";

let last = Promise.resolve(true);
let nRejected = 0;

/**
 * Change the frames of the open stack. `createBody(frames)` is called when all earlier changes are done. Return
 * whether the server accepted the change.
 */
export function changeFrames(app, createBody) {
  const { id } = app.stack(); // another stack may be open later
  last = guardUnload(last.then(() => send(app, id, createBody)));
  return last;
}

/** Wait until all changes are sent. Return whether the server accepted them. */
export async function waitForFrameChanges() {
  const before = nRejected;
  await last;
  return nRejected === before;
}

/** Wait until all changes are sent, and throw if one was rejected: a fusion would use other frames than shown. */
export async function requireFrameChanges() {
  if (!(await waitForFrameChanges()))
    throw new Error("The fusion was not started because a change of its frames failed. Check the frames and try again.");
}

async function send(app, id, createBody) {
  const stack = app.state.get().stacks.find((one) => one.id === id);
  if (!stack) return false; // it was deleted
  try {
    const changed = await app.api.patch(`/api/stacks/${id}`, createBody(stack.frames));
    app.applyMessage({ kind: "stack", stack: changed });
    return true;
  } catch (error) {
    nRejected += 1;
    app.showNotice(error);
    return false;
  }
}
