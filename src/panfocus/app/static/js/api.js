// Requests to the server. They return the JSON response, or throw an ApiError whose message users can read.

export class ApiError extends Error {
  /** `status` is 0 if the server does not respond; `body` is the text of the response. */
  constructor(message, status, body = "") {
    super(message);
    Object.assign(this, { status, body });
  }
}

async function request(method, path, body, signal) {
  const init = { method, signal, headers: {} };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server does not respond.", 0);
  }
  const text = await response.text();
  if (!response.ok) throw new ApiError(errorMessage(text, response.status), response.status, text);
  return text === "" ? null : JSON.parse(text);
}

function errorMessage(text, status) {
  try {
    return JSON.parse(text).error ?? `The server returned status ${status}.`;
  } catch {
    return text.length > 0 && text.length < 300 ? text.trim() : `The server returned status ${status}.`;
  }
}

export const get = (path, signal) => request("GET", path, undefined, signal);
export const post = (path, body = {}, signal = undefined) => request("POST", path, body, signal);
export const put = (path, body) => request("PUT", path, body);
export const patch = (path, body) => request("PATCH", path, body);
export const remove = (path) => request("DELETE", path);

/** Upload a file to a stack. `onProgress(bytes)` is called meanwhile: the reason for not using fetch. */
export function upload(stackId, file, onProgress, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted(); // the event below comes only once
    const xhr = new XMLHttpRequest();
    xhr.open("PUT", `/api/stacks/${stackId}/files/${encodeURIComponent(file.name)}`);
    xhr.upload.onprogress = (event) => onProgress(event.loaded);
    xhr.onload = () => {
      if (xhr.status < 300) resolve(JSON.parse(xhr.responseText));
      else reject(new ApiError(errorMessage(xhr.responseText, xhr.status), xhr.status));
    };
    xhr.onerror = () =>
      reject(new ApiError(`Cannot upload ${file.name}: the server does not respond.`, 0));
    xhr.onabort = () => reject(new DOMException("The upload was stopped.", "AbortError"));
    signal?.addEventListener("abort", () => xhr.abort());
    xhr.send(file);
  });
}
