// JSON values in the browser's storage: `session` lasts for the tab (reloads included), `local` for good.

function createStore(getStorage) {
  return {
    /** Return the value of a key, or null. */
    read(key) {
      try {
        return JSON.parse(getStorage().getItem(key));
      } catch {
        return null; // storage is blocked, or holds something else
      }
    },
    write(key, value) {
      try {
        getStorage().setItem(key, JSON.stringify(value));
      } catch {
        // Storage is blocked or full: the value is lost with the page.
      }
    },
  };
}

// Getters, because with blocked storage the access itself throws.
export const session = createStore(() => sessionStorage);
export const local = createStore(() => localStorage);
