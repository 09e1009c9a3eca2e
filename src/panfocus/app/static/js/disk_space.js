// Disk space that results take, as the server reports it: {free, jobs: {id: bytes}}.
import { debounced, sizeText } from "./dom.js";

/** Keep `space` of the state up to date: request it when a job ends, is deleted or retouched. */
export function followDiskSpace(app) {
  const request = debounced(() => {
    // If the server is offline, the page shows that elsewhere.
    app.api.get("/api/space").then((space) => app.state.set({ space }), () => {});
  }, 500);
  const summarize = ({ jobs }) =>
    JSON.stringify(jobs.filter((job) => job.ended !== null).map(({ id, ended, retouch }) => [id, ended, retouch]));
  let requested = "[]";
  app.state.on((now, before) => {
    if (now.jobs === before.jobs || summarize(now) === requested) return;
    requested = summarize(now);
    request();
  });
}

/** Return a line about the size of these jobs and the free space; empty while it is unknown. */
export function diskSpaceText(space, jobs) {
  const sum = (sizes) => sizes.reduce((total, bytes) => total + bytes, 0);
  const here = sum(jobs.map((job) => space?.jobs[job.id] ?? 0));
  if (!here) return "";
  const total = sum(Object.values(space.jobs));
  const others = total > here ? ` (all stacks: ${sizeText(total)})` : "";
  return `Disk space used: ${sizeText(here)}${others}; free: ${sizeText(space.free)}. Delete results to free space.`;
}
