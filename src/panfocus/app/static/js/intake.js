// Files on their way to the server: out of a drop or a file chooser, in natural order, one after another.
import { element, sizeText } from "./dom.js";
import { guard } from "./leaving.js";

const RETRY = 3000; // ms until a server that did not answer is asked again
const MOST_TRIES = 3; // to send a file to a server that answers otherwise

const natural = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** All files of a drop, and of folders in it but not below: {name, files, folders that are left out}. */
export async function filesOfDrop(transfer) {
  // The entries are there only until the first await.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const loose = [...transfer.files];
  if (entries.length === 0) return { name: null, files: loose, folders: [] };
  const files = [];
  const folders = [];
  for (const entry of entries) await collect(entry, files, folders);
  return { name: entries.find((entry) => entry.isDirectory)?.name ?? null, files, folders };
}

async function collect(entry, files, folders) {
  if (entry.isFile) {
    files.push(await new Promise((resolve, reject) => entry.file(resolve, reject)));
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    // a reader gives its entries in batches, at last an empty one
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return;
    for (const inner of batch) {
      if (inner.isFile) await collect(inner, files, folders);
      else folders.push(`${inner.name}/`);
    }
  }
}

/** The same of what a chooser of files or of a folder gives, which tells all that lies below a folder. */
function filesOfChooser(chosen) {
  const parts = (file) => file.webkitRelativePath.split("/"); // one empty text for a loose file
  return {
    name: (chosen.length && parts(chosen[0])[0]) || null,
    files: chosen.filter((file) => parts(file).length <= 2),
    folders: [
      ...new Set(chosen.filter((file) => parts(file).length > 2).map((file) => `${parts(file)[1]}/`)),
    ],
  };
}

function isImage(file, endings) {
  if (file.name.startsWith(".")) return false;
  return !endings || endings.some((ending) => file.name.toLowerCase().endsWith(ending));
}

/** Send files to a stack, or to a new one that is made for them. Tells of what was left out and why. */
export function sendFiles(app, found, stackId = null) {
  return guard(send(app, found, stackId)); // what is chosen here is known to this page alone
}

async function send(app, found, stackId) {
  await app.loaded;
  const { endings, file_bytes: most } = app.state.get().limits;
  const images = found.files.filter((file) => isImage(file, endings));
  const others = found.files.filter((file) => !images.includes(file)).map((file) => file.name);
  const large = images.filter((file) => most && file.size > most);
  const files = images
    .filter((file) => !large.includes(file))
    .sort((a, b) => natural.compare(a.name, b.name));
  for (const file of large) {
    app.complain(
      `${file.name} has ${sizeText(file.size)}, more than the ${sizeText(most)} allowed ` +
        "(panfocus app --max-upload). Open its folder on this computer instead.",
    );
  }
  if (others.length) app.complain(`Left out, not images that panfocus reads: ${someOf(others)}.`);
  if (found.folders.length) app.complain(`Left out, folders inside a folder: ${someOf(found.folders)}.`);
  if (files.length === 0) {
    if (!others.length && !found.folders.length && !large.length) app.complain("There are no files in this.");
    return;
  }
  if (stackId !== null) {
    await sendAll(app, stackId, files);
    return;
  }
  const stack = await app.api.post("/api/stacks", { name: found.name ?? nameFor(files) });
  app.accept({ kind: "stack", stack });
  app.select(stack.id);
  const arrived = await sendAll(app, stack.id, files);
  if (found.name || arrived.length === 0 || arrived.length === files.length) return;
  await renameFrom(app, stack, nameFor(arrived)); // not after a file that was refused
}

/** Give a stack another name, unless the user has done so. */
async function renameFrom(app, { id, name: before }, name) {
  const now = app.state.get().stacks.find((stack) => stack.id === id);
  if (now?.name !== before) return;
  app.accept({ kind: "stack", stack: await app.api.patch(`/api/stacks/${id}`, { name }) });
}

export function someOf(names) {
  return names.slice(0, 5).join(", ") + (names.length > 5 ? ` and ${names.length - 5} more` : "");
}

function nameFor(files) {
  const bare = (file) => file.name.replace(/\.[^.]*$/, "");
  return files.length === 1 ? bare(files[0]) : `${bare(files[0])} to ${bare(files.at(-1))}`;
}

