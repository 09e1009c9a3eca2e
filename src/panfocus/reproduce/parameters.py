"""Fig. 6 and 13 to 15: coupled or separate dictionaries, w, eps and the patch size.

Neither w nor the reading of the norm changes the sparse codes. Therefore each scene is coded once and decided
many times, by the steps of the method `coupled`. A test compares the fused images bit for bit.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntArray
from panfocus._progress import Progress, track
from panfocus._threads import map_blocks
from panfocus.decide.compose import by_votes
from panfocus.decide.gray import to_gray
from panfocus.decide.labels import vote_shares
from panfocus.decide.patches import centred_patches, patch_origins, spread_each
from panfocus.dictionary import CoupledDictionary
from panfocus.methods.coupled import Contrast, patch_activity
from panfocus.reproduce.dictionaries import KINDS, Dictionaries
from panfocus.reproduce.elements import Number, Section, drawing, escape, paragraph, plain_table, tag
from panfocus.reproduce.image_sets import SceneImages
from panfocus.reproduce.paper import MEASURES, Experiment
from panfocus.reproduce.plots import bars, curves
from panfocus.reproduce.tables import SYMBOLS, format_signed
from panfocus.sparse import Pursuit

# Readings of the norm in step 2 of Algorithm 1: the setting `contrast` of `coupled`.
READINGS: tuple[Contrast, ...] = get_args(Contrast)
BEST_W = (0.54, 0.56)  # best values by the paper
BEST_EPS = 0.1

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


@dataclass(frozen=True)
class Curve:
    """Means over the grey sets for the values of one parameter."""

    x: tuple[float, ...]
    means: dict[tuple[str, str], tuple[float, ...]]  # by reading and measure

    def best(self, reading: str, measure: str) -> float:
        """Return the value of the parameter with the largest mean."""
        return self.x[int(np.argmax(self.means[reading, measure]))]

    def at(self, reading: str, measure: str, x: float) -> float:
        """Return the mean at one value of the parameter."""
        return self.means[reading, measure][self.x.index(x)]


@dataclass(frozen=True)
class Sweep:
    """Scores by settings, reading, measure and set."""

    sets: tuple[str, ...]
    default: SweepPoint  # settings of the tables
    scores: dict[tuple[SweepPoint, str, str, str], float]

    def by_set(self, reading: str, measure: str, **changes: Any) -> list[float]:
        """Return the scores of all sets, in order, with changes of the default settings."""
        point = replace(self.default, **changes)
        return [self.scores[point, reading, measure, name] for name in self.sets]

    def curve(self, parameter: str, values: tuple[float, ...]) -> Curve:
        """Return the means over the sets for the values of a parameter."""
        return Curve(
            values,
            {
                (reading, measure): tuple(
                    float(np.mean(self.by_set(reading, measure, **{parameter: value}))) for value in values
                )
                for reading, measure in product(READINGS, MEASURES)
            },
        )

    def coupling_gains(self, reading: str, measure: str) -> dict[str, float]:
        """Return the lead of the coupled over the separate dictionary, by set."""
        coupled, separate = (self.by_set(reading, measure, dictionary=kind) for kind in KINDS)
        return {name: a - b for name, a, b in zip(self.sets, coupled, separate, strict=True)}


def run_sweep(
    sets: Sequence[SceneImages], dictionaries: Dictionaries, experiment: Experiment, progress: Progress
) -> Sweep:
    """Fuse the sets with all settings in both readings. Patches are coded once for all values of w."""
    default = SweepPoint("coupled", experiment.patch_size, experiment.eps, experiment.w)
    weights: defaultdict[SweepPoint, list[float]] = defaultdict(list)
    for point in dict.fromkeys(_points(default, experiment)):
        weights[replace(point, w=default.w)].append(point.w)
    sweep = Sweep(tuple(scene.name for scene in sets), default, {})
    for scene, point in track(product(sets, weights), "settings of the proposed method", progress):
        dictionary = (
            dictionaries.by_patch_size[point.patch_size]
            if point.dictionary == "coupled"
            else dictionaries.kinds["separate"]
        )
        coded = CodedScene.encode(scene.frames, dictionary, eps=point.eps)
        for w, reading in product(weights[point], READINGS):
            fused = coded.fuse(w=w, contrast=reading)
            for key, value in scene.score(fused, MEASURES).items():
                sweep.scores[replace(point, w=w), reading, key, scene.name] = value
    return sweep


def _points(default: SweepPoint, experiment: Experiment) -> Iterable[SweepPoint]:
    yield default
    yield replace(default, dictionary="separate")
    yield from (replace(default, w=w) for w in experiment.w_values)
    yield from (replace(default, eps=eps) for eps in experiment.eps_values)
    yield from (replace(default, patch_size=size) for size in experiment.patch_sizes)


def compute_curves(sweep: Sweep, experiment: Experiment) -> dict[str, Curve]:
    """Return the three curves of the paper, by the name of their parameter."""
    return {
        "w": sweep.curve("w", experiment.w_values),
        "eps": sweep.curve("eps", experiment.eps_values),
        "patch size": sweep.curve("patch_size", experiment.patch_sizes),
    }


_CURVES: dict[str, tuple[str, dict[str, Any]]] = {  # titles and options of the plots
    "w": ("Fig. 13: weight w of the focused atoms", {"band": BEST_W}),
    "eps": (
        "Fig. 14: tolerance eps of the codes",
        {"log_ticks": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5), "band": (BEST_EPS, BEST_EPS)},
    ),
    "patch size": ("Fig. 15: side d of the patches in pixels, 4 d² atoms per half", {}),
}


def curve_section(found: Mapping[str, Curve], sweep: Sweep) -> Section:
    """Show the curves and their best points, Fig. 13 to 15."""
    body = paragraph(
        f"Means over {', '.join(sweep.sets)}, in both readings of the norm. The best point of a curve is "
        "filled. Grey band: the best values by the paper. "
        f"The largest w is {found['w'].x[-1]:g}: the paper defines Eq. (7) for w below 1, and at 1 the "
        "blurred atoms would have no weight."
    )
    numbers = []
    for name, (title, options) in _CURVES.items():
        curve = found[name]
        panels = {
            SYMBOLS[measure]: {str(reading): curve.means[reading, measure] for reading in READINGS}
            for measure in MEASURES
        }
        caption = " ".join(
            f"{SYMBOLS[measure]} is best at {name} = "
            + " and ".join(f"{curve.best(reading, measure):g} ({reading})" for reading in READINGS)
            + "."
            for measure in MEASURES
        )
        values = plain_table(
            [name, *(f"{SYMBOLS[measure]}, {reading}" for reading, measure in curve.means)],
            [
                (f"{x:g}", *(f"{value:.4f}" for value in values))
                for x, *values in zip(curve.x, *curve.means.values(), strict=True)
            ],
        )
        body += (
            tag("h3", escape(title))
            + drawing(curves(curve.x, panels, x_label=name, **options), f"curves against {name}", caption)
            + tag("details", tag("summary", "The values"), values)
        )
        numbers += [
            Number("mean of grey sets", f"{name}={x:g}, contrast={reading}", measure, value)
            for (reading, measure), means in curve.means.items()
            for x, value in zip(curve.x, means, strict=True)
        ]
    return Section("parameters", "Fig. 13 to 15: the main parameters", body, tuple(numbers))


def coupling_section(sweep: Sweep) -> Section:
    """Compare coupled and separate dictionaries as bars and numbers, Fig. 6."""
    panels = {
        SYMBOLS[measure]: {
            f"{kind}, {reading}": sweep.by_set(reading, measure, dictionary=kind)
            for reading, kind in product(READINGS, KINDS)
        }
        for measure in MEASURES
    }
    rows = []
    for reading, measure in product(READINGS, MEASURES):
        gains = list(sweep.coupling_gains(reading, measure).values())
        rows.append((f"{SYMBOLS[measure]}, {reading}", *map(format_signed, [*gains, float(np.mean(gains))])))
    return Section(
        "coupled or separate",
        "Fig. 6: coupled against separately learned dictionaries",
        paragraph(
            "Both readings of step 2 in the paper: activity of the original patch (restored, close to the "
            "paper's tables) and of the patch scaled to norm one (normalised, the literal Algorithm 1)."
        )
        + drawing(bars(sweep.sets, panels), "bars of NMI and Q_AB/F by set", "NMI and Q_AB/F by set.")
        + plain_table(["coupled − separate", *sweep.sets, "mean"], rows, "Lead of the coupled dictionary"),
        tuple(
            Number(name, f"{kind}, {reading}", measure, value)
            for reading, kind, measure in product(READINGS, KINDS, MEASURES)
            for name, value in zip(sweep.sets, sweep.by_set(reading, measure, dictionary=kind), strict=True)
        ),
    )
