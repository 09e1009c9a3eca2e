// Set the stored theme before the page is drawn, so that it does not flash. A classic script: modules run too late.
try {
  document.documentElement.dataset.theme = JSON.parse(localStorage.getItem("panfocus-theme")) ?? "";
} catch {
  // Storage is blocked: the system's colours are used.
}
