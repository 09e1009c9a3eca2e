"""Accuracy of the labels of `panfocus`, by confidence.

    python -m benchmarks.reliability

Rendered stacks: where there is texture and some frame is in focus, the right frame is focused nearest to the
true depth. Real-MFF: the right frame has the smaller squared error over 9 x 9 pixels, where the errors differ
by 4 squared levels or more.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

import panfocus as pf
from benchmarks import _truth, rendered_stacks
from panfocus.compare import Scene
from panfocus.io.read_stack import read_image, read_stack

BOUNDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0)  # of confidence; bins include the upper one
BORDER = 8  # ignored pixels on each side
SIDE, LEAST_DIFFERENCE = 9, 4.0  # side of the squares in pixels; smallest difference in squared levels


class Judged(NamedTuple):
    """Labels of some pixels."""

    confidence: NDArray[np.float32]
    right: NDArray[np.bool_]


class Bin(NamedTuple):
    """Labels of similar confidence."""

    confidence: float
    right: float  # share of right labels
    part: float  # share of all labels


def judged_by_depth(result: pf.FusionResult, scene: rendered_stacks.RenderedScene) -> Judged:
    """Compare labels with the true depth."""
    truth = scene.truth
    nearest = np.clip(np.rint(truth.depth), 0, len(scene.frames) - 1)
    return _inside(result, nearest, truth.textured & ~truth.never_in_focus)


def judged_by_reference(result: pf.FusionResult, frames: _truth.Frames, reference: _truth.Frames) -> Judged:
    """Compare the labels of two frames with the frame that is closer to the reference."""
    first, second = (
        uniform_filter(np.mean((frame.astype(np.float64) - reference) ** 2, axis=2), SIDE) for frame in frames
    )
    return _inside(result, second < first, np.abs(first - second) >= LEAST_DIFFERENCE)


def _inside(result: pf.FusionResult, right: NDArray[np.generic], where: NDArray[np.bool_]) -> Judged:
    assert result.labels is not None
    assert result.confidence is not None
    cut = np.s_[BORDER:-BORDER, BORDER:-BORDER]
    chosen = where[cut]
    return Judged(result.confidence[cut][chosen], (result.labels == right)[cut][chosen])


def reliability(labels: list[Judged]) -> list[Bin]:
    """Sort labels by confidence into bins; empty bins are left out."""
    confidence, right = (np.concatenate(values) for values in zip(*labels, strict=True))
    bins = []
    for low, high in pairwise(BOUNDS):
        here = (confidence > low) & (confidence <= high)
        if here.any():
            bins.append(Bin(float(confidence[here].mean()), float(right[here].mean()), float(here.mean())))
    return bins


def _real(half: str) -> Iterator[Scene]:
    return (scene for name, of, scene in _truth.scenes() if name == "real-mff" and of == half)


def main() -> None:
    """Print a table per group of scenes."""
    groups: dict[str, list[Judged]] = {}
    for group in rendered_stacks.SETTINGS:
        groups[f"rendered, {group}"] = [
            judged_by_depth(pf.fuse(scene.frames), scene) for scene in rendered_stacks.scenes(group)
        ]
    for half in _truth.HALVES:
        stacks = [(read_stack(scene.sources).frames, read_image(scene.reference)) for scene in _real(half)]
        groups[f"real-mff, {half}"] = [
            judged_by_reference(pf.fuse(frames), frames, reference) for frames, reference in stacks
        ]
    for name, labels in groups.items():
        print(f"\n{name}\nconfidence  right  of all labels")
        for one in reliability(labels):
            print(f"{one.confidence:10.4f} {one.right:6.3f} {one.part:14.4f}")


if __name__ == "__main__":
    main()
