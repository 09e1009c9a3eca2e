"""Frames that do not belong in a stack: other scenes, copies and blank frames.

Scenes are compared by thumbnails that are too small to show focus. Slow brightness changes are removed, and
all shifts and scales that a stack may have are tried.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray
from panfocus.errors import InputError, Notice, PanfocusError
from panfocus.stack import Frames

CELLS = 48  # cells of a thumbnail's side, at most
_LEAST_CELLS, _LEAST_CELL = 16, 4  # images with a side below 64 pixels are not compared
_SAMPLES = 8  # samples of a cell's side; more would not change its mean much
_SMOOTH, _SLOW = 1.0, 5.0  # cells: finer detail depends on focus, coarser on lighting
_FLAT = 0.005  # contrast relative to brightness below which there is nothing to compare
_MARGIN = 0.2  # of a side: the centre of one thumbnail is searched in the other
_SHIFTS = 0.08  # of a side: largest shift
_SCALES = (1 / 1.16, 1 / 1.075, 1.0, 1.075, 1.16)
# Chosen on the Lytro pairs and half of Real-MFF: warped frames of one scene score 0.90 or more, frames of two
# scenes 0.50 or less. The threshold is low because rejecting a good stack is worse. See docs/robustness.md.
LEAST_LIKENESS = 0.6
_BLANK = 0.03  # of the largest contrast in the stack: frames with less are blank
_RECENT = 3  # frames of a scene that the next one is compared with; ends of a long stack may share nothing
_MAX_SCENES = 16  # scenes to remember, so that a folder of unrelated images takes no longer than a stack
_PIXELS_AT_ONCE = 1 << 20


class BadFrames:
    """Policy for unusable frames: raise an error, or `skip` them and record why.

    With `required`, each frame has a counterpart in another set, so that none can be skipped.
    """

    def __init__(self, *, skip: bool, required: bool = False) -> None:
        self.skip = skip
        self.required = required
        self.dropped: list[tuple[str, str]] = []  # name, reason

    def drop(self, name: str, reason: PanfocusError) -> None:
        """Drop a frame, or raise `reason` if frames are not skipped."""
        if not self.skip:
            raise reason
        self.dropped.append((name, reason.message))

    @property
    def warnings(self) -> list[str]:
        """One line for each dropped frame."""
        return [f"Skipped: {reason}" for _, reason in self.dropped]

    def check_enough_left(self, n_frames: int) -> None:
        """Raise if fewer than two frames remain."""
        if n_frames < 2:
            raise InputError(
                f"Fusion needs at least two frames, but {n_frames} of {n_frames + len(self.dropped)} remain "
                "after unusable frames were skipped.",
                frames=n_frames,
                needed=2,
            )

    def report(self) -> list[dict[str, str]]:
        """Return the dropped frames as plain data for a report."""
        return [{"frame": name, "reason": reason} for name, reason in self.dropped]

    def inspect(self, frames: Frames, k: int) -> "FrameSummary":
        """Return the summary of frame k that `select` compares."""
        step = sampling_step(frames.shape[1:])
        return summarize_frame(frames[k, ::step, ::step])

    def select(
        self, inspected: Sequence[object], names: Sequence[str], frames: Frames
    ) -> tuple[list[int], list[Notice | str]]:
        """Return the numbers of the frames that belong together, two or more, and notices about them.

        `inspected` has for each frame what `inspect` returned, or the error for a frame that cannot be read.
        """
        reasons = {k: error for k, error in enumerate(inspected) if isinstance(error, PanfocusError)}
        summaries = {k: summary for k, summary in enumerate(inspected) if isinstance(summary, FrameSummary)}
        hint = "replace_frame" if self.required else "skip_bad"
        for other in find_other_scenes(summaries):
            name = names[other.number]
            reasons[other.number] = InputError(
                f"{name} shows another scene than {names[other.nearest]} (likeness {other.likeness:.2f}, "
                f"expected at least {LEAST_LIKENESS}).",
                hint=hint,
                file=name,
                got=other.likeness,
                needed=LEAST_LIKENESS,
            )
        notices: list[Notice | str] = []
        for copy, first in find_copies(summaries, frames).items():
            message = f"{names[copy]} has the same pixels as {names[first]}."
            if names[copy] == names[first]:
                message = f"Two inputs are the same file: {names[first]}."
            if self.skip:
                reasons.setdefault(copy, InputError(message, file=names[copy]))
            else:
                notices.append(Notice(message, hint=None if self.required else "skip_bad"))
        for k in sorted(reasons):
            self.drop(names[k], reasons[k])
        remaining = [k for k in range(len(inspected)) if k not in reasons]
        if reasons:
            self.check_enough_left(len(remaining))
        return remaining, notices


@dataclass(frozen=True, eq=False)
class FrameSummary:
    """Small summary of a frame by which frames are compared."""

    samples: bytes  # equal for equal frames
    thumbnail: FloatArray | None  # None if the frame is too small or flat to compare


def sampling_step(shape: tuple[int, ...]) -> int:
    """Return the stride of the samples that `summarize_frame` takes from a frame of this shape."""
    return max(1, min(shape[:2]) // (CELLS * _SAMPLES))


def summarize_frame(image: NDArray[Any]) -> FrameSummary:
    """Return the summary of a frame (h, w) or (h, w, c), or of its samples."""
    step = sampling_step(image.shape)
    sampled = image[::step, ::step]
    gray = sampled if sampled.ndim == 2 else sampled[..., :3].mean(axis=2, dtype=np.float64)
    cells = np.asarray(gray, np.float64)
    n_cells = min(CELLS, min(image.shape[:2]) // _LEAST_CELL)
    if n_cells < _LEAST_CELLS:
        return FrameSummary(sampled.tobytes(), None)
    for axis in (0, 1):
        edges = np.arange(n_cells) * cells.shape[axis] // n_cells
        cells = np.add.reduceat(cells, edges, axis=axis)
        counts = np.diff(np.append(edges, gray.shape[axis]))
        cells /= counts[:, np.newaxis] if axis == 0 else counts
    smooth = _apply_both_ways(_blur_weights(n_cells, _SMOOTH), cells)
    detail = smooth - _apply_both_ways(_blur_weights(n_cells, _SLOW), smooth)
    flat = detail.std() <= _FLAT * np.abs(cells).mean()
    return FrameSummary(cells.tobytes(), None if flat else detail)


def likeness(first: FloatArray, second: FloatArray) -> float:
    """Return the largest correlation of two thumbnails over shifts and scales; 1 for equal ones."""
    n = len(first)
    margin, reach = int(_MARGIN * n), max(1, round(_SHIFTS * n))
    offsets = slice(margin - reach, margin + reach + 1)
    side = n - 2 * margin
    windows = np.lib.stride_tricks.sliding_window_view(first, (side, side))[offsets, offsets]
    windows = _normalize(windows.reshape(-1, side * side))
    middle = np.arange(margin, n - margin) - (n - 1) / 2
    at_scales = [_interpolation_weights(scale * middle + (n - 1) / 2, n) for scale in _SCALES]
    templates = _normalize(np.array([_apply_both_ways(weights, second).ravel() for weights in at_scales]))
    return float((windows @ templates.T).max())


# Filters of thumbnails are matrices: importing SciPy's filters would take a third of a second.


def _apply_both_ways(weights: FloatArray, thumbnail: FloatArray) -> FloatArray:
    return np.asarray(weights @ thumbnail @ weights.T)


def _blur_weights(n: int, width: float) -> FloatArray:
    """Return the weights (n, n) of a Gaussian; values at the border are repeated beyond it."""
    offsets = np.arange(-round(4 * width), round(4 * width) + 1)
    bell = np.exp(-0.5 * (offsets / width) ** 2)
    weights = np.zeros((n, n))
    rows = np.arange(n)[:, np.newaxis]
    np.add.at(weights, (rows, np.clip(rows + offsets, 0, n - 1)), bell / bell.sum())
    return weights


def _interpolation_weights(positions: FloatArray, n: int) -> FloatArray:
    """Return the weights (m, n) of linear interpolation between n values at m positions."""
    before = np.clip(np.floor(positions).astype(np.intp), 0, n - 2)
    share = np.clip(positions - before, 0, 1)
    weights, rows = np.zeros((len(positions), n)), np.arange(len(positions))
    weights[rows, before], weights[rows, before + 1] = 1 - share, share
    return weights


def _normalize(rows: FloatArray) -> FloatArray:
    """Shift and scale rows to mean 0 and length 1; flat rows become 0."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    normalized: FloatArray = np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > 0)
    return normalized