/** Send files one after another, and give those that have come. */
async function sendAll(app, id, files) {
  const stopper = new AbortController();
  const total = files.reduce((sum, file) => sum + file.size, 0);
  let before = 0;
  const arrived = [];
  const show = (done, sent) => {
    app.state.set({
      uploads: {
        ...app.state.get().uploads,
        [id]: { done, files: files.length, sent, total, stop: () => stopper.abort() },
      },
    });
  };
  show(0, 0);
  try {
    // This page may be closed before all have come: the server knows then that they are missing.
    await app.api.post(`/api/stacks/${id}/unsent`, { names: files.map(({ name }) => name) });
    for (const [at, file] of files.entries()) {
      show(at, before);
      try {
        const nLeft = files.slice(at).filter(({ name }) => name === file.name).length;
        await sendOne(app, id, file, nLeft, (sent) => show(at, before + sent), stopper.signal);
        arrived.push(file);
      } catch (error) {
        app.complain(error);
        if (stopper.signal.aborted || [404, 507].includes(error.status)) break; // no use going on
      }
      before += file.size;
    }
  } finally {
    const { [id]: _, ...others } = app.state.get().uploads;
    app.state.set({ uploads: others });
  }
  if (!stopper.signal.aborted) app.announce(`${arrived.length} of ${files.length} files sent.`);
  return arrived;
}

/** Send a file, while the server is away as soon as it is back; `nLeft` of its name are still to be sent. */
async function sendOne(app, id, file, nLeft, sent, signal) {
  for (let nTries = 1; ; nTries += 1) {
    try {
      await app.api.upload(id, file, sent, signal);
      return;
    } catch (error) {
      if (error.status !== 0) throw error;
      await checkReadable(file);
      const stack = await stackWhenBack(app, id, signal);
      // The answer alone may have been lost. Of a stack that is gone the next try tells.
      if (stack && stack.unsent.filter((name) => name === file.name).length < nLeft) return;
      if (nTries === MOST_TRIES) throw error;
    }
  }
}

/** Where a file cannot be read, the browser tells no more than that it was not sent. */
async function checkReadable(file) {
  try {
    await file.slice(0, 1).arrayBuffer();
  } catch {
    throw new Error(`${file.name} cannot be read: it was changed, moved or deleted meanwhile. Choose it again.`);
  }
}

/** The stack as the server has it once it answers; undefined if it is gone. */
async function stackWhenBack(app, id, signal) {
  for (;;) {
    await new Promise((resolve) => {
      setTimeout(resolve, RETRY);
      signal.addEventListener("abort", resolve);
    });
    try {
      return (await app.api.get("/api/state", signal)).stacks.find((stack) => stack.id === id);
    } catch (error) {
      if (error.status !== 0) throw error;
    }
  }
}

/** Buttons for files and for a folder that open the browser's own choosers. `stackId()` null: a new stack. */
export function chooserButtons(app, stackId, main = "") {
  const button = (label, folder) => {
    const input = element("input", {
      type: "file",
      multiple: true,
      class: "unseen",
      tabIndex: -1,
      "aria-hidden": "true",
      onchange: async () => {
        const found = filesOfChooser([...input.files]);
        input.value = "";
        await sendFiles(app, found, stackId()).catch(app.complain);
      },
    });
    if (folder) input.webkitdirectory = true;
    return [
      element("button", { type: "button", class: folder ? "" : main, onclick: () => input.click() }, label),
      input,
    ];
  };
  return [...button("Choose files", false), ...button("Choose a folder", true)];
}

/** Files dropped on the frames of the open stack are added to it, elsewhere they make a new one. */
export function acceptDrops(app, veil) {
  let depth = 0;
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const target = (event) =>
    event.target.closest?.("#frames") && app.stack()?.in_place === false ? app.stack().id : null;
  const show = (on) => {
    veil.hidden = !on;
  };
  window.addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    depth += 1;
    show(true);
  });
  window.addEventListener("dragleave", (event) => {
    if (!hasFiles(event)) return;
    depth -= 1;
    if (depth <= 0) show(false);
  });
  window.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    const text = target(event) ? "Drop to add to this stack" : "Drop to open as a new stack";
    if (veil.textContent !== text) veil.firstElementChild.textContent = text;
  });
  window.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    show(false);
    const stackId = target(event);
    filesOfDrop(event.dataTransfer)
      .then((found) => sendFiles(app, found, stackId))
      .catch(app.complain);
  });
}
