"""Beyond the paper: decisions under noise, and the limit of atoms that they need (`max_atoms`)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from panfocus._progress import Progress, track
from panfocus.decide.compose import by_labels
from panfocus.decide.focus_measure import laplacian_energy
from panfocus.decide.gray import to_gray
from panfocus.methods import FusionMethod, get_method
from panfocus.metrics import psnr_rgb
from panfocus.pipeline import fuse
from panfocus.reproduce.elements import Number, Section, drawing, paragraph, plain_table, tag
from panfocus.reproduce.image_sets import SceneImages
from panfocus.reproduce.paper import MEASURES, PROPOSED, RIVAL, Experiment
from panfocus.reproduce.plots import curves
from panfocus.reproduce.tables import SYMBOLS, TableResults

PART = "noise"
LIMITED = ("SR-CM", RIVAL, PROPOSED)  # methods with a limit of atoms; the paper has none
OTHERS = ("DSIFT", "SR-FM")
BLUR = 4.0  # px: of the whole image in one of two frames
SHARE, QUALITY = "pixels from the sharp frame, %", "PSNR of clean frames by noisy decisions, dB"


@dataclass(frozen=True)
class NoiseSweep:
    """Scores at every noise level, and means over the grey sets for every limit of atoms."""

    scene: str
    levels: tuple[float, ...]
    limits: tuple[int, ...]  # the last one, 0, is the paper's: none
    scores: dict[tuple[str, str], list[float]]  # by case and measure, for every level
    means: dict[tuple[str, str], list[float]]  # by method and measure, for every limit


def limited(name: str) -> str:
    """Return the name of a method with the default limit of atoms."""
    return f"{name}, limited"


def run_noise(
    scenes: Sequence[SceneImages], results: TableResults, experiment: Experiment, progress: Progress
) -> NoiseSweep:
    """Decide on a noisy scene with ground truth, and fuse the grey sets with every limit of atoms."""
    scene = max((_middle(scene, experiment.noise_side) for scene in scenes), key=_detail)
    methods: dict[str, Any] = results.methods  # dataclasses
    default = get_method("coupled").max_atoms  # type: ignore[attr-defined]
    cases = {name: methods[name] for name in (*OTHERS, *LIMITED)}
    cases |= {limited(name): replace(methods[name], max_atoms=default) for name in LIMITED}
    limits = (*experiment.atom_limits, 0)
    sweep = NoiseSweep(scene.name, experiment.noise_levels, limits, {}, {})
    work = [*product(cases.items(), sweep.levels), *product(LIMITED, limits)]
    for case, value in track(work, PART, progress):
        if isinstance(case, str):
            method = replace(methods[case], max_atoms=value)
            scores = [results.score(name, method) for name in results.sets]
            for measure in MEASURES:
                mean = float(np.mean([score[measure] for score in scores]))
                sweep.means.setdefault((case, measure), []).append(mean)
        else:
            name, method = case
            for measure, score in _score(scene, method, value, experiment.seed).items():
                sweep.scores.setdefault((name, measure), []).append(score)
    return sweep


def _middle(scene: SceneImages, side: int) -> SceneImages:
    """Return the middle of a scene, at most `side` pixels high and wide."""
    assert scene.reference is not None
    starts = [max(0, (length - side) // 2) for length in scene.reference.shape[:2]]
    place = tuple(slice(start, start + side) for start in starts)
    return SceneImages(scene.name, scene.frames[:, *place], scene.reference[place])


def _detail(scene: SceneImages) -> float:
    assert scene.reference is not None
    return float(laplacian_energy(to_gray(scene.reference)).mean())


def _score(scene: SceneImages, method: FusionMethod, level: float, seed: int) -> dict[str, float]:
    truth = scene.reference
    assert truth is not None
    soft = gaussian_filter(truth.astype(float), (BLUR, BLUR, 0))
    composed = by_labels(scene.frames, _labels(scene.frames, method, level, seed))
    return {
        SHARE: 100 * float(np.mean(_labels(np.stack([soft, truth]), method, level, seed) == 1)),
        QUALITY: psnr_rgb(truth, composed),
    }


def _labels(frames: NDArray[Any], method: FusionMethod, level: float, seed: int) -> NDArray[Any]:
    """Return the labels of frames with normal noise of `level` levels of 255."""
    noise = np.random.default_rng(seed).normal(0, level, frames.shape)
    noisy = np.clip(np.rint(frames + noise), 0, 255).astype(np.uint8)
    labels = fuse(noisy, method, hot_pixels="off", exposure="off").labels
    assert labels is not None
    return labels


def section(sweep: NoiseSweep) -> Section:
    """Show the scores against the noise, and the means against the limit of atoms."""
    drawn = [case for name in (RIVAL, PROPOSED) for case in (name, limited(name))]
    noise = {measure: {case: sweep.scores[case, measure] for case in drawn} for measure in (SHARE, QUALITY)}
    atoms = {
        SYMBOLS[measure]: {name: sweep.means[name, measure][:-1] for name in LIMITED} for measure in MEASURES
    }
    body = (
        paragraph(
            "The paper's codes have as many atoms as the error bound needs. Noise needs dozens of nearly "
            "parallel atoms with a large l1 norm: then the blurred frame wins. By default, panfocus limits "
            "the atoms, more so in noise (“limited”). The tables above have the paper's codes."
        )
        + tag("h3", "Noise")
        + drawing(
            curves(sweep.levels, noise, x_label="deviation of the noise, levels of 255"),
            "curves against noise",
            f"Middle of {sweep.scene}, the held-out scene with the most detail there. Left: the truth, and "
            f"the truth blurred by {BLUR:g} px. Right: the frames of the scene.",
        )
        + "".join(
            plain_table(
                [measure, *(f"noise {level:g}" for level in sweep.levels)],
                [
                    (case, *(f"{score:.2f}" for score in scores))
                    for (case, of), scores in sweep.scores.items()
                    if of == measure
                ],
            )
            for measure in (SHARE, QUALITY)
        )
        + tag("h3", "Limit of atoms")
        + drawing(
            curves(sweep.limits[:-1], atoms, x_label="largest number of atoms"),
            "curves against the limit of atoms",
            "Means over the grey sets, which have little noise.",
        )
        + plain_table(
            ["limit", *(f"{name}, {SYMBOLS[measure]}" for name, measure in sweep.means)],
            [
                (limit or "none (the paper)", *(f"{means[i]:.4f}" for means in sweep.means.values()))
                for i, limit in enumerate(sweep.limits)
            ],
        )
    )
    return Section(
        PART,
        "Beyond the paper: noise and the limit of atoms",
        body,
        (
            *(
                Number(sweep.scene, f"{case}, noise {level:g}", measure, score)
                for (case, measure), scores in sweep.scores.items()
                for level, score in zip(sweep.levels, scores, strict=True)
            ),
            *(
                Number("mean of grey sets", f"{name}, max_atoms={limit}", measure, mean)
                for (name, measure), means in sweep.means.items()
                for limit, mean in zip(sweep.limits, means, strict=True)
            ),
        ),
    )