@dataclass(frozen=True)
class OtherScene:
    """A frame that shows another scene than most frames."""

    number: int
    nearest: int  # the most similar of the frames of the main scene near it
    likeness: float  # to that frame


def find_blank(summaries: Mapping[int, FrameSummary]) -> set[int]:
    """Return the frames that show nothing, such as black ones, compared with the others."""
    contrasts = {k: 0.0 if s.thumbnail is None else s.thumbnail.std() for k, s in summaries.items()}
    least = _BLANK * max(contrasts.values(), default=0.0)
    return {k for k, contrast in contrasts.items() if contrast <= least}


def find_other_scenes(summaries: Mapping[int, FrameSummary]) -> list[OtherScene]:
    """Return the frames that show another scene than most frames; without a majority, than the first."""
    scenes: list[list[int]] = []  # the last one was extended last
    closed: list[list[int]] = []
    blank = find_blank(summaries)
    for k in summaries:
        if k in blank:
            continue
        scene = next(
            (s for s in reversed(scenes) if _most_similar(summaries, k, s[-_RECENT:])[1] >= LEAST_LIKENESS),
            [],
        )
        scenes = [*(s for s in scenes if s is not scene), scene]
        scene.append(k)
        closed += scenes[:-_MAX_SCENES]
        scenes = scenes[-_MAX_SCENES:]
    scenes = sorted([*closed, *scenes])
    if len(scenes) < 2:
        return []
    main = max(scenes, key=len)
    others = sorted(k for scene in scenes if scene is not main for k in scene)
    near = {k: sorted(main, key=lambda other: abs(other - k))[:_RECENT] for k in others}
    return [OtherScene(k, *_most_similar(summaries, k, near[k])) for k in others]


