// What would be lost if the page were left now.

const going = new Set();

/** Let the browser ask before it leaves the page, until this promise is settled; gives the promise. */
export function guard(promise) {
  if (going.size === 0) window.addEventListener("beforeunload", ask);
  going.add(promise);
  const end = () => {
    going.delete(promise);
    // Not for longer than it is needed: a page with such a listener is not kept for the way back.
    if (going.size === 0) window.removeEventListener("beforeunload", ask);
  };
  promise.then(end, end);
  return promise;
}

function ask(event) {
  event.preventDefault(); // the browser has words of its own for it
}
