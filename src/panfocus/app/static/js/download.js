// Files for the user, by the browser's own way of saving them.
import { element } from "./dom.js";

/** Save what is at an address under a name. */
export function offer(url, name) {
  const link = element("a", { href: url, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  if (url.startsWith("blob:")) setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
