"""Alignment of frames from files: what was asked for, where aligned frames go, what is reported."""

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from panfocus._progress import Progress
from panfocus.errors import AlignmentError, InputError

if TYPE_CHECKING:
    from panfocus.io.headers import Header
    from panfocus.preprocess.frame_checks import BadFrames
    from panfocus.registration import Alignment
    from panfocus.stack import Acquisition, Stack

ONLY_SHIFTS = "only shifts were looked for, as in stacks of a microscope"  # how to allow more differs
_ONLY_SHIFTS = f"{ONLY_SHIFTS}; --align similarity allows scale and rotation"


def check_align(align: str, borders: str) -> None:
    """Refuse what is no way to align."""
    from panfocus._checks import one_of
    from panfocus.registration import BORDERS, CHOICES

    one_of("--align", align, ("off", *CHOICES))
    one_of("--borders", borders, BORDERS)


def find_reference(typed: str | None, headers: "Sequence[Header]") -> int | None:
    """Return the number of the frame that was named, or given as a number."""
    if typed is None:
        return None
    named = [k for k, h in enumerate(headers) if typed in (h.name, str(h.path), h.path.name, h.path.stem)]
    numbered = [int(typed)] if typed.isdecimal() and int(typed) < len(headers) else []
    if len(named) > 1:
        raise InputError(f"--reference {typed}: {len(named)} frames have this name; give a number from 0")
    if named and numbered and named != numbered:
        raise InputError(
            f"--reference {typed}: this may be {headers[named[0]].name}, or frame {typed} from 0, "
            f"{headers[numbered[0]].name}; give the file's whole name"
        )
    if named or numbered:
        return (named or numbered)[0]
    raise InputError(
        f"--reference {typed}: no frame has this name or number; numbers go from 0 to {len(headers) - 1}"
    )


def reference_left(reference: int | None, headers: "Sequence[Header]", stack: "Stack") -> int | None:
    """Return the reference's number among the frames that were read: some may have been left out."""
    if reference is None or len(stack.names) == len(headers):
        return reference
    name = headers[reference].name
    if name not in stack.names:
        raise InputError(f"--reference: {name} was left out as it is bad; choose another frame")
    return stack.names.index(name)


def aligned_stack(
    stack: "Stack",
    model: str,
    reference: int | None,
    borders: str,
    room: ExitStack,
    progress: Progress,
    bad: "BadFrames",
) -> "tuple[Stack, Alignment]":
    """Return the stack with its frames aligned, and how they were; those that cannot be are `bad`."""
    from panfocus.registration import check_aligned, find_alignment, lost_frames
    from panfocus.stack import Chosen

    asked, model = model, model_for(model, stack.metadata.acquisition, stack.frames.shape)
    by_shifts = model != asked
    found = find_alignment(stack.frames, model, reference=reference, progress=progress)
    while bad.skip and (lost := lost_frames(found)) and found.reference not in lost:
        kept = _without(lost, stack, found, bad)
        reference = None if reference is None else kept.index(reference)
        names = tuple(stack.names[k] for k in kept)
        stack = dataclasses.replace(stack, frames=Chosen(stack.frames, kept), names=names)
        found = find_alignment(stack.frames, model, reference=reference, progress=progress)
    try:
        check_aligned(found, stack.frames, stack.names)
    except AlignmentError as error:
        advice = "leave it out, as --skip-bad does,"
        if found.reference in error.facts["frames"]:
            advice = "it is the reference: choose another by --reference,"
        also = f"; {_ONLY_SHIFTS}" if by_shifts else ""
        raise AlignmentError(f"{error}; {advice} or fuse with --align off{also}", **error.facts) from error
    aligned = as_aligned(stack, found, borders, room, progress)
    notices = (*stack.notices, *found.notices(stack.names), *([_ONLY_SHIFTS] if by_shifts else []))
    return dataclasses.replace(aligned, notices=notices), found


def model_for(asked: str, acquisition: "Acquisition | None", shape: tuple[int, ...]) -> str:
    """Return `shift` for `auto` where a stage may have shifted frames (n, h, w), but no lens has scaled them.

    Those of a microscope are such; small ones are left to `auto`, which never aligns them.
    """
    from panfocus.registration.alignment import SMALLEST

    of_microscope = acquisition is not None and acquisition.is_of_microscope
    return "shift" if asked == "auto" and of_microscope and min(shape[1:3]) >= SMALLEST else asked


def _without(lost: Sequence[int], stack: "Stack", found: "Alignment", bad: "BadFrames") -> list[int]:
    """Drop frames that cannot be aligned; return the numbers of the others."""
    from panfocus.registration import find_blank, missed

    blank = find_blank(stack.frames, lost)
    for k in lost:
        whom = missed(found, k, stack.names)
        why = "it is blank" if k in blank else f"score {found.scores[k]:.2f}"
        reason = f"{stack.names[k]} cannot be aligned with {whom} ({why})"
        bad.drop(stack.names[k], InputError(reason))
    kept = [k for k in range(len(stack.names)) if k not in lost]
    bad.check_enough_left(len(kept))
    return kept


def as_aligned(
    stack: "Stack", found: "Alignment", borders: str, room: ExitStack, progress: Progress
) -> "Stack":
    """Return a stack with its frames moved as was found, for these or for others of the same places.

    Frames in memory are aligned where they are, others into a second scratch file, which `room` closes.
    """
    import numpy as np

    from panfocus.io.disk_array import scratch_frames
    from panfocus.preprocess import RepairedFrames
    from panfocus.registration import aligned_shape, apply_alignment

    if found.model == "none":
        return stack
    shape = aligned_shape(found, stack.frames.shape, borders)
    out: Any
    held = stack.frames.source if isinstance(stack.frames, RepairedFrames) else stack.frames
    if isinstance(held, np.ndarray):
        out = held[:, : shape[1], : shape[2]]
    else:
        out = room.enter_context(scratch_frames(shape, stack.frames.dtype))
    apply_alignment(found, stack.frames, out, borders=borders, progress=progress)
    return dataclasses.replace(stack, frames=out)


def alignment_report(found: "Alignment") -> dict[str, Any]:
    """Return what was found, as plain data."""
    return {
        "model": found.model,
        "reference": found.reference,
        "largest_movement": round(found.movement, 3),
        "scores": list(found.scores),
        "transforms": found.transforms.tolist(),
        "area": [[part.start, part.stop] for part in found.area],
    }
