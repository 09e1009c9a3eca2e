"""A fusion from files to files, in its order: check, fuse, write."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.job.apply_to import Applied, applied_contents
from panfocus.job.fusion import Fusion, carried_out, timed
from panfocus.job.listener import Listener
from panfocus.job.messages import describe, summarise
from panfocus.job.prepare import Job, prepare
from panfocus.job.request import Request
from panfocus.job.run_report import report_of
from panfocus.job.write_outputs import Writing, contents_of

if TYPE_CHECKING:
    from panfocus.io.atomic_files import Content
    from panfocus.methods import FusionResult
    from panfocus.stack import Frames

Beside = Callable[[Job, Fusion], "dict[Path, Content]"]


def run(
    request: Request, listener: Listener, *, force: bool, dry_run: bool, beside: Beside | None = None
) -> None:
    """Do what is asked for, or only say what would be done.

    `beside(job, fusion)` returns files to be written with the results, all or none.
    """
    from panfocus._threads import limit_threads
    from panfocus.io.atomic_files import create_folder

    times: dict[str, float] = {}
    applied: list[Applied] = []
    with limit_threads(request.threads):
        with timed(times, "check"):
            job = prepare(request, force=force, warn=listener.warn)
        if dry_run:
            describe(listener, job)
            return
        with carried_out(job, listener) as fusion, ExitStack() as folder:
            stack, result = fusion.stack, fusion.result
            times |= fusion.times
            with timed(times, "encode"):
                contents = contents_of(job.writing, result, stack, fusion.slabs)
                contents |= applied_contents(job, fusion, listener, applied)
                if request.outputs.steps:
                    folder.enter_context(create_folder(request.outputs.steps))
                    contents |= _step_contents(request.outputs.steps, stack.frames, result, fusion.slabs)
                if beside:
                    contents |= beside(job, fusion)
            report = report_of(job, stack, result, fusion.digests) if request.outputs.report else {}
            write_results(job.writing, contents, report, times, listener, applied=applied, force=force)
    summarise(listener, job, stack, result.report, applied)
    listener.say(f"wrote {request.outputs.names(len(job.spans))}")


def _step_contents(
    folder: Path, frames: "Frames", result: "FusionResult", slabs: "Frames | None"
) -> "dict[Path, Content]":
    from panfocus.io.png import encode_png
    from panfocus.show.steps import step_pictures

    pictures = step_pictures(frames, result, slabs)
    return {folder / f"{name}.png": encode_png(picture) for name, picture in pictures}


def write_results(
    writing: Writing,
    contents: "dict[Path, Content]",
    report: Mapping[str, Any],
    times: dict[str, float],
    listener: Listener,
    *,
    force: bool,
    applied: Sequence[Applied] = (),
    named: Callable[[Path], Path] = Path.absolute,
    beside: Mapping[Path, str] | None = None,
) -> None:
    """Write all files, the report last: it tells of the others, and of `applied` sets what is known then.

    `named(path)` is how it names a file; `beside` tells the kinds of files that are no outputs by themselves.
    """
    from panfocus.io.atomic_files import write_files
    from panfocus.io.encode import encode_json

    started = time.perf_counter()
    kinds = {path: kind for kind, path in writing.outputs.files(writing.n_slabs).items()} | dict(beside or {})
    written: list[dict[str, Any]] = []

    def tell(path: Path, digest: str, size: int) -> None:
        kind, where = kinds.get(path, "step"), str(named(path))
        written.append({"kind": kind, "path": where, "sha256": digest, "bytes": size})

    def write_report(file: Any) -> None:
        times["write"] = round(time.perf_counter() - started, 3)
        told = [of_set.report() for of_set in applied]
        file.write(encode_json({**report, "applied": told, "times": times, "outputs": written}))

    if writing.outputs.report:
        contents[writing.outputs.report] = write_report
    write_files(contents, force=force, ready=listener.finish, written=tell if report else None)
