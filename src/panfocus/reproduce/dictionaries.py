"""The dictionaries of all experiments, learned as in the paper, and Fig. 5: coupled beside separate ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._progress import Progress
from panfocus.decide.gray import to_gray
from panfocus.dictionary import CoupledDictionary, atoms_picture
from panfocus.methods.sr_fm import SrFm
from panfocus.reproduce.elements import Section, figure, gallery, paragraph, plain_table, shown
from panfocus.reproduce.numbers import Number
from panfocus.reproduce.settings import Plan

PART = "dictionaries"
STAGE = "learn dictionaries"
KINDS = ("coupled", "separate")  # separate: each half by K-SVD alone


@dataclass(frozen=True, eq=False)
class Dictionaries:
    """All that is learned, once."""

    draws: dict[int, dict[str, CoupledDictionary]]  # by seed, the first being that of the tables, and kind
    focus_maps: CoupledDictionary  # for SR-FM
    by_patch_size: dict[int, CoupledDictionary]  # coupled, 4 atoms a pixel and half

    @property
    def kinds(self) -> dict[str, CoupledDictionary]:
        """Both kinds, from the draw of the tables."""
        return next(iter(self.draws.values()))

    @property
    def coupled(self) -> CoupledDictionary:
        """The one of the tables."""
        return self.kinds["coupled"]

    @property
    def separate(self) -> CoupledDictionary:
        """The one of the tables."""
        return self.kinds["separate"]


def learn_dictionaries(
    focused: Sequence[NDArray[Any]], blurred: Sequence[NDArray[Any]], plan: Plan, progress: Progress
) -> Dictionaries:
    """Learn from the training pairs."""
    pairs = [[to_gray(image) for image in images] for images in (focused, blurred)]
    seeds = (plan.seed, *plan.more_seeds)
    sizes = [size for size in plan.patch_sizes if size != plan.patch_size]
    steps = len(seeds) + len(sizes) + 1
    draws = {}
    for i, seed in enumerate(seeds):
        progress(STAGE, i / steps)
        options = _options(plan, plan.patch_size, seed)
        draws[seed] = {
            kind: CoupledDictionary.learn(*pairs, separate=kind == "separate", **options) for kind in KINDS
        }
    by_patch_size = {plan.patch_size: draws[plan.seed]["coupled"]}
    for i, size in enumerate(sizes, start=len(seeds)):
        progress(STAGE, i / steps)
        by_patch_size[size] = CoupledDictionary.learn(*pairs, **_options(plan, size, plan.seed))
    progress(STAGE, (steps - 1) / steps)
    focus_maps = SrFm.learn_dictionary([*pairs[0], *pairs[1]], **_options(plan, plan.patch_size, plan.seed))
    progress(STAGE, 1.0)
    return Dictionaries(draws, focus_maps, by_patch_size)


def _options(plan: Plan, patch_size: int, seed: int) -> dict[str, Any]:
    return {
        "patch_size": patch_size,
        "n_atoms": 4 * patch_size**2,
        "n_samples": plan.n_samples,
        "rounds": plan.rounds,
        "rng": seed,
    }


def section(dictionaries: Dictionaries, plan: Plan) -> Section:
    """Show the atoms of both kinds of learning, and how far those of a pair belong together."""
    correlations = {
        kind: float(np.abs(learned.pair_correlations()).mean())
        for kind, learned in dictionaries.kinds.items()
    }
    return Section(
        PART,
        "Fig. 5: coupled and separately learned dictionaries",
        paragraph(
            f"Learned from {plan.n_samples:,} pairs of patches of the training crops, {plan.rounds} rounds "
            f"of coding and update, seed {plan.seed}. Separate learning is K-SVD for each half. Above, the "
            "focused and the blurred half, as in the paper; below, atom by atom, focused left and blurred "
            "right."
        )
        + gallery(
            *(
                figure(
                    shown(atoms_picture(learned), f"atoms, {kind}"), f"{kind}: {learned.n_atoms} atoms a half"
                )
                for kind, learned in dictionaries.kinds.items()
            ),
            large=True,
        )
        + plain_table(
            ["", "mean |correlation| of the two atoms of a pair"],
            [(kind, f"{value:.3f}") for kind, value in correlations.items()],
        ),
        tuple(Number(PART, kind, "", "pair correlation", value) for kind, value in correlations.items()),
    )
