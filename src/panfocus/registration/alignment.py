"""Positions of the frames of a stack relative to its reference: the simplest model that explains them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus import _checks
from panfocus._progress import Progress, silent
from panfocus._threads import map_blocks, thread_count
from panfocus.errors import AlignmentError, InputError
from panfocus.preprocess.frame_checks import find_blank, summarize_frame
from panfocus.registration import CHOICES, MODELS
from panfocus.registration._kernel_resample import MARGIN
from panfocus.registration.common_area import common_area, common_share
from panfocus.registration.models import movement
from panfocus.registration.pair_alignment import SIDE, SMALL_SIDE, Registration
from panfocus.registration.pyramid import READ_ROWS, finest_level
from panfocus.registration.resample import TILE_COLS, TILE_ROWS
from panfocus.registration.stack_alignment import (
    LEAST_SCORE,
    REACH,
    Pair,
    Solution,
    connected_groups,
    fit_models,
    is_good,
    largest_difference,
    register_neighbours,
    solve,
)
from panfocus.stack import Frames

SMALLEST = 64  # pixels: frames with a shorter side have too few blocks; "auto" does not align them
# A richer model is chosen if it moves a corner by this many pixels more and lowers the cost by this share.
# Smaller movements may be measurement errors and are not worth resampling.
LEAST_MOVEMENT, LEAST_GAIN = 0.25, 0.03
LEAST_SIDE = 16  # pixels: smallest side of an area that is worth fusing
PARAMETER_COST = 3.0  # cost of each additional parameter of a pair; chance lowers the cost by less


@dataclass(frozen=True, eq=False)
class Alignment:
    """Positions of the frames of a stack relative to its reference.

    Attributes
    ----------
    model : str
        "shift", "similarity", "affine" or "homography"; "none" if the frames are aligned already.
    reference : int
        Number of the frame that the others are aligned to.
    transforms : ndarray of float64 (n, 3, 3)
        Matrices from pixels (x, y, 1) of the reference, column and row from 0, to each frame, up to a factor.
    scores : tuple of float
        Correlation of each frame with its best neighbour, up to 1.
    unaligned : tuple of int
        Frames without a reliable registration; their matrix is the identity.
    area : tuple of two slices
        Rows and columns of the largest rectangle of the reference that all aligned frames show; may be empty.
    movement : float
        Largest movement of a corner in pixels.
    size : tuple of int
        Height and width of the frames.
    """

    model: str
    reference: int
    transforms: NDArray[np.float64]
    scores: tuple[float, ...]
    unaligned: tuple[int, ...]
    area: tuple[slice, slice]
    movement: float
    size: tuple[int, int]

    def notices(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return a sentence on the alignment of frames with these names; none if it changes nothing."""
        if self.model == "none":
            return ()
        lowest = min(score for k, score in enumerate(self.scores) if k not in self.unaligned)
        return (
            f"Aligned to {names[self.reference]} ({self.model}): corners moved by up to "
            f"{self.movement:.1f} px, lowest alignment score {lowest:.3f} (1 is perfect).",
        )

    def border_share(self, borders: str) -> float:
        """Return the share (0 to 1) of the reference's area that is cropped or, with "full", filled."""
        if self.model == "none":
            return 0.0
        if borders == "crop":
            height, width = (span.stop - span.start for span in self.area)
            return 1 - float(height * width) / (self.size[0] * self.size[1])
        return 1 - common_share(self.transforms, self.size)

    def output_area(self, borders: str) -> tuple[slice, slice]:
        """Return the rows and columns of the reference to keep; raise if hardly any are left."""
        height, width = self.size
        if borders == "full":
            return slice(0, height), slice(0, width)
        if any(span.stop - span.start < min(LEAST_SIDE, height, width) for span in self.area):
            raise InputError(
                "The aligned frames share hardly any area. Use fewer frames, or set `borders` to full.",
                setting="borders",
            )
        return self.area

    def report(self) -> dict[str, Any]:
        """Return the alignment as plain data."""
        return {
            "model": self.model,
            "reference": self.reference,
            "largest_movement": round(self.movement, 3),
            "scores": list(self.scores),
            "transforms": self.transforms.tolist(),
            "area": [[part.start, part.stop] for part in self.area],
            "size": list(self.size),
        }

    @classmethod
    def from_report(cls, report: Mapping[str, Any]) -> "Alignment":
        """Return an alignment from its plain data."""
        rows, cols = (slice(*part) for part in report["area"])
        return cls(
            model=report["model"],
            reference=report["reference"],
            transforms=np.array(report["transforms"]),
            scores=tuple(report["scores"]),
            unaligned=(),
            area=(rows, cols),
            movement=report["largest_movement"],
            size=tuple(report["size"]),
        )


