"""The paper's printed tables, its methods' names and its settings.

F. G. Veshki and S. A. Vorobyov, "Multi-Focus Image Fusion using Sparse Representation and Coupled Dictionary
Learning", Tables 1 and 2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from panfocus.metrics import get_metric

T = TypeVar("T")
MEASURES = ("NMI", "QABF")  # need no reference; used in Table 2 and the figures
RIVAL, PROPOSED = "SR-KSVD", "Proposed"  # the two methods of Table 2
Cell = tuple[str, str, str]  # method, measure, set


@dataclass(frozen=True)
class Printed:
    """A printed value and its rank 1, 2 or 3 if the paper marks it."""

    value: float
    place: int | None = None


# r, b, g: printed in red (best), blue (second) or green (third).
_TABLE_1 = """
                 Clocks    Lab       Pepsi     Disk      Jug       Doll
DWT      NMI     0.9847    1.0027    1.0079    0.8129    0.8497    0.8553
DWT      QABF    0.6600    0.5487    0.6587    0.5102    0.5048    0.6184
DWT      SSIM    0.9403    0.9372b   0.9362b   0.9068b   0.8871    0.9211
DWT      MSE    32.2172   60.1514   43.2703   94.3113   51.6737   46.3669
PCA      NMI     1.0276    1.0270    1.0610    0.8372    0.8854    0.8965
PCA      QABF    0.6939    0.5651    0.6752    0.5352    0.5083    0.6355
PCA      SSIM    0.9572r   0.9468r   0.9351g   0.9226r   0.9048    0.9418
PCA      MSE    24.8221   54.4139   29.4576   80.9688   45.1700   36.2968
DSIFT    NMI     1.0015    1.0726    0.9943    0.9217    0.8836    0.8921
DSIFT    QABF    0.7017    0.7269g   0.7243    0.6938    0.7714g   0.7416g
DSIFT    SSIM    0.8649    0.9003g   0.8955    0.8779    0.9661g   0.9817
DSIFT    MSE    32.1295   17.55     19.1050   45.9702    4.3322    6.7304
SR-FM    NMI     1.1100    1.0573    1.1764b   0.8878    0.9490    1.0935b
SR-FM    QABF    0.7462g   0.6900    0.7577g   0.6380    0.7174    0.7380
SR-FM    SSIM    0.9451    0.8153    0.9296    0.8325    0.9490    0.9862g
SR-FM    MSE     5.5989   12.0835    5.8016   30.7394   19.3786    7.4314
SR-CM    NMI     1.1188g   1.1079g   1.1063    0.9460g   1.0630g   1.0547g
SR-CM    QABF    0.7301    0.7058    0.7290    0.7052g   0.7656    0.7402
SR-CM    SSIM    0.8813    0.7843    0.8229    0.8367    0.9609    0.9817
SR-CM    MSE     1.8879g   7.4700b   3.9962g  11.0090b   3.3700g   3.3617g
SR-KSVD  NMI     1.1658b   1.1235b   1.1685g   0.9821b   1.1417b   1.0517
SR-KSVD  QABF    0.7557b   0.7295b   0.7613b   0.7206b   0.7766b   0.7454b
SR-KSVD  SSIM    0.9527g   0.8400    0.9258    0.8667    0.9925b   0.9888b
SR-KSVD  MSE     1.6457b   7.7026g   3.6903b  11.0777g   3.2798b   3.4843b
Proposed NMI     1.1833r   1.1733r   1.1803r   1.0176r   1.1513r   1.1475r
Proposed QABF    0.7578r   0.7340r   0.7678r   0.7247r   0.7786r   0.7490r
Proposed SSIM    0.9565b   0.8214    0.9464r   0.8716g   0.9926r   0.9928r
Proposed MSE     1.3048r   5.6800r   2.8415r   6.3516r   1.7500r   2.9864r
"""

# r: printed bold.
_TABLE_2 = """
                 Diver     Keyboard  Folders   Seals
