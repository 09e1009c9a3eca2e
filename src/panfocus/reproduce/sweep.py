"""The paper's method on the grey sets in many settings: what Fig. 6 and Fig. 13 to 15 are drawn from."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from panfocus._progress import Progress
from panfocus.reproduce.coding import READINGS, CodedScene
from panfocus.reproduce.dictionaries import Dictionaries
from panfocus.reproduce.paper import MEASURES
from panfocus.reproduce.sets import Pictures
from panfocus.reproduce.settings import Plan

STAGE = "settings of the proposed method"


@dataclass(frozen=True)
class Setting:
    """What the paper varies of its method."""

    dictionary: str  # coupled or separate
    patch_size: int
    eps: float
    w: float

    @classmethod
    def usual(cls, plan: Plan) -> "Setting":
        """Return the setting of the tables."""
        return cls("coupled", plan.patch_size, plan.eps, plan.w)


@dataclass(frozen=True)
class Sweep:
    """Scores by setting, reading, measure and set."""

    sets: tuple[str, ...]
    scores: dict[tuple[Setting, str, str, str], float]

    def of_sets(self, setting: Setting, reading: str, measure: str) -> list[float]:
        """Return the scores of all sets, in their order."""
        return [self.scores[setting, reading, measure, name] for name in self.sets]

    def mean(self, setting: Setting, reading: str, measure: str) -> float:
        """Return the mean over the sets."""
        return float(np.mean(self.of_sets(setting, reading, measure)))


def run_sweep(sets: Sequence[Pictures], dictionaries: Dictionaries, plan: Plan, progress: Progress) -> Sweep:
    """Fuse the sets in all settings, in both readings; where only w differs, patches are coded once."""
    usual = Setting.usual(plan)
    weights: defaultdict[Setting, list[float]] = defaultdict(list)
    for setting in dict.fromkeys(_settings(plan)):
        weights[replace(setting, w=usual.w)].append(setting.w)
    scores: dict[tuple[Setting, str, str, str], float] = {}
    done = 0
    progress(STAGE, 0.0)
    for pictures in sets:
        for setting, w_values in weights.items():
            dictionary = (
                dictionaries.separate
                if setting.dictionary == "separate"
                else dictionaries.by_patch_size[setting.patch_size]
            )
            coded = CodedScene.of(pictures.frames, dictionary, eps=setting.eps)
            for w in w_values:
                for reading in READINGS:
                    fused = coded.fuse(w=w, contrast=reading)
                    for key, value in pictures.score(fused, MEASURES).items():
                        scores[replace(setting, w=w), reading, key, pictures.name] = value
            done += 1
            progress(STAGE, done / (len(sets) * len(weights)))
    return Sweep(tuple(pictures.name for pictures in sets), scores)


def _settings(plan: Plan) -> Iterable[Setting]:
    usual = Setting.usual(plan)
    yield usual
    yield replace(usual, dictionary="separate")
    yield from (replace(usual, w=w) for w in plan.w_values)
    yield from (replace(usual, eps=eps) for eps in plan.eps_values)
    yield from (replace(usual, patch_size=size) for size in plan.patch_sizes)
