"""Tests of equations (2) to (4) and of statements on separately learned codes, on held-out scenes.

Ground truth labels the patches. Where a patch of one frame is close to the reference and the patch of the
other frame is not, the first is focused and the second blurred. Nothing is trained here.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from panfocus._intensity import FloatArray
from panfocus._progress import Progress, track
from panfocus.decide.gray import to_gray
from panfocus.decide.patches import extract_patches, patch_origins
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.reproduce.dictionaries import KINDS, Dictionaries
from panfocus.reproduce.elements import Number, Section, paragraph, plain_table
from panfocus.reproduce.image_sets import SceneImages
from panfocus.reproduce.paper import Experiment
from panfocus.reproduce.tables import format_signed
from panfocus.sparse import Pursuit

PART = "equations 2 to 4"
# Root mean square difference from the reference, in grey levels of 255.
CLOSE, FAR = 2.0, 6.0
MIN_CONTRAST = 1.0  # smallest standard deviation of a patch in either frame, in levels
SHARES = {
    "focused": "focused patches, best atom in D_F",
    "blurred": "blurred patches, best atom in D_B",
    "both": "both patches of a pair, (2)",
}


@dataclass(frozen=True, eq=False)
class LabelledPatches:
    """Focused and blurred patches of the same positions, as columns."""

    focused: FloatArray  # mean 0, norm 1
    blurred: FloatArray
    grey: tuple[FloatArray, FloatArray]  # both as in the frames, in unit range
    n_scenes: int


@dataclass(frozen=True)
class CodeSizes:
    """Size of codes, averaged over patches."""

    atoms: float  # number of atoms in a code
    l1: float  # l1 norm of a code
    entry: float  # magnitude of the non-zero entries
    correlation: float  # the largest |d^T x|


@dataclass(frozen=True)
class CodeSummary:
    """Codes of patches over the half of the same kind."""

    mean: CodeSizes
    median: CodeSizes  # a few patches have very large norms


@dataclass(frozen=True)
class Findings:
    """Measurements on the labelled patches, by kind of dictionary and of patches, one for each seed."""

    n_pairs: int
    n_scenes: int
    seeds: tuple[int, ...]
    shares: dict[tuple[str, str], list[float]]  # kinds of patches as in SHARES
    codes: dict[tuple[str, str], list[CodeSummary]]


def examine(
    patches: LabelledPatches, dictionaries: Dictionaries, experiment: Experiment, progress: Progress
) -> Findings:
    """Measure the best atoms and the codes of labelled patches."""
    shares: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    codes: defaultdict[tuple[str, str], list[CodeSummary]] = defaultdict(list)
    for kinds in track(dictionaries.draws.values(), PART, progress):
        for kind, dictionary in kinds.items():
            for label, share in measure_atom_shares(patches, dictionary).items():
                shares[kind, label].append(share)
            for label, D in zip(("focused", "blurred"), dictionary.levels, strict=True):
                codes[kind, label].append(describe_codes(getattr(patches, label), D, eps=experiment.eps))
    return Findings(
        patches.focused.shape[1], patches.n_scenes, tuple(dictionaries.draws), dict(shares), dict(codes)
    )


def label_patches(scenes: Sequence[SceneImages], *, size: int, stride: int) -> LabelledPatches:
    """Return pairs of patches from scenes of two frames and a reference."""
    focused, blurred = [], []
    for scene in scenes:
        assert scene.reference is not None  # checked when it is read
        planes = [255 * to_gray(image) for image in (*scene.frames, scene.reference)]
        rows, cols = (patch_origins(length, size, stride) for length in planes[0].shape)
        a, b, truth = (extract_patches(plane, rows, cols, size) for plane in planes)
        errors = [np.sqrt(np.square(x - truth).mean(axis=0)) for x in (a, b)]
        rich = (a.std(axis=0) > MIN_CONTRAST) & (b.std(axis=0) > MIN_CONTRAST)
        for sharp, soft, error, other in ((a, b, *errors), (b, a, *errors[::-1])):
            labelled = rich & (error <= CLOSE) & (other >= FAR)
            focused.append(sharp[:, labelled])
            blurred.append(soft[:, labelled])
    if not any(patches.size for patches in focused):
        raise InputError(
            "No patch of the scenes with ground truth is clearly focused or blurred.", needed=1, got=0
        )
    sharp, soft = (np.concatenate(patches, axis=1) for patches in (focused, blurred))
    return LabelledPatches(_unit(sharp), _unit(soft), (sharp / 255, soft / 255), len(scenes))


def measure_atom_shares(patches: LabelledPatches, dictionary: CoupledDictionary) -> dict[str, float]:
    """Return how often the best atom of a patch, the first choice of OMP, is of the same kind, Eq. (3)."""
    first_choice = Pursuit(dictionary.matrix, max_atoms=1)
    focused = first_choice.codes(patches.focused).atoms[0] < dictionary.n_atoms
    blurred = first_choice.codes(patches.blurred).atoms[0] >= dictionary.n_atoms
    return {
        "focused": float(focused.mean()),
        "blurred": float(blurred.mean()),
        "both": float((focused & blurred).mean()),
    }


def describe_codes(X: FloatArray, D: FloatArray, *, eps: float) -> CodeSummary:
    """Return the sizes of the codes of patches over one half."""
    codes = Pursuit(D, max_atoms=len(D), max_sq_error=eps).codes(X)
    entries = np.abs(codes.coefficients)
    sizes = {
        "atoms": codes.counts,
        "l1": entries.sum(axis=0, dtype=np.float64),
        "entry": entries[codes.atoms >= 0],
        "correlation": np.abs(Pursuit(D, max_atoms=1).codes(X).coefficients[0]),
    }
    return CodeSummary(
        mean=CodeSizes(**{name: float(values.mean(dtype=np.float64)) for name, values in sizes.items()}),
        median=CodeSizes(**{name: float(np.median(values)) for name, values in sizes.items()}),
    )


def section(findings: Findings) -> Section:
    """Show the shares and the code sizes."""
    numbers = [
        Number(f"{kind} dictionary, seed {seed}", label, "share", shares[i])
        for i, seed in enumerate(findings.seeds)
        for (kind, label), shares in findings.shares.items()
    ] + [
        Number(f"{kind} dictionary, seed {seed}", f"{label} patches", f"{summary} {measure}", value)
        for i, seed in enumerate(findings.seeds)
        for (kind, label), codes in findings.codes.items()
        for summary, sizes in vars(codes[i]).items()
        for measure, value in vars(sizes).items()
    ]
    return Section(
        PART,
        "Equations (2) to (4): does the best atom indicate focus?",
        paragraph(
            f"{findings.n_pairs:,} pairs of patches of {findings.n_scenes} held-out scenes with ground "
            "truth. A patch is focused if its root mean square difference from the reference is at most "
            f"{CLOSE:g} of 255 levels. The patch of the other frame is blurred if it differs by {FAR:g} "
            f"levels or more. Both have a standard deviation above {MIN_CONTRAST:g} level. By (2) the best "
            "atom of a patch should be in the half of the same kind; guessing gives 50 %, and 25 % for "
            f"both of a pair. Dictionaries are learned from {len(findings.seeds)} draws of the training "
            "patches."
        )
        + plain_table(
            ["share of the patches", *(f"seed {seed}" for seed in findings.seeds)],
            _share_rows(findings),
        )
        + paragraph(
            "Codes of the same patches, scaled to norm one, over the half of the same kind, for seed "
            f"{findings.seeds[0]}; the files contain the others. According to the paper, separate learning "
            "makes blurred codes sparser, with larger entries and larger correlations. The l1 norm has a "
            "heavy tail, hence the medians."
        )
        + plain_table(
            [
                "dictionary, patches",
                *(
                    f"{size}, {summary}"
                    for size in ("atoms in a code", "l1 norm", "magnitude of an entry", "largest correlation")
                    for summary in ("mean", "median")
                ),
            ],
            [
                (
                    f"{kind}, {label}",
                    *(
                        f"{value:.3f}"
                        for both in zip(vars(codes.mean).values(), vars(codes.median).values(), strict=True)
                        for value in both
                    ),
                )
                for (kind, label), (codes, *_) in findings.codes.items()
            ],
        ),
        tuple(numbers),
    )


def _share_rows(findings: Findings) -> Iterator[tuple[str, ...]]:
    for label, words in SHARES.items():
        shares = {kind: findings.shares[kind, label] for kind in KINDS}
        for kind, values in shares.items():
            yield (f"{words}: {kind}", *(f"{value:.1%}" for value in values))
        yield (
            "coupled − separate, in points",
            *(format_signed(100 * (a - b), digits=1) for a, b in zip(*shares.values(), strict=True)),
        )


def _unit(X: FloatArray) -> FloatArray:
    X = X - X.mean(axis=0)
    return np.asarray(X / np.linalg.norm(X, axis=0))
