// Ask before the page is closed while data would be lost.

const pending = new Set();

/** Make the browser ask before it leaves the page until this promise settles. Return the promise. */
export function guardUnload(promise) {
  if (pending.size === 0) window.addEventListener("beforeunload", askToStay);
  pending.add(promise);
  const end = () => {
    pending.delete(promise);
    // Removed as soon as possible: browsers keep no page with such a listener in the back-forward cache.
    if (pending.size === 0) window.removeEventListener("beforeunload", askToStay);
  };
  promise.then(end, end);
  return promise;
}

function askToStay(event) {
  event.preventDefault(); // the browser shows its own question
}
