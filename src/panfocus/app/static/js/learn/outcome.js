/* What comes of a learning: its course, the dictionary to use, and the command that learns the same. */

import { copyButton, element, keepFocus, setText } from "../dom.js";
import { act, STAGES } from "../progress.js";
import { createCourse } from "./course.js";

const STATES = {
  queued: "Waits for the job before it.",
  running: "Learning …",
  done: "Learned.",
};

export function createOutcome(app) {
  const title = element("h3", { id: "learned-title", tabIndex: -1 });
  const said = element("p", { role: "status" });
  const cancel = element("button", { type: "button", onclick: () => act(app, "cancel", job) }, "Cancel");
  const again = element("button", { type: "button", onclick: () => act(app, "again", job) }, "Run again");
  const use = element("button", { type: "button", class: "main", onclick: () => app.useOptions({ method: "coupled", dictionary: job.result.dictionary }) }, "Use it");
  const row = element("div", { class: "row" }, cancel, again, use);
  const course = createCourse();
  const links = element("p", { class: "links" });
  const command = element("code", { class: "command", tabIndex: 0, role: "region", "aria-label": "Command line of learning" });
  const section = element("section", { class: "tool-part", "aria-labelledby": title.id, hidden: true },
    title, said, row, course.element, links,
    element("details", {}, element("summary", {}, "Command line"),
      element("p", { class: "help" }, "Learns the same, in a terminal, in the folder that the rectangles and their frames are saved to:"),
      command, copyButton(() => command.textContent, app)));
  let job = null; // of the learning

  /* Show a learning; none if there is none. */
  function draw(now) {
    job = now;
    section.hidden = !job;
    if (!job) return;
    setText(title, job.name);
    const compiling = job.state === "running" && job.stage === "compile";
    setText(said, compiling ? STAGES.compile : (job.error ?? STATES[job.state] ?? job.state));
    said.classList.toggle("fault", job.state === "failed");
    const swap = () => {
      cancel.hidden = !["queued", "running"].includes(job.state);
      again.hidden = !["failed", "cancelled"].includes(job.state);
      use.hidden = !app.state.get().dictionaries.includes(job.result?.dictionary); // not learned yet, or deleted
    };
    keepFocus(row, swap, () => [...row.children].find((button) => !button.hidden) ?? title);
    course.draw(job);
    setText(command, job.command);
    drawLinks(job.state === "done" ? job : null);
  }

  function drawLinks(done) {
    const of = done?.id ?? "";
    if (links.dataset.of === of) return;
    links.dataset.of = of;
    links.replaceChildren();
    if (!done) return;
    const exported = (file, text) => element("a", { href: `/api/jobs/${done.id}/exports/${file}`, download: file }, text);
    // The rectangles name files beside them: the frames as they were aligned.
    links.append(exported("regions.toml", "Save the rectangles"), ...done.result.frames.map((file) => exported(file, `Save ${file}`)));
  }

  return { element: section, draw };
}
