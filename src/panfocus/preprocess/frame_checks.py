"""Frames that do not belong in a stack: what becomes of them, and how another scene or a copy is told.

A scene is told by its thumbnail: so small that focus hardly shows in it, without slow changes of
brightness, and compared at all the shifts and scales that a stack may have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray
from panfocus.errors import InputError, PanfocusError
from panfocus.stack import Frames

CELLS = 48  # of a thumbnail's side, at most
_LEAST_CELLS, _LEAST_CELL = 16, 4  # a picture of under 64 pixels a side tells too little
_SAMPLES = 8  # of a cell's side: more would say the same
_SMOOTH, _SLOW = 1.0, 5.0  # in cells: what is finer is focus, what is coarser is light
_FLAT = 0.005  # contrast, as a share of the brightness, below which there is nothing to compare
_MARGIN = 0.2  # of a side: the middle of one thumbnail is looked for in the other
_SHIFTS = 0.08
_SCALES = (1 / 1.16, 1 / 1.075, 1.0, 1.075, 1.16)
# Chosen on the Lytro pairs and half of Real-MFF: one scene, warped, scores .90 or more, two scenes .50 or
# less. Below the middle, as to refuse a good stack is worse than to fuse a bad one. docs/robustness.md
LEAST_LIKENESS = 0.6
_BLANK = 0.03  # of the largest contrast in the stack: a frame with less shows nothing, so no other scene
_RECENT = 3  # frames of a scene that the next is compared with: ends of a long stack may share nothing
_MAX_SCENES = 16  # that are remembered, so that a folder of unrelated pictures takes no longer than a stack
_PIXELS_AT_ONCE = 1 << 20


class BadFrames:
    """What is done with frames that cannot be used: an error, or, to `skip` them, a warning.

    `needed`: each has its counterpart elsewhere, so that none can be skipped.
    """

    def __init__(self, *, skip: bool, needed: bool = False) -> None:
        self.skip = skip
        self.needed = needed
        self.dropped: list[tuple[str, str]] = []  # name, reason

    def drop(self, name: str, reason: PanfocusError) -> None:
        """Leave a frame out, aloud, or refuse to."""
        if not self.skip:
            raise reason
        self.dropped.append((name, reason.message))

    @property
    def warnings(self) -> list[str]:
        """One line for each frame that was dropped."""
        return [f"Skipped: {reason}" for _, reason in self.dropped]

    def check_enough_left(self, n_frames: int) -> None:
        """Refuse to go on with fewer than two frames."""
        if n_frames < 2:
            raise InputError(
                f"fusion needs at least two frames, {n_frames or 'none'} is left "
                f"after --skip-bad has dropped {len(self.dropped)}"
            )

    def report(self) -> list[dict[str, str]]:
        """Return plain data for a report."""
        return [{"frame": name, "reason": reason} for name, reason in self.dropped]

    def inspect(self, frames: Frames, k: int) -> "Look":
        """Return the summary of frame k that `select` compares."""
        step = sampling_step(frames.shape[1:])
        return look_at(frames[k, ::step, ::step])

    def select(
        self, inspected: Sequence[object], names: Sequence[str], frames: Frames
    ) -> tuple[list[int], list[str]]:
        """Return the numbers of the frames that belong together, and notices about them.

        `inspected` has for each frame what `inspect` returned, or the error for a frame that cannot be read.
        """
        return sound_frames(inspected, names, frames, self)


@dataclass(frozen=True, eq=False)
class Look:
    """What is remembered of a frame."""

    samples: bytes  # the same for equal frames
    thumbnail: FloatArray | None  # None if it tells nothing


def sampling_step(shape: tuple[int, ...]) -> int:
    """Every how many rows and columns a look at a frame of this shape takes; of such samples it takes all."""
    return max(1, min(shape[:2]) // (CELLS * _SAMPLES))


def look_at(image: NDArray[Any]) -> Look:
    """Reduce a frame (h, w) or (h, w, c), or samples of it, to what is compared."""
    step = sampling_step(image.shape)
    sampled = image[::step, ::step]
    gray = sampled if sampled.ndim == 2 else sampled[..., :3].mean(axis=2, dtype=np.float64)
    cells = np.asarray(gray, np.float64)
    n_cells = min(CELLS, min(image.shape[:2]) // _LEAST_CELL)
    if n_cells < _LEAST_CELLS:
        return Look(sampled.tobytes(), None)
    for axis in (0, 1):
        edges = np.arange(n_cells) * cells.shape[axis] // n_cells
        cells = np.add.reduceat(cells, edges, axis=axis)
        counts = np.diff(np.append(edges, gray.shape[axis]))
        cells /= counts[:, np.newaxis] if axis == 0 else counts
    smooth = _both_ways(_blur(n_cells, _SMOOTH), cells)
    detail = smooth - _both_ways(_blur(n_cells, _SLOW), smooth)
    flat = detail.std() <= _FLAT * np.abs(cells).mean()
    return Look(cells.tobytes(), None if flat else detail)


def likeness(first: FloatArray, second: FloatArray) -> float:
    """Return the largest correlation of two thumbnails over shifts and scales: 1 for equal ones."""
    n = len(first)
    margin, reach = int(_MARGIN * n), max(1, round(_SHIFTS * n))
    places = slice(margin - reach, margin + reach + 1)
    side = n - 2 * margin
    windows = np.lib.stride_tricks.sliding_window_view(first, (side, side))[places, places]
    windows = _normalised(windows.reshape(-1, side * side))
    middle = np.arange(margin, n - margin) - (n - 1) / 2
    at_scales = [_between(scale * middle + (n - 1) / 2, n) for scale in _SCALES]
    templates = _normalised(np.array([_both_ways(weights, second).ravel() for weights in at_scales]))
    return float((windows @ templates.T).max())


# Thumbnails are so small that a filter is a matrix: SciPy's take a third of a second to load.


def _both_ways(weights: FloatArray, thumbnail: FloatArray) -> FloatArray:
    return np.asarray(weights @ thumbnail @ weights.T)


def _blur(n: int, width: float) -> FloatArray:
    """Weights (n, n) of a Gaussian; what is beyond the border is as at the border."""
    offsets = np.arange(-round(4 * width), round(4 * width) + 1)
    bell = np.exp(-0.5 * (offsets / width) ** 2)
    weights = np.zeros((n, n))
    rows = np.arange(n)[:, np.newaxis]
    np.add.at(weights, (rows, np.clip(rows + offsets, 0, n - 1)), bell / bell.sum())
    return weights


def _between(places: FloatArray, n: int) -> FloatArray:
    """Weights (m, n) of straight lines between n values, at m places."""
    before = np.clip(np.floor(places).astype(np.intp), 0, n - 2)
    share = np.clip(places - before, 0, 1)
    weights, rows = np.zeros((len(places), n)), np.arange(len(places))
    weights[rows, before], weights[rows, before + 1] = 1 - share, share
    return weights


def sound_frames(
    found: Sequence[object], names: Sequence[str], frames: Frames, bad: BadFrames
) -> tuple[list[int], list[str]]:
    """Return the numbers of the frames that belong together, two or more, and what is to be said of them.

    `found`: what was seen of each, or why it could not be read.
    """
    reasons = {k: error for k, error in enumerate(found) if isinstance(error, PanfocusError)}
    looks = {k: look for k, look in enumerate(found) if isinstance(look, Look)}
    advice = "" if bad.skip else "; leave it out, or use --skip-bad"
    if bad.needed:
        advice = "; each frame needs its own here: replace it, or leave the whole set out"
    for stranger in find_strangers(looks):
        name, nearest = names[stranger.number], names[stranger.nearest]
        reasons[stranger.number] = InputError(
            f"{name} shows another scene than {nearest} (likeness {stranger.likeness:.2f}, "
            f"needed: {LEAST_LIKENESS}){advice}"
        )
    notices = []
    for copy, first in find_copies(looks, frames).items():
        told = f"{names[copy]} has the same pixels as {names[first]}"
        if bad.skip:
            reasons.setdefault(copy, InputError(told))
        else:
            remedy = "" if bad.needed else ", --skip-bad leaves it out"
            notices.append(f"{told}; it is used all the same{remedy}.")
    for k in sorted(reasons):
        bad.drop(names[k], reasons[k])
    kept = [k for k in range(len(found)) if k not in reasons]
    if reasons:
        bad.check_enough_left(len(kept))
    return kept, notices


def _normalised(rows: FloatArray) -> FloatArray:
    """Shift and scale rows to mean 0 and length 1, flat ones to 0."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    normalised: FloatArray = np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > 0)
    return normalised


