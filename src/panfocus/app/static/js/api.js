// Requests to the server. All give the JSON answer, or throw an ApiError whose message is for the user.

export class ApiError extends Error {
  /** `answer` is what else the server told, as text. */
  constructor(message, status, answer = "") {
    super(message);
    Object.assign(this, { status, answer });
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
    throw new ApiError("The server does not answer.", 0);
  }
  const text = await response.text();
  if (!response.ok) throw new ApiError(messageIn(text, response.status), response.status, text);
  return text === "" ? null : JSON.parse(text);
}

function messageIn(text, status) {
  try {
    return JSON.parse(text).error ?? `The server answered ${status}.`;
  } catch {
    return text.length > 0 && text.length < 300 ? text.trim() : `The server answered ${status}.`;
  }
}

export const get = (path, signal) => request("GET", path, undefined, signal);
export const post = (path, body = {}, signal = undefined) => request("POST", path, body, signal);
export const put = (path, body) => request("PUT", path, body);
export const patch = (path, body) => request("PATCH", path, body);
export const remove = (path) => request("DELETE", path);

/** Send one file to a stack; `sent(bytes)` is called as it goes, which fetch could not tell. */
export function upload(stackId, file, sent, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted(); // it may have been before there was anything to abort
    const xhr = new XMLHttpRequest();
    xhr.open("PUT", `/api/stacks/${stackId}/files/${encodeURIComponent(file.name)}`);
    xhr.upload.onprogress = (event) => sent(event.loaded);
    xhr.onload = () => {
      if (xhr.status < 300) resolve(JSON.parse(xhr.responseText));
      else reject(new ApiError(messageIn(xhr.responseText, xhr.status), xhr.status));
    };
    xhr.onerror = () =>
      reject(new ApiError(`${file.name} could not be sent: the server does not answer.`, 0));
    xhr.onabort = () => reject(new DOMException("stopped", "AbortError"));
    signal?.addEventListener("abort", () => xhr.abort());
    xhr.send(file);
  });
}
