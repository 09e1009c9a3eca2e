"""The steps of a fusion, in their order: check, read, fuse, write."""

from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

from panfocus._progress import silent
from panfocus.cli._console import Console
from panfocus.cli._job import Job, prepare
from panfocus.cli._request import Request
from panfocus.cli._said import describe, summarise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from panfocus.io.scratch import ScratchFrames
    from panfocus.methods import FusionResult
    from panfocus.stack import Stack


def run(request: Request, terminal: Console, *, force: bool, dry_run: bool) -> None:
    """Do what is asked for, or only say what would be done."""
    from panfocus._threads import limit_threads
    from panfocus.io.files import write_files

    with limit_threads(request.threads):
        job = prepare(request, force=force)
        if dry_run:
            describe(terminal, job)
            return
        with ExitStack() as rooms:
            stack = _read(job, rooms, terminal)
            result = _fuse(job, stack, terminal)
        contents = request.outputs.encode(result, stack)
    terminal.finish()
    write_files(contents, force=force)
    summarise(terminal, stack, result.report)
    terminal.say(f"wrote {request.outputs}")


def _read(job: Job, rooms: ExitStack, terminal: Console) -> "Stack":
    """Decode the frames into memory or a scratch file, where they stay until `rooms` are left."""
    from panfocus.io.read import read_into

    return read_into(
        rooms.enter_context(_room_for(job.like_frames, in_memory=job.plan.in_memory)),
        job.headers,
        at_once=job.plan.decoded_at_once,
        progress=silent if job.plan.in_memory else terminal.progress,
    )


def _fuse(job: Job, stack: "Stack", terminal: Console) -> "FusionResult":
    from panfocus import pipeline

    return pipeline.fuse(
        stack.frames,
        job.method_name,
        threads=job.request.threads,
        max_memory=job.plan.tile_memory,
        maps=job.request.outputs.maps(),
        progress=terminal.progress,
        **job.refinement,
        **job.method_options,
    )


def _room_for(
    like: "NDArray[Any]", *, in_memory: bool
) -> "AbstractContextManager[NDArray[Any] | ScratchFrames]":
    """Have a place for frames like these, while the block lasts."""
    import numpy as np

    from panfocus.io.scratch import scratch_frames

    if in_memory:
        return nullcontext(np.empty(like.shape, like.dtype))
    return scratch_frames(like.shape, like.dtype)
