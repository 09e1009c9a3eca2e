"""Compose other sets of frames, such as another channel, by the decisions of a fusion."""

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus._progress import Progress
from panfocus.errors import Notice
from panfocus.job.prepare import Job
from panfocus.job.write_outputs import image_content, output_notices

if TYPE_CHECKING:
    from panfocus.io.atomic_files import Content
    from panfocus.pipeline import Fusion
    from panfocus.stack import Stack


@dataclasses.dataclass(frozen=True)
class AppliedSet:
    """A composed set: its image file and what users should know about it."""

    path: Path
    content: "Content"
    notices: tuple[Notice | str, ...]
    corrections: dict[str, Any]  # hot pixels and exposure, as in the report of a fusion

    def report(self) -> dict[str, Any]:
        """Return plain data for a report."""
        return {
            "path": str(self.path.absolute()),
            **self.corrections,
            "warnings": [str(notice) for notice in self.notices],
        }


def apply_to_others(job: Job, fusion: "Fusion", scratch: ExitStack, progress: Progress) -> list[AppliedSet]:
    """Compose every other set of frames of a job; the images lie in scratch files until they are encoded."""
    pairs = zip(job.request.outputs.applied, job.others, strict=True)
    return [_compose(job, path, other, fusion, scratch, progress) for path, other in pairs]


def _compose(
    job: Job, path: Path, source: Any, fusion: "Fusion", scratch: ExitStack, progress: Progress
) -> AppliedSet:
    from panfocus import pipeline
    from panfocus.channels import separate_channels
    from panfocus.io.atomic_files import deferred
    from panfocus.io.disk_array import scratch_allocator
    from panfocus.job.inputs import read_frames
    from panfocus.preprocess.frame_checks import BadFrames

    request = job.request
    with ExitStack() as own_scratch:
        stack = read_frames(
            source,
            own_scratch,
            progress,
            in_memory=False,
            at_once=1,
            reference=job.reference or 0,
            bad=BadFrames(skip=False, required=True),
        )
        lost = output_notices(path, stack, request.bits)
        separate = separate_channels(request.decide_channels, stack.frames.shape, stack.metadata.acquisition)
        # Exposure is measured again: the light of this set may have changed in another way.
        stack, frames, _, corrections = pipeline.prepare_stack(
            stack,
            align=fusion.alignment or "off",
            hot_pixels=request.hot_pixels,
            exposure=request.exposure,
            borders=request.borders,
            allocate=scratch_allocator(own_scratch),
            progress=progress,
            n_separate=len(separate),
        )
        corrections.pop("alignment", None)  # it is the alignment of the fused frames
        image = pipeline.compose_like(fusion.result, frames)
        notices = (*stack.notices, *lost, *_unlike(stack, fusion.stack))
    stored = scratch_allocator(scratch)((1, *image.shape), image.dtype)
    stored[0] = image
    described = dataclasses.replace(stack, frames=stored)
    content = deferred(lambda: image_content(path, stored[0], described, request))
    return AppliedSet(path, content, notices, corrections)


def _unlike(applied: "Stack", fused: "Stack") -> Sequence[Notice]:
    """Return a notice if no frame resembles its counterpart; it is no error, as the light may differ."""
    from panfocus.preprocess.frame_checks import LEAST_LIKENESS, likeness, summarize_frame

    best = None
    for k in range(len(fused.frames)):
        one, other = (summarize_frame(stack.frames[k]).thumbnail for stack in (applied, fused))
        if one is not None and other is not None:
            best = max(best or -1.0, likeness(one, other))
            if best >= LEAST_LIKENESS:
                break
    if best is None or best >= LEAST_LIKENESS:
        return []
    return [
        Notice(
            f"The frames from {applied.names[0]} on do not resemble those from {fused.names[0]} on (likeness "
            f"{best:.2f} at most). Check that they show the same scene."
        )
    ]
