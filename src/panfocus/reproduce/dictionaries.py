"""The learned dictionaries, Fig. 5, and the methods that use them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from panfocus._progress import Progress, track
from panfocus.decide.gray import to_gray
from panfocus.dictionary import CoupledDictionary, atoms_picture
from panfocus.methods import FusionMethod, get_method
from panfocus.methods.sr_fm import SrFm
from panfocus.reproduce.elements import Number, Section, embed_image, figure, gallery, paragraph, plain_table
from panfocus.reproduce.image_sets import SceneImages
from panfocus.reproduce.paper import PROPOSED, RIVAL, Experiment

PART = "dictionaries"
STAGE = "learn dictionaries"
KINDS = ("coupled", "separate")  # separate: each half by K-SVD alone


@dataclass(frozen=True, eq=False)
class Dictionaries:
    """All learned dictionaries."""

    draws: dict[int, dict[str, CoupledDictionary]]  # by seed (the first is used in the tables) and kind
    focus_maps: CoupledDictionary  # for SR-FM
    by_patch_size: dict[int, CoupledDictionary]  # coupled, 4 atoms per pixel in each half

    @property
    def kinds(self) -> dict[str, CoupledDictionary]:
        """Both kinds from the draw of the tables."""
        return next(iter(self.draws.values()))


def learn_dictionaries(
    training: Sequence[SceneImages], experiment: Experiment, progress: Progress
) -> Dictionaries:
    """Learn all dictionaries from the training pairs."""
    pairs = [[to_gray(pair.frames[k]) for pair in training] for k in (0, 1)]

    def options(size: int, seed: int) -> dict[str, Any]:
        sizes = {"n_samples": experiment.n_samples, "rounds": experiment.rounds}
        return {"patch_size": size, "n_atoms": 4 * size**2, "rng": seed, **sizes}

    default = experiment.patch_size
    seeds = (experiment.seed, *experiment.more_seeds)
    sizes = (default, *experiment.patch_sizes)
    wanted = [*product([default], seeds, KINDS), *product(sizes, [experiment.seed], ["coupled"])]
    learned = {
        (size, seed, kind): CoupledDictionary.learn(
            *pairs, separate=kind == "separate", **options(size, seed)
        )
        for size, seed, kind in track(dict.fromkeys(wanted), STAGE, progress)
    }
    return Dictionaries(
        {seed: {kind: learned[default, seed, kind] for kind in KINDS} for seed in seeds},
        SrFm.learn_dictionary([*pairs[0], *pairs[1]], **options(default, experiment.seed)),
        {size: learned[size, experiment.seed, "coupled"] for size in sizes},
    )


def section(dictionaries: Dictionaries, experiment: Experiment) -> Section:
    """Show the atoms of both kinds, and the correlation within pairs of atoms."""
    correlations = {
        kind: float(np.abs(learned.pair_correlations()).mean())
        for kind, learned in dictionaries.kinds.items()
    }
    return Section(
        PART,
        "Fig. 5: coupled and separately learned dictionaries",
        paragraph(
            f"Learned from {experiment.n_samples:,} pairs of patches of the training crops, "
            f"{experiment.rounds} rounds of coding and update, seed {experiment.seed}. Separate learning "
            "is K-SVD for each half. Above, the focused and the blurred half, as in the paper; below, "
            "pairs of atoms, focused on the left, blurred on the right."
        )
        + gallery(
            *(
                figure(
                    embed_image(atoms_picture(learned), f"atoms, {kind}"),
                    f"{kind}: {learned.n_atoms} atoms per half",
                )
                for kind, learned in dictionaries.kinds.items()
            ),
            large=True,
        )
        + plain_table(
            ["", "mean |correlation| of the two atoms of a pair"],
            [(kind, f"{value:.3f}") for kind, value in correlations.items()],
        ),
        tuple(Number(kind, "", "pair correlation", value) for kind, value in correlations.items()),
    )


def build_methods(dictionaries: Dictionaries, experiment: Experiment) -> dict[str, FusionMethod]:
    """Return the seven methods of the tables, by their names in the paper.

    Settings that the paper does not state have their defaults; `variants` tries others. Like the paper, codes
    have no limit of atoms.
    """
    kinds = dictionaries.kinds
    coding: dict[str, Any] = {"eps": experiment.eps, "max_atoms": 0}
    return {
        "DWT": get_method("dwt"),
        "PCA": get_method("pca"),
        "DSIFT": get_method("dsift", refinement="none"),  # "without applying any post-processing"
        "SR-FM": get_method("sr-fm", dictionary=dictionaries.focus_maps, eps=experiment.eps),
        "SR-CM": get_method("sr-cm", patch_size=experiment.patch_size, **coding),
        # Uses the focused half only.
        RIVAL: get_method("sr-ksvd", dictionary=kinds["separate"], **coding),
        PROPOSED: get_method("coupled", dictionary=kinds["coupled"], w=experiment.w, **coding),
    }
