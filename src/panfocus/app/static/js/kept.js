// What this tab remembers through a reload.

/** What was kept under a name; null where there is nothing. */
export function kept(name) {
  try {
    return JSON.parse(sessionStorage.getItem(name));
  } catch {
    return null; // no storage allowed
  }
}

export function keep(name, value) {
  try {
    sessionStorage.setItem(name, JSON.stringify(value));
  } catch {
    // No storage allowed: it lives until the page is reloaded.
  }
}