def _most_similar(summaries: Mapping[int, FrameSummary], k: int, others: Sequence[int]) -> tuple[int, float]:
    """Return the frame among `others` that is most similar to frame k, and their likeness."""
    scores = [likeness(_thumbnail(summaries[other]), _thumbnail(summaries[k])) for other in others]
    best = int(np.argmax(scores))
    return others[best], scores[best]


def _thumbnail(summary: FrameSummary) -> FloatArray:
    assert summary.thumbnail is not None  # blank frames are never compared
    return summary.thumbnail


def find_copies(summaries: Mapping[int, FrameSummary], frames: Frames) -> dict[int, int]:
    """Return the frames that equal an earlier frame in every pixel, with the number of that frame."""
    originals: dict[bytes, list[int]] = {}
    copies = {}
    for k, summary in summaries.items():
        candidates = originals.setdefault(summary.samples, [])
        same = next((first for first in candidates if _are_equal(frames, first, k)), None)
        if same is None:
            candidates.append(k)
        else:
            copies[k] = same
    return copies


def _are_equal(frames: Frames, first: int, second: int) -> bool:
    """Compare two frames in bands of rows, as they may be larger than memory."""
    height, width = frames.shape[1:3]
    rows = max(1, _PIXELS_AT_ONCE // width)
    bands = [(slice(top, min(top + rows, height)), slice(0, width)) for top in range(0, height, rows)]
    return all(np.array_equal(frames[first, *band], frames[second, *band]) for band in bands)
