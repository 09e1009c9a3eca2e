"""The dictionaries of all experiments, learned as in the paper, and Fig. 5: coupled beside separate ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._progress import Progress
from panfocus.dictionary import CoupledDictionary, atoms_picture
from panfocus.gray import to_gray
from panfocus.methods.sr_fm import SrFm
from panfocus.reproduce.elements import Section, figure, gallery, paragraph, plain_table, shown
from panfocus.reproduce.numbers import Number
from panfocus.reproduce.plan import Plan

PART = "dictionaries"


@dataclass(frozen=True, eq=False)
class Dictionaries:
    """All that is learned, once."""

    coupled: CoupledDictionary
    separate: CoupledDictionary  # each half by K-SVD alone
    focus_maps: CoupledDictionary  # for SR-FM
    by_patch_size: dict[int, CoupledDictionary]  # coupled, 4 atoms a pixel and half


def learn_dictionaries(
    focused: Sequence[NDArray[Any]], blurred: Sequence[NDArray[Any]], plan: Plan, progress: Progress
) -> Dictionaries:
    """Learn from the training pairs."""
    sizes = sorted({*plan.patch_sizes, plan.patch_size} - {plan.patch_size})
    progress("learn dictionaries", 0.0)
    coupled, separate = learn_both(focused, blurred, plan, seed=plan.seed)
    planes = [to_gray(image) for image in (*focused, *blurred)]
    focus_maps = SrFm.learn_dictionary(planes, **_options(plan, plan.patch_size, plan.seed))
    by_patch_size = {plan.patch_size: coupled}
    for i, size in enumerate(sizes):
        progress("learn dictionaries", (i + 1) / (len(sizes) + 1))
        by_patch_size[size] = CoupledDictionary.learn(
            planes[: len(focused)], planes[len(focused) :], **_options(plan, size, plan.seed)
        )
    progress("learn dictionaries", 1.0)
    return Dictionaries(coupled, separate, focus_maps, by_patch_size)


def learn_both(
    focused: Sequence[NDArray[Any]], blurred: Sequence[NDArray[Any]], plan: Plan, *, seed: int
) -> tuple[CoupledDictionary, CoupledDictionary]:
    """Learn a coupled and a separate dictionary from the same draw of training patches."""
    pairs = [[to_gray(image) for image in images] for images in (focused, blurred)]
    options = _options(plan, plan.patch_size, seed)
    return (
        CoupledDictionary.learn(*pairs, **options),
        CoupledDictionary.learn(*pairs, separate=True, **options),
    )


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
    kinds = {"coupled": dictionaries.coupled, "separate": dictionaries.separate}
    correlations = {
        kind: float(np.abs(learned.pair_correlations()).mean()) for kind, learned in kinds.items()
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
                for kind, learned in kinds.items()
            ),
            large=True,
        )
        + plain_table(
            ["", "mean |correlation| of the two atoms of a pair"],
            [(kind, f"{value:.3f}") for kind, value in correlations.items()],
        ),
        tuple(Number(PART, kind, "", "pair correlation", value) for kind, value in correlations.items()),
    )
