"""Align a `Stack`: drop frames that cannot be aligned, collect notices, resample in place or on disk."""

import dataclasses
from typing import Any

import numpy as np

from panfocus import _checks
from panfocus._progress import Progress, silent
from panfocus.errors import AlignmentError, Notice
from panfocus.preprocess import RepairedFrames
from panfocus.preprocess.frame_checks import BadFrames
from panfocus.registration.alignment import (
    BORDERS,
    CHOICES,
    SMALLEST,
    Alignment,
    aligned_shape,
    alignment_errors,
    apply_alignment,
    check_aligned,
    find_alignment,
    lost_frames,
)
from panfocus.stack import Acquisition, Allocate, Chosen, Stack

_ONLY_SHIFTS = "Only shifts were searched, as for every microscope stack."


def find_stack_alignment(
    stack: Stack,
    model: str,
    *,
    reference: int | None,
    borders: str,
    bad: BadFrames | None = None,
    progress: Progress = silent,
) -> tuple[Stack, Alignment]:
    """Find the alignment of a stack; return it with the stack, without frames that `bad` drops."""
    _checks.check_choice("align", model, ("off", *CHOICES))
    _checks.check_choice("borders", borders, BORDERS)
    searched = alignment_model(model, stack.metadata.acquisition, stack.frames.shape)
    found = find_alignment(stack.frames, searched, reference=reference, progress=progress)
    while bad and bad.skip and (lost := lost_frames(found)) and found.reference not in lost:
        kept = _drop_lost_frames(stack, found, bad)
        reference = None if reference is None else kept.index(reference)
        names = tuple(stack.names[k] for k in kept)
        stack = dataclasses.replace(stack, frames=Chosen(stack.frames, kept), names=names)
        found = find_alignment(stack.frames, searched, reference=reference, progress=progress)
    only_shifts = [] if searched == model else [Notice(_ONLY_SHIFTS, hint="align_similarity")]
    try:
        check_aligned(found, stack.frames, stack.names)
    except AlignmentError as error:
        message = " ".join([error.message, *(notice.message for notice in only_shifts)])
        raise AlignmentError(message, hint=error.hint, **error.facts) from error
    notices = (*stack.notices, *found.notices(stack.names), *only_shifts)
    return dataclasses.replace(stack, notices=notices), found


def alignment_model(model: str, acquisition: Acquisition | None, shape: tuple[int, ...]) -> str:
    """Return "shift" in place of "auto" for microscope stacks: a stage shifts frames but no lens scales them.

    Small frames stay with "auto", which never aligns them.
    """
    is_microscope = acquisition is not None and acquisition.is_of_microscope
    return "shift" if model == "auto" and is_microscope and min(shape[1:3]) >= SMALLEST else model


def _drop_lost_frames(stack: Stack, found: Alignment, bad: BadFrames) -> list[int]:
    """Drop frames that cannot be aligned; return the numbers of the others."""
    errors = alignment_errors(found, stack.frames, stack.names)
    for k, error in errors.items():
        bad.drop(stack.names[k], error)
    kept = [k for k in range(len(stack.names)) if k not in errors]
    bad.check_enough_left(len(kept))
    return kept


def apply_stack_alignment(
    stack: Stack,
    alignment: Alignment,
    borders: str,
    *,
    allocate: Allocate = np.empty,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Stack:
    """Return the stack with its frames resampled; with `overwrite`, in place if they are in memory."""
    if alignment.model == "none":
        return stack
    shape = aligned_shape(alignment, stack.frames.shape, borders)
    held = stack.frames.source if isinstance(stack.frames, RepairedFrames) else stack.frames
    aligned: Any
    if overwrite and isinstance(held, np.ndarray):
        aligned = held[:, : shape[1], : shape[2]]
    else:
        aligned = allocate(shape, stack.frames.dtype)
    apply_alignment(alignment, stack.frames, aligned, borders=borders, progress=progress)
    return dataclasses.replace(stack, frames=aligned)