@dataclass(frozen=True)
class Stranger:
    """A frame of another scene than most."""

    number: int
    nearest: int  # a frame of the scene, near it in the stack
    likeness: float  # to that


def find_blank(looks: Mapping[int, Look]) -> set[int]:
    """Find frames that show nothing, black ones and the like, beside others that show something."""
    contrasts = {k: 0.0 if look.thumbnail is None else look.thumbnail.std() for k, look in looks.items()}
    least = _BLANK * max(contrasts.values(), default=0.0)
    return {k for k, contrast in contrasts.items() if contrast <= least}


def find_strangers(looks: Mapping[int, Look]) -> list[Stranger]:
    """Find frames that show another scene than most, in their order; if none has most, than the first has."""
    scenes: list[list[int]] = []  # the one that was last added to is the last
    closed: list[list[int]] = []
    blank = find_blank(looks)
    for k in looks:
        if k in blank:
            continue
        scene = next((s for s in reversed(scenes) if _best(looks, k, s[-_RECENT:])[1] >= LEAST_LIKENESS), [])
        scenes = [*(s for s in scenes if s is not scene), scene]
        scene.append(k)
        closed += scenes[:-_MAX_SCENES]
        scenes = scenes[-_MAX_SCENES:]
    scenes = sorted([*closed, *scenes])
    if len(scenes) < 2:
        return []
    main = max(scenes, key=len)
    strangers = sorted(k for scene in scenes if scene is not main for k in scene)
    near = {k: sorted(main, key=lambda other: abs(other - k))[:_RECENT] for k in strangers}
    return [Stranger(k, *_best(looks, k, near[k])) for k in strangers]


