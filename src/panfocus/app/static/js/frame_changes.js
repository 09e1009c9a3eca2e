// Changes of frames on their way to the server: one after the other, each of what the one before has left, as keys
// are pressed quickly.

import { guard } from "./leaving.js";

let last = Promise.resolve(true);
let nRefused = 0;

/**
 * Change the frames of the open stack; `bodyFor(frames)` gives the change when its turn comes. Tells whether it was
 * made.
 */
export function changeFrames(app, bodyFor) {
  const { id } = app.stack(); // another may be open when its turn comes
  last = guard(last.then(() => send(app, id, bodyFor)));
  return last;
}

/** Wait until the server has all changes that were made until now; tells whether it took them. */
export async function framesSaved() {
  const before = nRefused;
  await last;
  return nRefused === before;
}

/** The same for a fusion that is about to begin, which shall not take other frames than were chosen. */
export async function checkFramesSaved() {
  if (!(await framesSaved()))
    throw new Error("The fusion was not begun: a change of its frames was refused. See which are used, and begin it again.");
}

async function send(app, id, bodyFor) {
  const stack = app.state.get().stacks.find((one) => one.id === id);
  if (!stack) return false; // deleted meanwhile
  try {
    const changed = await app.api.patch(`/api/stacks/${id}`, bodyFor(stack.frames));
    app.accept({ kind: "stack", stack: changed });
    return true;
  } catch (error) {
    nRefused += 1;
    app.complain(error);
    return false;
  }
}
