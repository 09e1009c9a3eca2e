"""Aligned frames: `align` for arrays, the alignment of a `Stack`, and resampling in memory or on disk."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus import _checks
from panfocus._progress import Progress, silent
from panfocus._threads import limit_threads
from panfocus.errors import InputError, Notice
from panfocus.preprocess.frame_checks import BadFrames
from panfocus.preprocess.hot_pixels import RepairedFrames
from panfocus.registration import BORDERS, CHOICES
from panfocus.registration.alignment import (
    SMALLEST,
    Alignment,
    alignment_errors,
    check_aligned,
    find_alignment,
    lost_frames,
)
from panfocus.registration.common_area import common_mask
from panfocus.registration.resample import resample
from panfocus.stack import Acquisition, Allocate, Chosen, Frames, ReplacedChannels, Stack, count_and_size

_ONLY_SHIFTS = "Only shifts were searched, as for every microscope stack."


@dataclass(frozen=True, eq=False)
class Aligned(Alignment):
    """Aligned frames and their alignment.

    Attributes
    ----------
    frames : ndarray
        The aligned frames, in the dtype of the input.
    valid : ndarray of bool (h, w) or None
        With borders="full": the pixels that every frame shows.
    borders : str
        "full" or "crop", as given to `align`.
    """

    frames: NDArray[Any]
    valid: NDArray[np.bool_] | None
    borders: str

    def apply(
        self,
        other_frames: ArrayLike | Sequence[ArrayLike] | Frames | Stack,
        *,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> NDArray[Any]:
        """Align other frames taken at the same positions, such as another channel, in the same way.

        Parameters
        ----------
        other_frames : array (n, h, w) or (n, h, w, c), or a sequence of n arrays
            As many frames as were aligned, and of their size, in any supported dtype.
        threads : int, optional
            Maximum number of threads; by default one per core. The result does not depend on it.
        progress : callable, optional
            Called as `progress(stage, done)` with the name of the stage and the share done, 0 to 1.
        """
        stack = _checks.frames_array(other_frames)
        expected = (len(self.transforms), *self.size)
        if stack.shape[:3] != expected:
            raise InputError(
                f"The alignment was found for {count_and_size(expected)}, got {count_and_size(stack.shape)}.",
                setting="other_frames",
                got=stack.shape[:3],
                needed=expected,
            )
        with limit_threads(threads):
            return np.asarray(apply_alignment(self, stack, self.borders, progress=progress)[:])


def align(
    frames: ArrayLike | Sequence[ArrayLike] | Frames | Stack,
    model: str = "auto",
    *,
    reference: int | None = None,
    borders: str = "full",
    threads: int | None = None,
    progress: Progress = silent,
) -> Aligned:
    """Align the frames of one scene, given in the order of their focus.

    Parameters
    ----------
    frames : array (n, h, w) or (n, h, w, c), or a sequence of n arrays
        As for `fuse`. Arrays on disk are read frame by frame.
    model : str
        "shift", "similarity" (shift, rotation, scale), "affine" or "homography". "auto" takes the simplest
        model that explains the frames. Frames that are aligned already keep every bit.
    reference : int, optional
        Number of the frame that stays unchanged; by default the middle one.
    borders : str
        "full": the whole frame of the reference. Borders that a frame lacks are filled from the neighbouring
        frame nearer the reference, and `valid` is false there. "crop": only the area that all frames show.
    threads : int, optional
        Maximum number of threads; by default one per core. The result does not depend on it.
    progress : callable, optional
        Called as `progress(stage, done)` with the name of the stage and the share done, 0 to 1.
    """
    _checks.check_choice("borders", borders, BORDERS)
    stack = _checks.frames_array(frames)
    with limit_threads(threads):
        found = find_alignment(stack, model, reference=reference, progress=progress)
        check_aligned(found, stack)
        aligned = np.asarray(apply_alignment(found, stack, borders, progress=progress)[:])
        valid = common_mask(found.transforms, found.size) if borders == "full" else None
    return Aligned(**vars(found), frames=aligned, valid=valid, borders=borders)


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
    _checks.check_choice("model", model, CHOICES)
    _checks.check_choice("borders", borders, BORDERS)
    searched = _searched_model(model, stack.metadata.acquisition, stack.frames.shape)
    found = find_alignment(stack.frames, searched, reference=reference, progress=progress)
    while bad and bad.skip and (lost := lost_frames(found)) and found.reference not in lost:
        for k, error in alignment_errors(found, stack.frames, stack.names).items():
            bad.drop(stack.names[k], error)
        kept = [k for k in range(len(stack.names)) if k not in lost]
        bad.check_enough_left(len(kept))
        reference = None if reference is None else kept.index(reference)
        names = tuple(stack.names[k] for k in kept)
        stack = dataclasses.replace(stack, frames=Chosen(stack.frames, kept), names=names)
        found = find_alignment(stack.frames, searched, reference=reference, progress=progress)
    remark = "" if searched == model else _ONLY_SHIFTS
    check_aligned(found, stack.frames, stack.names, remark=remark)
    notices = (*stack.notices, *found.notices(stack.names))
    if remark:
        notices = (*notices, Notice(remark, hint="align_similarity"))
    return dataclasses.replace(stack, notices=notices), found


def _searched_model(model: str, acquisition: Acquisition | None, shape: tuple[int, ...]) -> str:
    """Return "shift" in place of "auto" for microscope stacks: a stage shifts frames but no lens scales them.

    Small frames stay with "auto", which never aligns them.
    """
    is_microscope = acquisition is not None and acquisition.is_of_microscope
    return "shift" if model == "auto" and is_microscope and min(shape[1:3]) >= SMALLEST else model


def apply_alignment(
    found: Alignment,
    frames: Frames,
    borders: str,
    *,
    allocate: Allocate = np.empty,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Frames:
    """Return the frames resampled to the reference; with `overwrite`, in place if they are in memory."""
    if found.model == "none":
        return frames
    rows, cols = area = found.output_area(borders)
    shape = (len(frames), rows.stop - rows.start, cols.stop - cols.start, *frames.shape[3:])
    held = frames.source if isinstance(frames, RepairedFrames | ReplacedChannels) else frames
    out: Any
    if overwrite and isinstance(held, np.ndarray):
        out = held[:, : shape[1], : shape[2]]
    else:
        out = allocate(shape, frames.dtype)
    # Work away from the reference, so that the neighbour from which borders are filled is complete. Write the
    # reference last: `out` may share memory with the frames, and both directions start at the reference.
    reference = found.reference
    done = 0
    for direction in (range(reference - 1, -1, -1), range(reference + 1, len(frames))):
        nearer = np.array(frames[reference, rows, cols])
        for k in direction:
            nearer = resample(frames, k, found.transforms[k], area, onto=nearer)
            out[k] = nearer
            done += 1
            progress("resample", done / len(frames))
    out[reference] = np.array(frames[reference, rows, cols])
    progress("resample", 1.0)
    return out  # type: ignore[no-any-return]