def _best(looks: Mapping[int, Look], k: int, others: Sequence[int]) -> tuple[int, float]:
    """Of some frames, return the one that is most like another, and how much."""
    scores = [likeness(_thumbnail(looks[other]), _thumbnail(looks[k])) for other in others]
    best = int(np.argmax(scores))
    return others[best], scores[best]


def _thumbnail(look: Look) -> FloatArray:
    assert look.thumbnail is not None  # those without are never compared
    return look.thumbnail


def find_copies(looks: Mapping[int, Look], frames: Frames) -> dict[int, int]:
    """Find frames whose every pixel is that of an earlier one: their numbers, and the first's."""
    firsts: dict[bytes, list[int]] = {}
    copies = {}
    for k, look in looks.items():
        alike = firsts.setdefault(look.samples, [])
        same = next((first for first in alike if _equal(frames, first, k)), None)
        if same is None:
            alike.append(k)
        else:
            copies[k] = same
    return copies


def _equal(frames: Frames, first: int, second: int) -> bool:
    """Compare two frames some rows at a time: they may be larger than the memory."""
    height, width = frames.shape[1:3]
    rows = max(1, _PIXELS_AT_ONCE // width)
    bands = [(slice(top, min(top + rows, height)), slice(0, width)) for top in range(0, height, rows)]
    return all(np.array_equal(frames[first, *band], frames[second, *band]) for band in bands)
