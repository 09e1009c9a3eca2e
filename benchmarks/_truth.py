"""Scenes with ground truth, and clean frames composed by decisions on noisy frames."""

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import panfocus as pf
from benchmarks._data import need_data
from panfocus.compare import Scene, find_groups
from panfocus.metrics import psnr_rgb

Frames = NDArray[np.uint8] | NDArray[np.uint16]

SETS = ("real-mff", "mfi-whu")
HALVES = ("choose", "report")  # settings are chosen on the 1st, 3rd, ... scene by name
BORDER = 8
SEED = 5


def scenes() -> Iterator[tuple[str, str, Scene]]:
    """Yield set, half and scene."""
    for name in SETS:
        (group,) = find_groups([need_data() / "groundtruth" / name])
        for i, scene in enumerate(group.scenes):
            yield name, HALVES[i % 2], scene


def colour_psnr(image: Frames, truth: Frames) -> float:
    """Return the PSNR of the three channels together, without the border."""
    inside = np.s_[BORDER:-BORDER, BORDER:-BORDER]
    return psnr_rgb(truth[inside], image[inside])


def full_range(frames: Frames) -> int:
    """Return the largest value of the fewest bits, 8 or more, that hold the frames, such as 4095."""
    return 2 ** max(8, int(frames.max()).bit_length()) - 1


def noisy(frames: Frames, sigma: float, white: float = 255) -> Frames:
    """Add normal noise of `sigma` levels, of which white has 255, to every frame, with a fixed seed."""
    noise = np.random.default_rng(SEED).normal(0, sigma * white / 255, frames.shape)
    return np.clip(np.rint(frames + noise), 0, full_range(frames)).astype(frames.dtype)


def composed_clean(name: str, decided_on: Frames, clean: Frames) -> pf.FusionResult:
    """Decide on noisy frames with a method, and compose clean frames by its votes."""
    decided = pf.fuse(decided_on, name, maps=("labels", "votes"), hot_pixels="off", exposure="off")
    return dataclasses.replace(decided, image=pf.apply(decided, clean))
