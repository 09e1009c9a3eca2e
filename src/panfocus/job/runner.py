"""Run a fusion from files to files: check, read, process, write. `run` returns what was done."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus._progress import Progress, Watch, silent, unwatched
from panfocus.errors import Notice, warnings_as_notes
from panfocus.job.inputs import read_frames, reference_among
from panfocus.job.prepare import Job, is_refined, parse_slabs, prepare
from panfocus.job.request import Request
from panfocus.job.summary import describe_job, summarize
from panfocus.job.write_outputs import (
    file_kinds,
    output_contents,
    output_notices,
    step_contents,
    write_outputs,
)

if TYPE_CHECKING:
    from panfocus.io.atomic_files import Content
    from panfocus.job.apply_to import AppliedSet
    from panfocus.pipeline import Fusion

ExtraFiles = Callable[[Job, "Fusion"], "dict[Path, Content]"]


@dataclass(frozen=True, eq=False)
class JobResult:
    """What a run did.

    Attributes
    ----------
    job : Job
        The checked request.
    warnings : tuple of str
        Files and frames that were skipped.
    summary : tuple of Notice or str
        Lines for people: notices and what was done, or, after a dry run, what would be done.
    report : dict
        Facts of the fusion, as in `FusionResult.report`; empty after a dry run.
    files : tuple of Path
        The files that were written.
    notices : tuple of Notice or str
        Notices about the frames, except the usual one about their alignment.
    shape : tuple of int
        Number, height and width of the fused frames.
    """

    job: Job
    warnings: tuple[str, ...]
    summary: tuple[Notice | str, ...]
    report: dict[str, Any] = dataclasses.field(default_factory=dict)
    files: tuple[Path, ...] = ()
    notices: tuple[Notice | str, ...] = ()
    shape: tuple[int, ...] = ()


def run(
    request: Request,
    *,
    force: bool = False,
    dry_run: bool = False,
    progress: Progress = silent,
    before_commit: Callable[[], None] = lambda: None,
    extra_files: ExtraFiles | None = None,
) -> JobResult:
    """Run a fusion from files to files.

    Parameters
    ----------
    force : bool
        Overwrite existing files.
    dry_run : bool
        Check everything and describe the work, but write nothing.
    progress : callable
        Called as `progress(stage, done)`; it may raise to cancel the run.
    before_commit : callable
        Called when all files are written under temporary names, before they replace anything.
    extra_files : callable, optional
        Called as `extra_files(job, fusion)`; returns further files to write with the outputs, all or none.
    """
    from panfocus._threads import limit_threads
    from panfocus.io.atomic_files import create_folder
    from panfocus.pipeline import timed

    times: dict[str, float] = {}
    with limit_threads(request.threads):
        with timed(times, "check"):
            job = prepare(request, force=force)
        if dry_run:
            return JobResult(job, tuple(job.warnings), tuple(describe_job(job)))
        with (
            warnings_as_notes(lambda: job.warnings),
            run_fusion(job, progress) as (fusion, digests),
            ExitStack() as scratch,
        ):
            stack, result = fusion.stack, fusion.result
            applied = _applied_sets(job, fusion, scratch, progress)
            with timed(times, "encode"):
                contents = output_contents(request, result, stack, job.depth_scale)
                contents |= {other.path: other.content for other in applied}
                if request.outputs.steps:
                    scratch.enter_context(create_folder(request.outputs.steps))
                    contents |= step_contents(request.outputs.steps, stack.frames, result)
                if extra_files:
                    contents |= extra_files(job, fusion)
            report = _report(job, fusion, digests, applied, times | fusion.times)
            write_outputs(
                request,
                contents,
                report,
                kinds=file_kinds(request, len(job.spans)),
                before_commit=before_commit,
                force=force,
            )
            lines = summarize(job, stack, result.report, applied)
            usual = fusion.alignment.notices(stack.names) if fusion.alignment else ()
            notices = tuple(notice for notice in stack.notices if notice not in usual)
            shape = fusion.frames.shape[:3]
    return JobResult(job, tuple(job.warnings), tuple(lines), result.report, tuple(contents), notices, shape)


# The next functions import their modules only if their step is requested.


def _applied_sets(job: Job, fusion: "Fusion", scratch: ExitStack, progress: Progress) -> "list[AppliedSet]":
    if not job.others:
        return []
    from panfocus.job.apply_to import apply_to_others

    return apply_to_others(job, fusion, scratch, progress)


def _input_digests(job: Job) -> dict[Path, str]:
    if not job.request.outputs.report:
        return {}
    from panfocus.job.run_report import input_digests

    return input_digests(job)


def _report(
    job: Job,
    fusion: "Fusion",
    digests: dict[Path, str],
    applied: "list[AppliedSet]",
    times: dict[str, float],
) -> dict[str, Any] | None:
    """Return the facts for the report file, if one is written."""
    if not job.request.outputs.report:
        return None
    from panfocus.job.run_report import run_report

    return run_report(job, fusion, digests) | {
        "applied": [other.report() for other in applied],
        "times": times,
    }


@contextmanager
def run_fusion(
    job: Job, progress: Progress, *, watch: Watch = unwatched
) -> "Iterator[tuple[Fusion, dict[Path, str]]]":
    """Read and process the frames of a job; yield the fusion and the digests of its input files.

    Frames and layers that do not fit into memory are on disk until the block ends.
    """
    from panfocus.io.disk_array import scratch_allocator
    from panfocus.pipeline import process_stack, timed

    request = job.request
    times: dict[str, float] = {}
    with ExitStack() as scratch:
        with timed(times, "read"):
            stack = read_frames(
                job.source,
                scratch,
                progress,
                in_memory=job.plan.in_memory,
                at_once=job.plan.decoded_at_once,
                reference=job.reference or 0,
                bad=job.bad,
            )
            lost = output_notices(request.outputs.picture, stack, request.bits)
            stack = dataclasses.replace(stack, notices=(*stack.notices, *lost))
            # Now, because files may change while the frames are processed.
            digests = _input_digests(job)
        fusion = process_stack(
            stack,
            job.method,
            method_name=job.method_name,
            align=request.align,
            reference=reference_among(job.reference, job.source.headers, stack),
            borders=request.borders,
            hot_pixels=request.hot_pixels,
            exposure=request.exposure,
            decide_channels=request.decide_channels,
            refine=is_refined(request),
            refine_strength=request.refine_strength,
            slabs=parse_slabs(request.slabs),
            maps=job.maps,
            threads=request.threads,
            max_memory=job.plan.tile_memory,
            allocate=scratch_allocator(scratch),
            overwrite=True,
            bad=job.bad,
            progress=progress,
            watch=watch,
        )
        result = fusion.result
        if job.strokes:
            from panfocus.job.retouching import retouch_image

            with timed(times, "retouch"):
                image = retouch_image(job.strokes, result.image, fusion.frames, request.retouch)
                result = dataclasses.replace(result, image=image)
        yield dataclasses.replace(fusion, result=result, times=times | fusion.times), digests
