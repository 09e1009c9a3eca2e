"""Scores of the paper's method over many settings, for Fig. 6 and Fig. 13 to 15.

Neither w nor the reading of the norm changes the sparse codes. Therefore each scene is coded once and decided
many times, by the steps of the method `coupled`. A test compares the fused images bit for bit.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntArray
from panfocus._progress import Progress
from panfocus._threads import map_blocks
from panfocus.decide.compose import by_votes
from panfocus.decide.gray import to_gray
from panfocus.decide.labels import vote_shares
from panfocus.decide.patches import centred_patches, patch_origins, spread_each
from panfocus.dictionary import CoupledDictionary
from panfocus.methods.coupled import Contrast, patch_activity
from panfocus.reproduce.dictionaries import Dictionaries
from panfocus.reproduce.image_sets import SceneImages
from panfocus.reproduce.paper import MEASURES, Experiment
from panfocus.sparse import Pursuit

# Readings of the norm in step 2 of Algorithm 1: the setting `contrast` of `coupled`.
READINGS: tuple[Contrast, ...] = get_args(Contrast)
STAGE = "settings of the proposed method"

_ROWS = 8  # rows of patches that a thread codes at a time


@dataclass(frozen=True, eq=False)
class CodedScene:
    """Norms of the codes of all patches of all frames, as Eq. (7) needs them."""

    frames: NDArray[Any]  # (n, h, w) or (n, h, w, c)
    patch_size: int
    l1: FloatArray  # (n, levels, patches): norms of the codes on each half
    energies: FloatArray  # (n, patches): squared norms of the patches themselves

    @classmethod
    def encode(cls, frames: NDArray[Any], dictionary: CoupledDictionary, *, eps: float) -> "CodedScene":
        """Code every patch of every frame, Eq. (6)."""
        size = dictionary.patch_size
        pursuit = Pursuit(dictionary.matrix, max_atoms=size**2, max_sq_error=eps)
        rows, cols = _origins(frames, size)
        planes = [to_gray(frame) for frame in frames]

        def code(block: tuple[FloatArray, IntArray]) -> tuple[FloatArray, FloatArray]:
            patches, energies = centred_patches(*block, cols, size)
            return pursuit.l1_norms(patches, segments=dictionary.n_levels), energies

        blocks = [
            (plane, rows[start : start + _ROWS]) for plane in planes for start in range(0, len(rows), _ROWS)
        ]
        l1, energies = zip(*map_blocks(code, blocks), strict=True)
        n = len(frames)
        return cls(
            frames,
            size,
            np.concatenate(l1, axis=1).reshape(dictionary.n_levels, n, -1).swapaxes(0, 1),
            np.concatenate(energies).reshape(n, -1),
        )

    def fuse(self, *, w: float, contrast: Contrast) -> NDArray[Any]:
        """Decide and compose, Eq. (7) and (8), like `coupled` with these settings."""
        rows, cols = _origins(self.frames, self.patch_size)
        activities = [
            patch_activity(l1, energies, w=w, contrast=contrast)
            for l1, energies in zip(self.l1, self.energies, strict=True)
        ]
        shares = vote_shares(np.stack(activities)).reshape(len(self.frames), len(rows), len(cols))
        return by_votes(self.frames, spread_each(shares, self.frames.shape[1:3], rows, cols, self.patch_size))


def _origins(frames: NDArray[Any], size: int) -> tuple[IntArray, IntArray]:
    height, width = frames.shape[1:3]
    return patch_origins(height, size, 1), patch_origins(width, size, 1)


@dataclass(frozen=True)
class SweepPoint:
    """Settings of the method that the paper varies."""

    dictionary: str  # coupled or separate
    patch_size: int
    eps: float
    w: float

    @classmethod
    def default(cls, experiment: Experiment) -> "SweepPoint":
        """Return the settings of the tables."""
        return cls("coupled", experiment.patch_size, experiment.eps, experiment.w)


@dataclass(frozen=True)
class Sweep:
    """Scores by settings, reading, measure and set."""

    sets: tuple[str, ...]
    scores: dict[tuple[SweepPoint, str, str, str], float]

    def by_set(self, point: SweepPoint, reading: str, measure: str) -> list[float]:
        """Return the scores of all sets, in order."""
        return [self.scores[point, reading, measure, name] for name in self.sets]

    def mean(self, point: SweepPoint, reading: str, measure: str) -> float:
        """Return the mean over the sets."""
        return float(np.mean(self.by_set(point, reading, measure)))


def run_sweep(
    sets: Sequence[SceneImages], dictionaries: Dictionaries, experiment: Experiment, progress: Progress
) -> Sweep:
    """Fuse the sets with all settings in both readings. Patches are coded once for all values of w."""
    default = SweepPoint.default(experiment)
    weights: defaultdict[SweepPoint, list[float]] = defaultdict(list)
    for point in dict.fromkeys(_points(experiment)):
        weights[replace(point, w=default.w)].append(point.w)
    scores: dict[tuple[SweepPoint, str, str, str], float] = {}
    done = 0
    progress(STAGE, 0.0)
    for scene in sets:
        for point, w_values in weights.items():
            dictionary = (
                dictionaries.separate
                if point.dictionary == "separate"
                else dictionaries.by_patch_size[point.patch_size]
            )
            coded = CodedScene.encode(scene.frames, dictionary, eps=point.eps)
            for w in w_values:
                for reading in READINGS:
                    fused = coded.fuse(w=w, contrast=reading)
                    for key, value in scene.score(fused, MEASURES).items():
                        scores[replace(point, w=w), reading, key, scene.name] = value
            done += 1
            progress(STAGE, done / (len(sets) * len(weights)))
    return Sweep(tuple(scene.name for scene in sets), scores)


def _points(experiment: Experiment) -> Iterable[SweepPoint]:
    default = SweepPoint.default(experiment)
    yield default
    yield replace(default, dictionary="separate")
    yield from (replace(default, w=w) for w in experiment.w_values)
    yield from (replace(default, eps=eps) for eps in experiment.eps_values)
    yield from (replace(default, patch_size=size) for size in experiment.patch_sizes)
