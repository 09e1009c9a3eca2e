"""Fusions that the page asks for: from a stack and options to a request, a command line and a job."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.app.jobs import EXPORTS, Job
from panfocus.app.request_builder import as_request, shown_command
from panfocus.app.responses import Refusal
from panfocus.app.stacks import used_frames
from panfocus.app.work_folder import Store
from panfocus.job.request import Outputs, Request
from panfocus.job.serialization import to_plain

if TYPE_CHECKING:
    from panfocus.app.server import App


def request_of(app: "App", stack: Job, options: Job, folder: Path) -> Request:
    """Return what the page's options ask for; files would go into `folder`."""
    # A report is asked for, so that the frames are digested; it is written when it is exported.
    outputs = Outputs(image=folder / "fused.tif", report=folder / "report.json")
    dictionary = _dictionary(app.store, options.get("dictionary"))
    return as_request(options, app.stacks.paths(stack["id"]), outputs, dictionary=dictionary)


def fusion_command(request: Request, stack: Job) -> str:
    """Write the command that fuses the same."""
    return shown_command(replace(request, outputs=Outputs(image=Path("fused.tif"))), stack["folder"])


def add_fusion(app: "App", stack: Job, options: Job) -> Job:
    """Put a fusion of a stack into the queue."""
    from panfocus.methods import DEFAULT_METHOD

    folder = app.jobs.new_folder()
    try:
        asked = _asked(app, stack, options, folder)
        # Counted by the stack: a number stays, and is not given again, when a result is deleted.
        number = stack.get("n_fusions", 0) + 1
        app.store.stacks.save(stack, n_fusions=number)
        added: Job = app.jobs.add(
            stack=stack["id"],
            kind="fuse",
            name=f"{number}. {options.get('method') or DEFAULT_METHOD}",
            options=options,
            **asked,
        )
    except Exception:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return added


def run_again(app: "App", job: Job) -> None:
    """Queue a fusion anew, of the frames that its stack has now: what made it fail may be out."""
    stack = app.store.stacks.get(job["stack"])
    app.jobs.again(job, **_asked(app, stack, job["options"], app.store.jobs.folder(job["id"])))


def _asked(app: "App", stack: Job, options: Job, folder: Path) -> Job:
    """Return what a job in this folder is to do with a stack, for a worker and as a command."""
    _check_number(used_frames(stack))
    request = request_of(app, stack, options, folder / EXPORTS)
    task = {
        "task": "fuse",
        "folder": str(folder),
        "request": to_plain(request),
        "reads": list(request.inputs),
    }
    return {"task": task, "command": fusion_command(request, stack)}


def _check_number(frames: list[dict[str, Any]]) -> None:
    """Refuse too few frames, as the page does; a file that was not looked at yet may have many pages."""
    all_seen = all(frame["state"] == "ready" for frame in frames)
    if all_seen and sum(frame["pages"] or 1 for frame in frames) < 2:
        raise Refusal(409, "A fusion needs at least two frames.")


def _dictionary(store: Store, name: object) -> Path | None:
    """Find a dictionary by its name: one that was learned here, or that comes with panfocus."""
    from panfocus.dictionary.coupled import DEFAULT_NAMES

    if name is None or name == "":
        return None
    if name in store.dictionary_names():
        return store.dictionary_file(name)
    if name in DEFAULT_NAMES:
        return Path(str(name))
    known = ", ".join([*store.dictionary_names(), *DEFAULT_NAMES])
    raise Refusal(400, f"there is no dictionary {str(name)[:80]}; there are {known}")
