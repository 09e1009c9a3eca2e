// Upload of files from a drop or a file dialog: in natural order, one after another.
import { element, sizeText } from "./dom.js";
import { guardUnload } from "./unload_guard.js";

const RETRY_DELAY = 3000; // ms, while the server does not respond
const MAX_TRIES = 3; // for a file, if the server responds to other requests
const MAX_NAMES = 5; // in a message

const naturalOrder = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** Return the dropped files and the files in dropped folders: {name, files, folders}; `folders` are skipped subfolders. */
async function readDrop(transfer) {
  // The entries exist only until the first await.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const plainFiles = [...transfer.files];
  if (entries.length === 0) return { name: null, files: plainFiles, folders: [] };
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
    // entries come in batches; an empty one is the last
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return;
    for (const inner of batch) {
      if (inner.isFile) await collect(inner, files, folders);
      else folders.push(`${inner.name}/`);
    }
  }
}

/** Return the same as `readDrop` for the files of a file dialog, which include all levels of a folder. */
function readFileDialog(chosen) {
  const parts = (file) => file.webkitRelativePath.split("/"); // [""] for a file without a folder
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

/** Upload files to a stack, or to a new one. Show which files were skipped and why. */
export function uploadFiles(app, input, stackId = null) {
  return guardUnload(upload(app, input, stackId));
}

async function upload(app, input, stackId) {
  await app.loaded;
  const { endings, file_bytes: maxBytes } = app.state.get().limits;
  const images = input.files.filter((file) => isImage(file, endings));
  const others = input.files.filter((file) => !images.includes(file)).map((file) => file.name);
  const large = images.filter((file) => maxBytes && file.size > maxBytes);
  const files = images
    .filter((file) => !large.includes(file))
    .sort((a, b) => naturalOrder.compare(a.name, b.name));
  for (const file of large) {
    app.showNotice(
      `${file.name} is too large: ${sizeText(file.size)}, the limit is ${sizeText(maxBytes)} ` +
        "(panfocus app --max-upload). Use “Open on this computer” instead.",
    );
  }
  if (others.length) app.showNotice(`Skipped files of unsupported formats: ${joinNames(others)}.`);
  if (input.folders.length) app.showNotice(`Skipped subfolders: ${joinNames(input.folders)}.`);
  if (files.length === 0) {
    if (!others.length && !input.folders.length && !large.length) app.showNotice("There are no files to open.");
    return;
  }
  if (stackId !== null) {
    await uploadAll(app, stackId, files);
    return;
  }
  const stack = await app.api.post("/api/stacks", { name: input.name ?? stackName(files) });
  app.applyMessage({ kind: "stack", stack });
  app.select(stack.id);
  const uploaded = await uploadAll(app, stack.id, files);
  if (input.name || uploaded.length === 0 || uploaded.length === files.length) return;
  await renameUnlessChanged(app, stack, stackName(uploaded)); // without the names of rejected files
}

/** Rename a stack, unless the user has renamed it. */
async function renameUnlessChanged(app, { id, name: before }, name) {
  const now = app.state.get().stacks.find((stack) => stack.id === id);
  if (now?.name !== before) return;
  app.applyMessage({ kind: "stack", stack: await app.api.patch(`/api/stacks/${id}`, { name }) });
}

/** Join names to a text, only the first ones of a long list. */
export function joinNames(names) {
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  return names.slice(0, MAX_NAMES).join(", ") + more;
}

function stackName(files) {
  const stem = (file) => file.name.replace(/\.[^.]*$/, "");
  return files.length === 1 ? stem(files[0]) : `${stem(files[0])} to ${stem(files.at(-1))}`;
}

/** Upload files one after another. Return those that the server accepted. */
async function uploadAll(app, id, files) {
  const controller = new AbortController();
  const total = files.reduce((sum, file) => sum + file.size, 0);
  let bytesBefore = 0; // of the files before the current one
  const uploaded = [];
  const show = (done, sent) => {
    app.state.set({
      uploads: {
        ...app.state.get().uploads,
        [id]: { done, files: files.length, sent, total, stop: () => controller.abort() },
      },
    });
  };
  show(0, 0);
  try {
    // If the page is closed before the end, the server knows which files are missing.
    await app.api.post(`/api/stacks/${id}/unsent`, { names: files.map(({ name }) => name) });
    for (const [at, file] of files.entries()) {
      show(at, bytesBefore);
      try {
        const nLeft = files.slice(at).filter(({ name }) => name === file.name).length;
        await uploadOne(app, id, file, nLeft, (sent) => show(at, bytesBefore + sent), controller.signal);
        uploaded.push(file);
      } catch (error) {
        app.showNotice(error);
        if (controller.signal.aborted || [404, 507].includes(error.status)) break; // the stack was deleted, or the disk is full
      }
      bytesBefore += file.size;
    }
  } finally {
    const { [id]: _, ...others } = app.state.get().uploads;
    app.state.set({ uploads: others });
  }
  if (!controller.signal.aborted) app.announce(`Uploaded ${uploaded.length} of ${files.length} files.`);
  return uploaded;
}

/** Upload a file; wait while the server does not respond. `nLeft` files of this name are not uploaded yet. */
async function uploadOne(app, id, file, nLeft, onProgress, signal) {
  for (let nTries = 1; ; nTries += 1) {
    try {
      await app.api.upload(id, file, onProgress, signal);
      return;
    } catch (error) {
      if (error.status !== 0) throw error;
      await checkReadable(file);
      const stack = await readStackWhenOnline(app, id, signal);
      // Perhaps only the response was lost. If the stack was deleted, the next try fails.
      if (stack && stack.unsent.filter((name) => name === file.name).length < nLeft) return;
      if (nTries === MAX_TRIES) throw error;
    }
  }
}

/** Throw if a file cannot be read: the browser reports that like an unreachable server. */
async function checkReadable(file) {
  try {
    await file.slice(0, 1).arrayBuffer();
  } catch {
    throw new Error(`Cannot read ${file.name}: it was changed, moved or deleted. Select it again.`);
  }
}

/** Wait until the server responds. Return its view of the stack; undefined if it was deleted. */
async function readStackWhenOnline(app, id, signal) {
  for (;;) {
    await new Promise((resolve) => {
      setTimeout(resolve, RETRY_DELAY);
      signal.addEventListener("abort", resolve);
    });
    try {
      return (await app.api.get("/api/state", signal)).stacks.find((stack) => stack.id === id);
    } catch (error) {
      if (error.status !== 0) throw error;
    }
  }
}

/** Create buttons that open the browser's dialogs for files and for a folder. `getStackId()` null: a new stack. */
export function createUploadButtons(app, getStackId, mainClass = "") {
  const button = (label, folder) => {
    const input = element("input", {
      type: "file",
      multiple: true,
      class: "visually-hidden",
      tabIndex: -1,
      "aria-hidden": "true",
      onchange: async () => {
        const chosen = readFileDialog([...input.files]);
        input.value = "";
        await uploadFiles(app, chosen, getStackId()).catch(app.showNotice);
      },
    });
    if (folder) input.webkitdirectory = true;
    return [
      element("button", { type: "button", class: folder ? "" : mainClass, onclick: () => input.click() }, label),
      input,
    ];
  };
  return [...button("Choose files", false), ...button("Choose a folder", true)];
}

/** Add files dropped on the frames to the open stack; files dropped elsewhere become a new stack. */
export function acceptDrops(app, overlay) {
  let depth = 0;
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const targetStack = (event) =>
    event.target.closest?.("#frames") && app.stack()?.in_place === false ? app.stack().id : null;
  const show = (on) => {
    overlay.hidden = !on;
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
    const text = targetStack(event) ? "Drop files to add them to this stack" : "Drop files to open them as a new stack";
    if (overlay.textContent !== text) overlay.firstElementChild.textContent = text;
  });
  window.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    show(false);
    const stackId = targetStack(event);
    readDrop(event.dataTransfer)
      .then((dropped) => uploadFiles(app, dropped, stackId))
      .catch(app.showNotice);
  });
}
