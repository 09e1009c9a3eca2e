// How much room results take on the disk, as the server tells it: {free, jobs: {id: bytes}}.
import { debounced, sizeText } from "./dom.js";

/** Keep `space` of the state true: it is asked for anew when a job ends, goes or is retouched. */
export function followSpace(app) {
  const ask = debounced(() => {
    // Where nobody answers, the page says so itself.
    app.api.get("/api/space").then((space) => app.state.set({ space }), () => {});
  }, 500);
  const known = ({ jobs }) =>
    JSON.stringify(jobs.filter((job) => job.ended !== null).map(({ id, ended, retouch }) => [id, ended, retouch]));
  let asked = "[]";
  app.state.on((now, before) => {
    if (now.jobs === before.jobs || known(now) === asked) return;
    asked = known(now);
    ask();
  });
}

/** What these jobs take together, and what is free; nothing as long as that is not known. */
export function spaceText(space, jobs) {
  const sum = (sizes) => sizes.reduce((total, bytes) => total + bytes, 0);
  const here = sum(jobs.map((job) => space?.jobs[job.id] ?? 0));
  if (!here) return "";
  const everywhere = sum(Object.values(space.jobs));
  const others = everywhere > here ? `, with those of other stacks ${sizeText(everywhere)}` : "";
  return `On the disk ${sizeText(here)}${others}; ${sizeText(space.free)} are free. Delete results to make room.`;
}
