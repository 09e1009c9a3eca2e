// Runs before the page is drawn, so that a chosen theme does not flash.
try {
  document.documentElement.dataset.theme = localStorage.getItem("panfocus-theme") ?? "";
} catch {
  // No storage allowed: the system's colours are used.
}
