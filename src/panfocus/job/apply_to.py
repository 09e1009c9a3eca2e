"""Other sets of frames, composed as the result was: each read, checked and corrected when it is written."""

import dataclasses
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.job.alignment import as_aligned
from panfocus.job.fusion import Fusion, read_source, without_hot_pixels
from panfocus.job.inputs import Source
from panfocus.job.listener import Listener
from panfocus.job.prepare import Job
from panfocus.job.write_outputs import picture_content, said_of_picture

if TYPE_CHECKING:
    from panfocus.io.atomic_files import Content
    from panfocus.stack import Stack


@dataclasses.dataclass(frozen=True)
class Applied:
    """What is to be told of a set."""

    path: Path  # of its picture
    notices: tuple[str, ...]
    corrections: dict[str, Any]  # hot pixels and exposure, as the report of a fusion has them

    def report(self) -> dict[str, Any]:
        """Return plain data for a report."""
        return {"path": str(self.path.absolute()), **self.corrections, "warnings": list(self.notices)}


def applied_contents(
    job: Job, fusion: Fusion, listener: Listener, told: list[Applied]
) -> "dict[Path, Content]":
    """Return what the files of other sets are to hold; `told` has more of each once it is written."""

    def content(path: Path, source: Source) -> "Content":
        def write(file: Any) -> None:
            with ExitStack() as rooms:
                image, stack, corrections = _composed(job, source, path, fusion, rooms, listener)
                unlike = _said_unlike(stack, fusion.stack)
            told.append(Applied(path, (*stack.notices, *unlike), corrections))
            encoded = picture_content(path, image, stack, job.writing)
            if callable(encoded):
                encoded(file)
            else:
                file.writelines([encoded] if isinstance(encoded, bytes) else encoded)

        return write

    pairs = zip(job.request.outputs.applied, job.others, strict=True)
    return {path: content(path, source) for path, source in pairs}


def _composed(
    job: Job, source: Source, path: Path, fusion: Fusion, rooms: ExitStack, listener: Listener
) -> "tuple[Any, Stack, dict[str, Any]]":
    """Return a set's picture, its frames as they were aligned, and what was corrected in them."""
    from panfocus import pipeline
    from panfocus.preprocess.frame_checks import BadFrames

    request = job.request
    stack = read_source(
        source,
        rooms,
        listener,
        in_memory=False,
        at_once=1,
        reference=job.reference or 0,
        bad=BadFrames(skip=False, warn=listener.warn, needed=True),
    )
    lost = said_of_picture(path, stack, request.bits)
    stack, repaired = without_hot_pixels(request, stack)
    if fusion.alignment:
        stack = as_aligned(stack, fusion.alignment, request.borders, rooms, listener.progress)
    # By what is measured of this set: its light may have changed otherwise.
    frames, evened = pipeline.corrected(stack.frames, hot_pixels="off", exposure=request.exposure)
    image = pipeline.apply(fusion.result, frames, threads=request.threads)
    stack = dataclasses.replace(stack, notices=(*stack.notices, *lost))
    return image, stack, evened | repaired


def _said_unlike(applied: "Stack", fused: "Stack") -> list[str]:
    """Say that no frame looks like its counterpart: in another light that may be, so it is no error."""
    from panfocus.preprocess.frame_checks import LEAST_LIKENESS, likeness, look_at

    best = None
    for k in range(len(fused.frames)):
        one, other = (look_at(stack.frames[k]).thumbnail for stack in (applied, fused))
        if one is not None and other is not None:
            best = max(best or -1.0, likeness(one, other))
            if best >= LEAST_LIKENESS:
                break
    if best is None or best >= LEAST_LIKENESS:
        return []
    return [
        f"{applied.names[0]} and the frames after it look unlike {fused.names[0]} and those after it "
        f"(likeness {best:.2f} at most): see that they are the same scene in another light, not another one."
    ]
