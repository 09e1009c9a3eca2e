"""`align`: frames that lie on each other, or the reason why they do not."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus import _checks
from panfocus._progress import Progress, silent
from panfocus._threads import limit_threads, map_blocks
from panfocus.errors import AlignmentError, InputError
from panfocus.registration.apply import BORDERS, aligned_shape, apply_alignment
from panfocus.registration.blank_frames import find_blank
from panfocus.registration.common_area import common_area
from panfocus.registration.models import MODELS, movement
from panfocus.registration.pair_alignment import Registration
from panfocus.registration.stack_alignment import (
    LEAST_SCORE,
    Explanation,
    Pair,
    explain,
    farthest,
    fit_models,
    is_good,
    linked,
    register_neighbours,
)
from panfocus.stack import Frames

CHOICES = ("auto", *MODELS)
SMALLEST = 64  # pixels of the shorter side; smaller frames have too few blocks, and `auto` leaves them
# A richer model is needed if it moves a corner by so many pixels more, and the places fit so much better.
# Less is not worth a resampling, and may be an error of measurement.
WORTH, BETTER = 0.25, 0.03
EACH = 3.0  # by which every further parameter of a pair has to lower the cost besides; chance does by less


@dataclass(frozen=True, eq=False)
class Alignment:
    """Where the frames of a stack lie.

    Attributes
    ----------
    model : str
        "shift", "similarity", "affine" or "homography"; "none" if the frames are aligned already.
    reference : int
        The frame that the others are brought to.
    transforms : ndarray of float64 (n, 3, 3)
        From the reference's pixels (x, y, 1), column and row from 0, to those of each frame, up to a factor.
    scores : tuple of float
        How well each frame correlates with a neighbour, up to 1.
    unaligned : tuple of int
        Frames for which nothing was found that can be believed; their matrix is the identity.
    area : tuple of two slices
        The largest rectangle of the reference, rows and columns, that all aligned frames show; may be empty.
    movement : float
        How far a corner moves at most, in pixels.
    """

    model: str
    reference: int
    transforms: NDArray[np.float64]
    scores: tuple[float, ...]
    unaligned: tuple[int, ...]
    area: tuple[slice, slice]
    movement: float

    def notices(self, names: Sequence[str]) -> tuple[str, ...]:
        """Sentences on what was done to frames of these names; none if they are aligned already."""
        if self.model == "none":
            return ()
        reference = names[self.reference].rstrip(",")  # that of a page ends so, for sentences that go on
        aligned = [s for k, s in enumerate(self.scores) if k not in self.unaligned]
        return (
            f"aligned by {self.model} to {reference}: corners moved by up to "
            f"{self.movement:.1f} pixels, lowest score {min(aligned):.3f}",
        )


@dataclass(frozen=True, eq=False)
class Aligned(Alignment):
    """Aligned frames, in the dtype of those given, and how they were aligned.

    `valid` (h, w) says, for borders="full", which pixels every frame has of its own.
    """

    frames: NDArray[Any]
    valid: NDArray[np.bool_] | None


def align(
    frames: ArrayLike | Sequence[ArrayLike] | Frames,
    model: str = "auto",
    *,
    reference: int | None = None,
    borders: str = "full",
    threads: int | None = None,
    progress: Progress = silent,
) -> Aligned:
    """Bring frames of one scene, in the order of their focus, to lie on each other.

    Parameters
    ----------
    frames : array (n, h, w) or (n, h, w, c), or a sequence of n arrays
        As for `fuse`. What lies on disk is read frame by frame.
    model : str
        "shift", "similarity" (shift, rotation, scale), "affine" or "homography". "auto" takes the simplest
        that explains the frames, and none, which leaves every bit as it is, if they are aligned already.
    reference : int, optional
        The frame that stays as it is; by default the middle one.
    borders : str
        "full": the whole frame of the reference. Borders that a frame lacks are filled from the neighbouring
        frame nearer the reference, and `valid` is false there. "crop": only the area that all frames show.
    threads : int, optional
        Most threads to use; by default every core. The result does not depend on it.
    progress : callable, optional
        Called as `progress(stage, done)` with the stage's name and the share done, 0 to 1.
    """
    _checks.one_of("borders", borders, BORDERS)
    stack = _checks.frames_array(frames)
    with limit_threads(threads):
        found = find_alignment(stack, model, reference=reference, progress=progress)
        check_aligned(found, stack)
        if found.model == "none":
            full = np.ones(stack.shape[1:3], np.bool_) if borders == "full" else None
            return Aligned(**vars(found), frames=np.asarray(stack[:]), valid=full)
        size = aligned_shape(found, stack.shape, borders)
        aligned = np.empty(size, stack.dtype)
        valid = apply_alignment(found, stack, aligned, borders=borders, progress=progress)
    return Aligned(**vars(found), frames=aligned, valid=valid)


def find_alignment(
    frames: Frames, model: str = "auto", *, reference: int | None = None, progress: Progress = silent
) -> Alignment:
    """Find out where frames lie, without changing them; those that cannot be aligned are `unaligned`."""
    _checks.one_of("model", model, CHOICES)
    n, *shape = frames.shape[:3]
    if reference is not None:
        _checks.whole_number("reference", reference, at_least=0, at_most=n - 1)
    if min(shape) < SMALLEST:
        if model != "auto":
            raise InputError(
                f"frames of {shape[1]} x {shape[0]} pixels are too small to be aligned; use 'off'"
            )
        return _untouched(n, tuple(shape), (n - 1) // 2 if reference is None else reference)
    progress("align", 0.0)
    # In another thread: an interrupt of this one, where the compiler calls back into Python, is lost.
    (found,) = map_blocks(lambda _: register_neighbours(frames, model, progress), [None])
    return _choose(found, model, reference, n, tuple(shape))


def _choose(
    found: dict[Pair, Registration], model: str, reference: int | None, n: int, shape: tuple[int, ...]
) -> Alignment:
    good = {pair: registration for pair, registration in found.items() if is_good(registration, shape)}
    groups = linked(good, n)
    if reference is None:
        reference = min(groups[0], key=lambda k: abs(k - (n - 1) // 2))
    members = next(group for group in groups if reference in group)
    inside = {pair: fit_models(r, shape) for pair, r in good.items() if pair[0] in members}
    scores = [max(r.score for pair, r in found.items() if k in pair) for k in range(n)]
    candidates = [None, *MODELS] if model == "auto" else [None, model]
    explained = [explain(name, inside, reference, members, shape) for name in candidates]
    chosen = 0
    while any(_needed(explained[chosen], richer, shape) for richer in explained[chosen + 1 :]):
        chosen += 1
    if farthest(explained[chosen], explained[0], shape) <= WORTH:
        chosen = 0
    transforms = np.stack([explained[chosen].transforms.get(k, np.eye(3)) for k in range(n)])
    return Alignment(
        model=candidates[chosen] or "none",
        reference=reference,
        transforms=transforms,
        scores=tuple(round(score, 4) for score in scores),
        unaligned=tuple(k for k in range(n) if k not in members),
        area=common_area((transforms[k] for k in members), shape),
        movement=max(movement(H, shape) for H in transforms),
    )


def _needed(simple: Explanation, richer: Explanation, shape: tuple[int, ...]) -> bool:
    """Tell whether a richer model is worth its parameters."""
    penalty = EACH * (richer.n_parameters - simple.n_parameters)
    return farthest(richer, simple, shape) > WORTH and richer.cost < (1 - BETTER) * simple.cost - penalty


def _untouched(n: int, shape: tuple[int, ...], reference: int) -> Alignment:
    return Alignment(
        model="none",
        reference=reference,
        transforms=np.stack([np.eye(3)] * n),
        scores=(1.0,) * n,
        unaligned=(),
        area=(slice(0, shape[0]), slice(0, shape[1])),
        movement=0.0,
    )


def lost_frames(found: Alignment) -> tuple[int, ...]:
    """Return the frames that keep a stack from being aligned; none if it is.

    First those that are like no neighbour: without them frames on their two sides may find each other. Then
    the reference, if it is one that lies on no other. Else all that are not linked with it.
    """
    alone = tuple(k for k in found.unaligned if found.scores[k] < LEAST_SCORE)
    n_others = len(found.scores) - 1
    if not alone and found.unaligned:
        like_none = found.scores[found.reference] < LEAST_SCORE
        if like_none or len(found.unaligned) == n_others > 1:
            return (found.reference,)
    return alone or found.unaligned


def missed(found: Alignment, k: int, names: Sequence[str]) -> str:
    """Say with what a lost frame could not be aligned."""
    if k == found.reference or found.scores[k] < LEAST_SCORE:
        return "its neighbours"
    return f"{names[found.reference]} by way of those between"


def check_aligned(found: Alignment, frames: Frames, names: Sequence[str] | None = None) -> None:
    """Refuse a stack of which some frames could not be aligned, by name and score."""
    if lost := lost_frames(found):
        names = names or [f"frame {k}" for k in range(len(found.scores))]
        blank = find_blank(frames, lost)
        named = ", ".join(f"{names[k]} ({_seen(found, k, blank)})" for k in lost)
        why = "another scene, or too blurred" if set(lost) - blank else "nothing is seen in it"
        raise AlignmentError(f"cannot align {named} with {missed(found, lost[0], names)}: {why}", frames=lost)


def _seen(found: Alignment, k: int, blank: Container[int]) -> str:
    return "blank" if k in blank else f"score {found.scores[k]:.2f}"
