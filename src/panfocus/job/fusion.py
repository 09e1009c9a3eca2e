"""The work of a fusion: read, repair, align, fuse. What comes of it is held until it is written."""

import dataclasses
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus._progress import Watch, silent, unwatched
from panfocus.job.alignment import aligned_stack, alignment_report, reference_left
from panfocus.job.inputs import Source
from panfocus.job.listener import Listener
from panfocus.job.prepare import Job
from panfocus.job.request import Request
from panfocus.job.retouch import check_size, retouched
from panfocus.job.run_report import input_digests
from panfocus.job.write_outputs import said_of_picture

if TYPE_CHECKING:
    import numpy as np

    from panfocus.methods import FusionResult
    from panfocus.preprocess.frame_checks import BadFrames
    from panfocus.registration import Alignment
    from panfocus.stack import Frames, Stack


@dataclass(frozen=True, eq=False)
class Fusion:
    """A job that is done, but for its files."""

    stack: "Stack"  # aligned and without hot pixels
    frames: "Frames"  # the same, of one exposure: those that are composed
    result: "FusionResult"
    slabs: "Frames | None"  # their pictures, if the stack was cut into slabs
    alignment: "Alignment | None"
    digests: dict[Path, str]  # of the inputs, for a report
    times: dict[str, float]  # seconds of each step


@contextmanager
def carried_out(job: Job, listener: Listener, *, watch: Watch = unwatched) -> Iterator[Fusion]:
    """Do a job; frames and layers that do not fit into memory are on disk until the block is left."""
    request = job.request
    times: dict[str, float] = {}
    with ExitStack() as rooms:
        with timed(times, "read"):
            stack = read_source(
                job.source,
                rooms,
                listener,
                in_memory=job.plan.in_memory,
                at_once=job.plan.decoded_at_once,
                reference=job.reference or 0,
                bad=job.bad,
            )
            lost = said_of_picture(request.outputs.picture, stack, request.bits)
            stack = dataclasses.replace(stack, notices=(*stack.notices, *lost))
            # Before anything is computed of them: files may change meanwhile.
            digests = input_digests(job) if request.outputs.report else {}
        with timed(times, "repair"):
            stack, repaired = without_hot_pixels(request, stack)
        alignment = None
        if request.align != "off":
            with timed(times, "align"):
                reference = reference_left(job.reference, job.source.headers, stack)
                stack, alignment = aligned_stack(
                    stack, request.align, reference, request.borders, rooms, listener.progress, job.bad
                )
        if job.strokes:
            check_size(job.strokes, stack.frames, request.retouch)
        with timed(times, "fuse"):
            frames, result, slabs = _fuse(job, stack, rooms, listener, watch)
            result.report.update(repaired)
        if job.strokes:
            with timed(times, "retouch"):
                result = retouched(result, frames, job.strokes)
        if alignment:
            result.report["alignment"] = alignment_report(alignment)
        yield Fusion(stack, frames, result, slabs, alignment, digests, times)


@contextmanager
def timed(times: dict[str, float], stage: str) -> Iterator[None]:
    """Note the seconds that the block takes."""
    started = time.perf_counter()
    yield
    times[stage] = round(time.perf_counter() - started, 3)


def read_source(
    source: Source,
    rooms: ExitStack,
    listener: Listener,
    *,
    in_memory: bool,
    at_once: int,
    reference: int = 0,
    bad: "BadFrames | None" = None,
) -> "Stack":
    """Decode frames into memory or a scratch file, where they stay until `rooms` are left.

    Metadata are those of the `reference` frame.
    """
    import numpy as np

    from panfocus.io.read_stack import read_into

    like = source.like_frames
    return read_into(
        np.empty(like.shape, like.dtype) if in_memory else _scratch(rooms, like.shape, like.dtype),
        source.headers,
        at_once=at_once,
        reference=reference,
        reduce=source.reduce,
        progress=silent if in_memory else listener.progress,
        bad=bad,
    )


def without_hot_pixels(request: Request, stack: "Stack") -> "tuple[Stack, dict[str, Any]]":
    """Repair the stack while pixels are still those of the sensor; return also what to report."""
    from panfocus.pipeline import repair_hot_pixels

    frames, report = repair_hot_pixels(stack.frames, request.hot_pixels)
    return dataclasses.replace(stack, frames=frames), report


def _fuse(
    job: Job, stack: "Stack", rooms: ExitStack, listener: Listener, watch: Watch
) -> "tuple[Frames, FusionResult, Frames | None]":
    """Return the frames that were composed, the result and, if there are slabs, their pictures."""
    from panfocus import pipeline, slabs

    def allocate(shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Any:
        return _scratch(rooms, shape, dtype)

    frames, corrections = pipeline.corrected(
        stack.frames, hot_pixels="off", exposure=job.request.exposure
    )  # hot pixels are repaired already
    options: dict[str, Any] = {
        "threads": job.request.threads,
        "max_memory": job.plan.tile_memory,
        "maps": job.maps,
        "allocate": allocate,
        "progress": listener.progress,
        "hot_pixels": "off",
        "exposure": "off",
        **job.refinement,
        **job.method_options,
    }
    if job.spans:
        size, overlap = len(job.spans[0]), len(job.spans[0]) - job.spans[1].start
        fused = slabs.fuse_slabs(frames, size, overlap, job.method_name, **options)
        result, pictures = fused.result, fused.slabs
    else:
        result, pictures = pipeline.fuse(frames, job.method_name, watch=watch, **options), None
    result.report.update(corrections)
    return frames, result, pictures


def _scratch(rooms: ExitStack, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Any:
    import numpy as np

    from panfocus.io.disk_array import scratch_frames

    return rooms.enter_context(scratch_frames(shape, np.dtype(dtype)))
