"""Tables 1 and 2: every method on every set, with the paper's values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from numpy.typing import NDArray

from panfocus._progress import Progress, track
from panfocus.methods import FusionMethod
from panfocus.metrics import get_metric
from panfocus.pipeline import fuse
from panfocus.reproduce.elements import Number, Section, escape, paragraph, table, tag
from panfocus.reproduce.image_sets import EXACT_SETS, NO_REFERENCE, NO_SOURCE, SceneImages
from panfocus.reproduce.paper import (
    TABLE_1,
    TABLE_2,
    Cell,
    Printed,
    find_wrong_marks,
    rank_best_three,
    table_axes,
    table_column,
)

SYMBOLS = {"NMI": "NMI", "QABF": "Q_AB/F", "SSIM": "SSIM", "MSE": "MSE"}
DIGITS = 4  # decimals of the values in the paper's tables
SAME = 0.002  # largest difference that rounding and other programs explain; for MSE relative


@dataclass(frozen=True, eq=False)
class PrintedTable:
    """A table of the paper."""

    part: str
    title: str
    introduction: str
    cells: Mapping[Cell, Printed]


GREY_TABLE = PrintedTable(
    "table 1",
    "Table 1: grey pairs",
    "NMI and Q_AB/F against the two frames, SSIM and MSE against the reference.",
    TABLE_1,
)
COLOUR_TABLE = PrintedTable(
    "table 2",
    "Table 2: colour triples",
    "NMI is the sum over the three frames. Scores are computed on grey images.",
    TABLE_2,
)


@dataclass(frozen=True)
class Note:
    """Explanation of cells that are worse than in the paper. No names means all names."""

    words: str
    methods: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()

    def is_about(self, cell: Cell) -> bool:
        """Return whether the note concerns a cell."""
        return all(
            not names or name in names
            for name, names in zip(cell, (self.methods, self.measures, self.sets), strict=True)
        )


NOTES = (
    Note("Clocks: the public file is not the paper's.", sets=("Clocks",)),
    Note("Pepsi: derived by a 2 x 2 mean from the public file of 512 pixels.", sets=("Pepsi",)),
    Note(
        "DWT: the paper does not state its rule. This is the classical one; “What the paper leaves open” "
        "compares others with the paper.",
        methods=("DWT",),
    ),
    Note(
        "Learned dictionaries: the paper does not state which patches were drawn, the initial dictionary, "
        "the number of atoms per training patch, or the w of its tables.",
        methods=("SR-FM", "SR-KSVD", "Proposed"),
    ),
    Note(
        "References: the public references are composites of the frames and may differ from the authors'.",
        measures=("SSIM", "MSE"),
    ),
)


@dataclass(frozen=True, eq=False)
class TableResults:
    """Results and scores of the methods of a table on its available sets."""

    table: PrintedTable
    methods: dict[str, FusionMethod]
    sets: dict[str, SceneImages]
    fused: dict[tuple[str, str], NDArray[Any]]  # images by method and set
    scores: dict[Cell, float]

    def by_method(self, measure: str, image_set: str) -> dict[str, float]:
        """Return the scores of a set, by method."""
        return table_column(self.scores, measure, image_set)

    def by_measure(self, method: str, image_set: str) -> dict[str, float]:
        """Return the scores of a method on a set, by measure."""
        return {
            key: value for (name, key, of), value in self.scores.items() if (name, of) == (method, image_set)
        }

    def score(self, image_set: str, method: FusionMethod) -> dict[str, float]:
        """Return the scores of a method on a set, by measure; reuse scores of the table."""
        for name, known in self.methods.items():
            if method == known:
                return self.by_measure(name, image_set)
        scene = self.sets[image_set]
        return scene.score(fuse(scene.frames, method).image, list(SYMBOLS))


def fuse_all(
    table: PrintedTable,
    sets: Sequence[SceneImages],
    methods: Mapping[str, FusionMethod],
    progress: Progress,
) -> TableResults:
    """Run the methods of a table on its sets and score the results."""
    rows, measures, _ = table_axes(table.cells)
    results = TableResults(
        table, {name: methods[name] for name in rows}, {scene.name: scene for scene in sets}, {}, {}
    )
    for scene, (name, method) in track(product(sets, results.methods.items()), table.part, progress):
        image = fuse(scene.frames, method).image
        results.fused[name, scene.name] = image
        for key, value in scene.score(image, measures).items():
            results.scores[name, key, scene.name] = value
    return results


def section(results: TableResults) -> Section:
    """Show a table with our values, and explain those that are worse than the paper's."""
    printed = results.table.cells
    worse = [cell for cell, ours in results.scores.items() if is_worse(cell[1], ours, printed[cell].value)]
    notes = [note for note in (*NOTES, *_note_on_pca(results)) if any(map(note.is_about, worse))]
    body = (
        paragraph(
            f"{results.table.introduction} Best, second and third of a column are red, blue and green with "
            "the numbers 1, 2, 3; the paper's columns have the paper's colours. ▼ marks values that are "
            f"worse than in the paper: {len(worse)} of {len(results.scores)} cells. The letters are "
            "explained below the table."
        )
        + _table(results, worse, notes)
        + tag("ol", *(tag("li", escape(note.words)) for note in notes), type="a", class_="notes")
        + "".join(map(paragraph, _describe_wrong_marks(printed)))
    )
    numbers = [
        Number(name, method, measure, ours, printed[method, measure, name].value)
        for (method, measure, name), ours in results.scores.items()
    ]
    return Section(results.table.part, results.table.title, body, tuple(numbers))


