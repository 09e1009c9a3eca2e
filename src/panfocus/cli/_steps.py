"""The steps of a fusion, in their order: check, read, fuse, write."""

import dataclasses
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus._progress import silent
from panfocus.cli._align import aligned_stack, alignment_report, as_aligned, reference_left
from panfocus.cli._console import Console
from panfocus.cli._contents import contents_of
from panfocus.cli._job import Job, Source, prepare
from panfocus.cli._report import input_digests, report_of
from panfocus.cli._request import Request
from panfocus.cli._said import describe, summarise

if TYPE_CHECKING:
    import numpy as np

    from panfocus.io.files import Content
    from panfocus.io.stack_checks import BadFrames
    from panfocus.methods import FusionResult
    from panfocus.registration import Alignment
    from panfocus.stack import Frames, Stack


def run(request: Request, terminal: Console, *, force: bool, dry_run: bool) -> None:
    """Do what is asked for, or only say what would be done."""
    from panfocus._threads import limit_threads
    from panfocus.io.files import make_folder
    from panfocus.io.write import said_losses

    times: dict[str, float] = {}
    with limit_threads(request.threads):
        with _timed(times, "check"):
            job = prepare(request, force=force, warn=terminal.warn)
        if dry_run:
            describe(terminal, job)
            return
        with ExitStack() as rooms:
            with _timed(times, "read"):
                stack = _read(
                    job.source,
                    rooms,
                    terminal,
                    in_memory=job.plan.in_memory,
                    at_once=job.plan.decoded_at_once,
                    reference=job.reference or 0,
                    bad=job.bad,
                )
                lost = said_losses(request.outputs.picture, stack)
                stack = dataclasses.replace(stack, notices=(*stack.notices, *lost))
                # Before anything is computed of them: files may change meanwhile.
                digests = input_digests(job) if request.outputs.report else {}
            with _timed(times, "repair"):
                stack, repaired = _without_hot_pixels(request, stack)
            alignment = None
            if request.align != "off":
                with _timed(times, "align"):
                    reference = reference_left(job.reference, job.source.headers, stack)
                    stack, alignment = aligned_stack(
                        stack, request.align, reference, request.borders, rooms, terminal.progress, job.bad
                    )
            with _timed(times, "fuse"):
                result, slabs = _fuse(job, stack, rooms, terminal)
                result.report.update(repaired)
            if alignment:
                result.report["alignment"] = alignment_report(alignment)
            with _timed(times, "encode"):
                contents = contents_of(job, result, stack, slabs)
                contents |= _applied(job, result, alignment, terminal)
                if request.outputs.steps:
                    make_folder(request.outputs.steps)
                    contents |= _step_contents(request.outputs.steps, stack.frames, result, slabs)
            report = report_of(job, stack, result, digests) if request.outputs.report else {}
            _write(job, contents, report, times, terminal, force=force)
    summarise(terminal, job, stack, result.report)


@contextmanager
def _timed(times: dict[str, float], stage: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    times[stage] = round(time.perf_counter() - started, 3)


def _read(
    source: Source,
    rooms: ExitStack,
    terminal: Console,
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

    from panfocus.io.read import read_into

    like = source.like_frames
    return read_into(
        np.empty(like.shape, like.dtype) if in_memory else _scratch(rooms, like.shape, like.dtype),
        source.headers,
        at_once=at_once,
        reference=reference,
        reduce=source.reduce,
        progress=silent if in_memory else terminal.progress,
        bad=bad,
    )


def _without_hot_pixels(request: Request, stack: "Stack") -> "tuple[Stack, dict[str, Any]]":
    """Repair the stack while pixels are still those of the sensor; return also what to report."""
    from panfocus.pipeline import repair_hot_pixels

    frames, report = repair_hot_pixels(stack.frames, request.hot_pixels)
    return dataclasses.replace(stack, frames=frames), report


def _fuse(
    job: Job, stack: "Stack", rooms: ExitStack, terminal: Console
) -> "tuple[FusionResult, Frames | None]":
    """Return the result and, if the stack is cut into slabs, their pictures."""
    from panfocus import pipeline, slabs

    def allocate(shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Any:
        return _scratch(rooms, shape, dtype)

    options: dict[str, Any] = {
        "threads": job.request.threads,
        "max_memory": job.plan.tile_memory,
        "maps": job.maps,
        "allocate": allocate,
        "progress": terminal.progress,
        "hot_pixels": "off",  # they are repaired already
        "exposure": job.request.exposure,
        **job.refinement,
        **job.method_options,
    }
    if not job.spans:
        return pipeline.fuse(stack.frames, job.method_name, **options), None
    size, overlap = len(job.spans[0]), len(job.spans[0]) - job.spans[1].start
    fused = slabs.fuse_slabs(stack.frames, size, overlap, job.method_name, **options)
    return fused.result, fused.slabs


def _applied(
    job: Job, result: "FusionResult", alignment: "Alignment | None", terminal: Console
) -> "dict[Path, Content]":
    """Compose other frames as the result was; each set is read when its file is written."""
    from panfocus import pipeline
    from panfocus.io.write import encode_image

    def content(path: Path, source: Source) -> "Content":
        def write(file: Any) -> None:
            with ExitStack() as rooms:
                stack = _read(source, rooms, terminal, in_memory=False, at_once=1)
                stack, _ = _without_hot_pixels(job.request, stack)
                if alignment:
                    stack = as_aligned(stack, alignment, job.request.borders, rooms, terminal.progress)
                frames, _ = pipeline.corrected(
                    stack.frames, hot_pixels="off", exposure=job.request.exposure
                )  # by what is measured of this set: its light may have changed otherwise
                image = pipeline.apply(result, frames, threads=job.request.threads)
            encoded = encode_image(path, image, like=stack, jpeg=job.jpeg)
            if callable(encoded):
                encoded(file)
            else:
                file.writelines([encoded] if isinstance(encoded, bytes) else encoded)

        return write

    pairs = zip(job.request.outputs.applied, job.others, strict=True)
    return {path: content(path, source) for path, source in pairs}


def _step_contents(
    folder: Path, frames: "Frames", result: "FusionResult", slabs: "Frames | None"
) -> "dict[Path, Content]":
    from panfocus.cli._step_pictures import step_pictures
    from panfocus.io.png import encode_png

    pictures = step_pictures(frames, result, slabs)
    return {folder / f"{name}.png": encode_png(picture) for name, picture in pictures}


def _write(
    job: Job,
    contents: "dict[Path, Content]",
    report: Mapping[str, Any],
    times: dict[str, float],
    terminal: Console,
    *,
    force: bool,
) -> None:
    """Write all files, the report last: it tells of the others."""
    from panfocus.io.files import write_files
    from panfocus.io.write import encode_json

    started = time.perf_counter()
    kinds = {path: kind for kind, path in job.request.outputs.files(len(job.spans)).items()}
    written: list[dict[str, Any]] = []

    def tell(path: Path, digest: str, size: int) -> None:
        written.append({"kind": kinds.get(path, "step"), "path": str(path), "sha256": digest, "bytes": size})

    def write_report(file: Any) -> None:
        times["write"] = round(time.perf_counter() - started, 3)
        file.write(encode_json({**report, "times": times, "outputs": written}))

    if job.request.outputs.report:
        contents[job.request.outputs.report] = write_report
    write_files(contents, force=force, ready=terminal.finish, written=tell if report else None)


def _scratch(rooms: ExitStack, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Any:
    import numpy as np

    from panfocus.io.scratch import scratch_frames

    return rooms.enter_context(scratch_frames(shape, np.dtype(dtype)))