def find_alignment(
    frames: Frames, model: str = "auto", *, reference: int | None = None, progress: Progress = silent
) -> Alignment:
    """Find the alignment of frames without changing them. Check `unaligned`, or call `check_aligned`."""
    _checks.check_choice("model", model, CHOICES)
    n, height, width = frames.shape[:3]
    if reference is not None:
        _checks.check_integer("reference", reference, at_least=0, at_most=n - 1)
    if min(height, width) < SMALLEST:
        if model != "auto":
            raise InputError(
                f"Frames of {width} x {height} pixels are too small to align; "
                f"each side needs at least {SMALLEST} pixels.",
                setting="align",
                got=(height, width),
                needed=SMALLEST,
            )
        return _identity(n, (height, width), (n - 1) // 2 if reference is None else reference)
    progress("align", 0.0)
    # In another thread: Ctrl-C in this thread is lost while the compiler calls back into Python.
    (pairs,) = map_blocks(lambda _: register_neighbours(frames, model, progress), [None])
    return _choose_model(pairs, model, reference, n, (height, width))


def _choose_model(
    pairs: dict[Pair, Registration], model: str, reference: int | None, n: int, shape: tuple[int, int]
) -> Alignment:
    """Return the alignment under the simplest model that explains the registered pairs."""
    good = {pair: registration for pair, registration in pairs.items() if is_good(registration, shape)}
    groups = connected_groups(good, n)
    if reference is None:
        reference = min(groups[0], key=lambda k: abs(k - (n - 1) // 2))
    members = next(group for group in groups if reference in group)
    inside = {pair: fit_models(r, shape) for pair, r in good.items() if pair[0] in members}
    scores = [max(r.score for pair, r in pairs.items() if k in pair) for k in range(n)]
    candidates = [None, *MODELS] if model == "auto" else [None, model]
    solutions = [solve(name, inside, reference, members, shape) for name in candidates]
    chosen = 0
    while any(_is_needed(solutions[chosen], richer, shape) for richer in solutions[chosen + 1 :]):
        chosen += 1
    if largest_difference(solutions[chosen], solutions[0], shape) <= LEAST_MOVEMENT:
        chosen = 0
    transforms = np.stack([solutions[chosen].transforms.get(k, np.eye(3)) for k in range(n)])
    return Alignment(
        model=candidates[chosen] or "none",
        reference=reference,
        transforms=transforms,
        scores=tuple(round(score, 4) for score in scores),
        unaligned=tuple(k for k in range(n) if k not in members),
        area=common_area((transforms[k] for k in members), shape),
        movement=max(movement(H, shape) for H in transforms),
        size=shape,
    )


def _is_needed(simple: Solution, richer: Solution, shape: tuple[int, ...]) -> bool:
    """Return whether a richer model is worth its additional parameters."""
    penalty = PARAMETER_COST * (richer.n_parameters - simple.n_parameters)
    return (
        largest_difference(richer, simple, shape) > LEAST_MOVEMENT
        and richer.cost < (1 - LEAST_GAIN) * simple.cost - penalty
    )


def _identity(n: int, shape: tuple[int, int], reference: int) -> Alignment:
    return Alignment(
        model="none",
        reference=reference,
        transforms=np.stack([np.eye(3)] * n),
        scores=(1.0,) * n,
        unaligned=(),
        area=(slice(0, shape[0]), slice(0, shape[1])),
        movement=0.0,
        size=shape,
    )


def lost_frames(found: Alignment) -> tuple[int, ...]:
    """Return the frames that prevent the alignment of a stack; empty if it is aligned.

    Frames unlike any neighbour come first: without them, the frames on both sides may match. Next is the
    reference, if it matches no other frame. Otherwise, all frames not connected with the reference.
    """
    alone = tuple(k for k in found.unaligned if found.scores[k] < LEAST_SCORE)
    n_others = len(found.scores) - 1
    if not alone and found.unaligned:
        is_unlike_all = found.scores[found.reference] < LEAST_SCORE
        if is_unlike_all or len(found.unaligned) == n_others > 1:
            return (found.reference,)
    return alone or found.unaligned


def check_aligned(
    found: Alignment, frames: Frames, names: Sequence[str] | None = None, *, remark: str = ""
) -> None:
    """Raise an AlignmentError that names the frames that could not be aligned, and ends with a remark."""
    if lost := lost_frames(found):
        names = names or [f"frame {k}" for k in range(len(frames))]
        raise _alignment_error(found, lost, _blank_among(frames, lost), names, remark)


def alignment_errors(found: Alignment, frames: Frames, names: Sequence[str]) -> dict[int, AlignmentError]:
    """Return an error for each frame that could not be aligned, by its number."""
    lost = lost_frames(found)
    blank = _blank_among(frames, lost)
    return {k: _alignment_error(found, [k], blank, names) for k in lost}


def _blank_among(frames: Frames, numbers: Iterable[int]) -> set[int]:
    """Return which of some frames are blank compared with the rest of the stack."""
    summaries = {k: summarize_frame(np.asarray(frames[k])) for k in range(len(frames))}
    return find_blank(summaries).intersection(numbers)


def _alignment_error(
    found: Alignment, lost: Sequence[int], blank: set[int], names: Sequence[str], remark: str = ""
) -> AlignmentError:
    seen = {k: "blank" if k in blank else f"score {found.scores[k]:.2f}" for k in lost}
    partner = f"{names[found.reference]} through the frames between"
    if lost[0] == found.reference or found.scores[lost[0]] < LEAST_SCORE:
        partner = "its neighbours" if len(lost) == 1 else "their neighbours"
    reason = "another scene, or too blurred" if set(lost) - blank else "nothing is visible"
    message = f"Cannot align {', '.join(f'{names[k]} ({seen[k]})' for k in lost)} with {partner}: {reason}."
    return AlignmentError(
        f"{message} {remark}".rstrip(),
        hint="choose_reference" if found.reference in lost else "align_off",
        frames=tuple(lost),
        scores=tuple(found.scores[k] for k in lost),
        blank=tuple(k for k in lost if k in blank),
    )


ALL_LEVELS = 4 / 3  # size of a pyramid relative to its finest level
MATCH_BYTES = 64  # of a matched block: two positions and a precision
FIT_BYTES = 1000  # of a block during a fit: derivatives of up to 8 parameters, plain and weighted
LARGEST_SCALE = 1.7  # of a tile's source area per side, at the largest scale and rotation
TILE_COPIES = 3  # of a tile's source: as read, and the smallest and largest neighbours


def alignment_bytes(frames: Frames) -> int:
    """Return the bytes that finding and applying an alignment takes, without frames and compiled code."""
    return max(_registration_bytes(frames), _resampling_bytes(frames))


def _registration_bytes(frames: Frames) -> int:
    """Return the size of pyramids, of the bands they are made from, and of the matches of all pairs."""
    n_frames, height, width = frames.shape[:3]
    pixels = (height * width) >> (2 * finest_level((height, width)))
    row = frames[0][:1].nbytes
    pyramids = 4 * pixels * ((REACH + 1) * ALL_LEVELS + 1)  # one more level while contrast is measured
    blocks = pixels / SIDE**2 + pixels / (16 * SMALL_SIDE**2)
    matches = blocks * (REACH * n_frames * MATCH_BYTES + FIT_BYTES)
    return int(pyramids + thread_count() * READ_ROWS * row + matches)


def _resampling_bytes(frames: Frames) -> int:
    """Return the size of two frames (the new one and its neighbour) and of the tiles of all threads."""
    frame = frames[0]
    values = frame.size // (frame.shape[0] * frame.shape[1])
    working = 8 if frame.dtype.itemsize == 8 else 4
    source = (LARGEST_SCALE * TILE_ROWS + 2 * MARGIN) * (LARGEST_SCALE * TILE_COLS + 2 * MARGIN)
    tile = source * values * (TILE_COPIES * frame.dtype.itemsize + working)
    masks = 3 * frame.shape[0] * frame.shape[1]  # pixels that all frames show, and temporaries
    return int(2 * frame.nbytes + thread_count() * tile + masks)
