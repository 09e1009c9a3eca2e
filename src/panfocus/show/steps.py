"""Small pictures of the stages of a fusion, and an animated sweep through its depths."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from panfocus._downscale import reduced, reduction
from panfocus._intensity import FloatArray
from panfocus.show.colormap import Pixels, apply_colormap, make_thumbnail, to_bytes

if TYPE_CHECKING:
    from panfocus.result import FusionResult
    from panfocus.stack import Frames

LARGEST_SIDE = 800  # pixels
CERTAIN = 8.0  # log odds that are shown as black or white

# Sweep.
MILLISECONDS = 80  # per picture
FEWEST, MOST = 24, 60  # pictures
DARK = 0.2  # brightness of other depths
WIDTH = 1 / 14  # standard deviation of the lit depths, of the range of depths; at least half a frame


def step_pictures(frames: "Frames", result: "FusionResult") -> Iterator[tuple[str, Pixels]]:
    """Yield names and pictures of frames, decisions and maps, as far as the method provides them."""
    from panfocus.decide.gray import to_gray

    digits = max(2, len(str(len(frames))))

    def number(k: int) -> str:
        return f"{k + 1:0{digits}}"

    for k in range(len(frames)):
        frame = np.asarray(frames[k])
        yield f"1-frame-{number(k)}", make_thumbnail(frame, LARGEST_SIDE)
        yield f"2-grey-{number(k)}", make_thumbnail(np.clip(to_gray(frame), 0, None), LARGEST_SIDE)
    if result.log_odds is not None:
        for k in range(len(result.log_odds)):
            odds = _small(result.log_odds[k].astype(np.float32))
            yield f"3-odds-{number(k)}-{number(k + 1)}", to_bytes(0.5 + odds / (2 * CERTAIN))
    if result.votes is not None:
        votes = result.votes
        total = sum(_small(votes[k].astype(np.float32)) for k in range(len(votes)))
        for k in range(len(votes)):
            yield f"4-weight-{number(k)}", to_bytes(_small(votes[k].astype(np.float32)) / total)
    if result.slabs is not None:
        for s in range(len(result.slabs)):
            yield f"4-slab-{number(s)}", make_thumbnail(np.asarray(result.slabs[s]), LARGEST_SIDE)
    last = len(frames) - 1
    if result.labels is not None:
        step = reduction(result.labels.shape, LARGEST_SIDE)
        # Labels cannot be averaged.
        yield "5-labels", apply_colormap(result.labels[::step, ::step] / last)
    if result.confidence is not None:
        yield "6-confidence", to_bytes(_small(result.confidence))
    if result.depth is not None:
        yield "7-depth", apply_colormap(_small(result.depth) / last)
    if result.never_in_focus is not None:
        yield "8-never-in-focus", to_bytes(_small(result.never_in_focus.astype(np.float32)))
    yield "9-fused", make_thumbnail(result.image, LARGEST_SIDE)


def _small(plane: NDArray[Any]) -> NDArray[Any]:
    return reduced(plane, reduction(plane.shape, LARGEST_SIDE))


def sweep(image: NDArray[Any], depth: FloatArray, n_frames: int) -> Iterator[Pixels]:
    """Yield pictures (h, w, 3) in which each depth lights up in turn, from the first frame to the last."""
    bright = make_thumbnail(image, LARGEST_SIDE).astype(np.float32)
    near = _small(depth)
    width = max(0.5, WIDTH * (n_frames - 1))
    for here in np.linspace(0, n_frames - 1, int(np.clip(4 * n_frames, FEWEST, MOST))):
        light = np.exp(-0.5 * ((near - here) / width) ** 2)
        yield np.rint((DARK + (1 - DARK) * light[..., None]) * bright).astype(np.uint8)