def is_worse(measure: str, ours: float, papers: float) -> bool:
    """Return whether our value is worse than the paper's, rounded like the paper's."""
    sign = 1 if get_metric(measure).better == "larger" else -1
    return sign * round(ours, DIGITS) < sign * papers


def _note_on_pca(results: TableResults) -> Iterator[Note]:
    """Yield a note that judges files and measures by PCA, the only fully specified method."""
    sets = tuple(name for name in EXACT_SETS if ("PCA", "MSE", name) in results.scores)
    if not sets:
        return
    differences = {
        (measure, name): value - TABLE_1["PCA", measure, name].value
        for name in sets
        for measure, value in results.by_measure("PCA", name).items()
    }
    largest = max(abs(difference) for (measure, _), difference in differences.items() if measure != "MSE")
    errors = {name: differences["MSE", name] / TABLE_1["PCA", "MSE", name].value for name in sets}
    alike, errors_alike = largest <= SAME, max(map(abs, errors.values())) <= SAME
    of_mse = ", ".join(
        f"{format_signed(100 * error, digits=1)} % on {name}" for name, error in errors.items()
    )
    yield Note(
        f"PCA: the method is fully specified. NMI, Q_AB/F and SSIM differ from the paper by at most "
        f"{largest:.4f}: frames and measures {'are' if alike else 'are not all'} the paper's. MSE differs by "
        f"{of_mse}" + ("." if errors_alike else ": the reference or the error measure is not the paper's."),
        methods=("PCA",),
        sets=sets,
    )


def _describe_wrong_marks(printed: Mapping[Cell, Printed]) -> Iterator[str]:
    for (measure, image_set), places in find_wrong_marks(printed).items():
        ranked = ", ".join(
            f"{place} {method}" for method, place in sorted(places.items(), key=lambda entry: entry[1])
        )
        yield (
            f"The paper's colours of {SYMBOLS[measure]} on {image_set} contradict its values. Their ranks "
            f"are {ranked}."
        )


def _table(results: TableResults, worse: Sequence[Cell], notes: Sequence[Note]) -> str:
    printed = results.table.cells
    methods, measures, sets = table_axes(printed)
    available = {name: name in results.sets for name in sets}
    rows = []
    for measure in measures:
        places = {name: rank_best_three(results.by_method(measure, name), measure) for name in sets}
        for i, method in enumerate(methods):
            cells = [tag("th", escape(method), scope="row")]
            if i == 0:
                arrow = "↑" if get_metric(measure).better == "larger" else "↓"
                heading = f"{SYMBOLS[measure]} {arrow}"
                cells.insert(0, tag("th", heading, rowspan=len(methods), scope="rowgroup"))
            for name in sets:
                cell = (method, measure, name)
                cells.append(_value(printed[cell].value, printed[cell].place, "begins"))
                if cell in results.scores:
                    cells.append(_value(results.scores[cell], places[name].get(method)))
                    difference = format_signed(results.scores[cell] - printed[cell].value)
                    if cell in worse:
                        letters = (chr(ord("a") + n) for n, note in enumerate(notes) if note.is_about(cell))
                        cells.append(tag("td", difference, "▼", tag("sup", *letters), class_="worse"))
                    else:
                        cells.append(tag("td", difference, class_="difference"))
                elif i == 0:  # one cell spans all methods
                    reason, width = (NO_REFERENCE, 2) if available[name] else (NO_SOURCE, 1)
                    cells.append(tag("td", reason, rowspan=len(methods), colspan=width, class_="none"))
            rows.append(tag("tr", *cells, class_="first" if i == 0 else None))
    return tag("div", table(_head(available), rows), class_="compared")


def _head(available: Mapping[str, bool]) -> list[str]:
    """Return two rows of headings, for available and missing sets."""
    sets = [
        tag("th", escape(name), colspan=3 if full else 2, scope="colgroup", class_="begins")
        for name, full in available.items()
    ]
    below = []
    for full in available.values():
        below.append(tag("th", "paper", scope="col", class_="begins"))
        below.append(tag("th", "ours", scope="col"))
        if full:
            below.append(tag("th", "ours − paper", scope="col"))
    corner = (tag("th", heading, rowspan=2, scope="col") for heading in ("Measure", "Method"))
    return [tag("tr", *corner, *sets), tag("tr", *below)]


def _value(value: float, place: int | None, more: str = "") -> str:
    classes = " ".join(filter(None, (more, f"place-{place}" if place else "")))
    mark = tag("sup", str(place)) if place else ""
    return tag("td", f"{value:.{DIGITS}f}", mark, class_=classes or None)


def format_signed(difference: float, digits: int = DIGITS) -> str:
    """Format a difference with its sign."""
    return f"{difference:+.{digits}f}".replace("-", "−")