SR-KSVD  QABF    0.5882    0.5820    0.6123    0.6337
SR-KSVD  NMI     1.3522    1.0798    1.4685    1.4206
Proposed QABF    0.6247r   0.6207r   0.6544r   0.6825r
Proposed NMI     1.4644r   1.1831r   1.5984r   1.5103r
"""

_PLACES = {"r": 1, "b": 2, "g": 3}


def _parse(text: str) -> dict[Cell, Printed]:
    head, *lines = text.strip().splitlines()
    table = {}
    for line in lines:
        method, measure, *cells = line.split()
        for name, cell in zip(head.split(), cells, strict=True):
            table[method, measure, name] = Printed(float(cell.rstrip("rbg")), _PLACES.get(cell[-1]))
    return table


TABLE_1 = _parse(_TABLE_1)
TABLE_2 = _parse(_TABLE_2)


def table_axes(table: Mapping[Cell, object]) -> tuple[list[str], list[str], list[str]]:
    """Return the methods, measures and sets of a table in order of appearance."""
    methods, measures, sets = (list(dict.fromkeys(names)) for names in zip(*table, strict=True))
    return methods, measures, sets


def table_column(table: Mapping[Cell, T], measure: str, image_set: str) -> dict[str, T]:
    """Return the entries of a measure and a set, by method."""
    return {method: entry for (method, *rest), entry in table.items() if rest == [measure, image_set]}


def rank_best_three(values: Mapping[str, float], measure: str) -> dict[str, int]:
    """Return the ranks 1, 2 and 3 by method; equal values share a rank."""
    sign = 1 if get_metric(measure).better == "larger" else -1
    places = {
        method: 1 + sum(sign * other > sign * value for other in values.values())
        for method, value in values.items()
    }
    return {method: place for method, place in places.items() if place <= 3}


def find_wrong_marks(table: Mapping[Cell, Printed]) -> dict[tuple[str, str], dict[str, int]]:
    """Return the true ranks of the columns, by measure and set, whose marks contradict their values."""
    _, measures, sets = table_axes(table)
    wrong = {}
    for measure in measures:
        for image_set in sets:
            printed = table_column(table, measure, image_set)
            marks = {method: entry.place for method, entry in printed.items() if entry.place}
            places = rank_best_three({method: entry.value for method, entry in printed.items()}, measure)
            if any(places.get(method) != place for method, place in marks.items()):
                wrong[measure, image_set] = places
    return wrong


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Sizes and parameter values of a reproduction. The defaults are the paper's, as far as it states them.

    Attributes
    ----------
    n_samples, rounds : int
        Training pairs, and rounds of coding and update, per dictionary.
    patch_size : int
        Default side of the patches. A dictionary has 4 atoms per pixel in each half.
    w, eps : float
        Default settings. For w the paper only states the best range, 0.54 to 0.56.
    seed : int
        Seed of the draw of training patches.
    more_seeds : tuple
        Other draws, to measure the influence of the draw.
    w_values, eps_values, patch_sizes : tuple
        Parameter values of the curves.
    label_stride : int
        Distance in pixels between patches labelled by ground truth.
    noise_levels, noise_side : tuple, int
        Deviations of added noise in levels of 255, and side in pixels of the scene that gets it.
    atom_limits : tuple
        Largest numbers of atoms of a code; the paper has no limit.
    """

    n_samples: int = 30_000
    rounds: int = 10
    patch_size: int = 8
    w: float = 0.55
    eps: float = 0.1
    seed: int = 0
    more_seeds: tuple[int, ...] = (1, 2)
    w_values: tuple[float, ...] = (
        0.50, 0.51, 0.52, 0.53, 0.54, 0.55, 0.56, 0.57, 0.58, 0.60,
        0.62, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95, 0.99,
    )  # fmt: skip
    eps_values: tuple[float, ...] = (0.01, 0.02, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.4, 0.5)
    patch_sizes: tuple[int, ...] = (4, 6, 8, 10, 12)
    label_stride: int = 4
    noise_levels: tuple[float, ...] = (0.0, 2.0, 3.0, 5.0, 10.0)
    noise_side: int = 160
    atom_limits: tuple[int, ...] = (4, 8, 16, 24, 32)


PAPER = Experiment()
