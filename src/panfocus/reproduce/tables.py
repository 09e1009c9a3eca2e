"""Tables 1 and 2: every method on every set, ours beside the paper's."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from panfocus._progress import Progress
from panfocus.methods import FusionMethod
from panfocus.metrics import get_metric
from panfocus.pipeline import fuse
from panfocus.reproduce.elements import Section, paragraph, table, tag, text
from panfocus.reproduce.numbers import Number
from panfocus.reproduce.paper import TABLE_1, TABLE_2, Cell, Printed, axes, best_three, column, miscoloured
from panfocus.reproduce.sets import EXACT_SETS, NO_REFERENCE, NO_SOURCE, Pictures
from panfocus.result import FusionResult

SYMBOLS = {"NMI": "NMI", "QABF": "Q_AB/F", "SSIM": "SSIM", "MSE": "MSE"}
DIGITS = 4  # of every value in the paper's tables
SAME = 0.002  # differences from the paper, of MSE as a share, that rounding and programs explain


@dataclass(frozen=True, eq=False)
class Results:
    """What the methods made of the sets that are there."""

    sets: dict[str, Pictures]
    fused: dict[tuple[str, str], FusionResult]  # by method and set
    scores: dict[Cell, float]

    def values(self, measure: str, image_set: str) -> dict[str, float]:
        """Return the scores of a set by method."""
        return column(self.scores, measure, image_set)

    def of(self, method: str, image_set: str) -> dict[str, float]:
        """Return the scores of a method on a set by measure."""
        return {
            key: value for (name, key, of), value in self.scores.items() if (name, of) == (method, image_set)
        }


@dataclass(frozen=True)
class Note:
    """What is known about cells that come out worse; an empty list of names means all."""

    words: str
    methods: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()

    def is_about(self, cell: Cell) -> bool:
        """Tell whether it concerns a cell."""
        return all(
            not names or name in names
            for name, names in zip(cell, (self.methods, self.measures, self.sets), strict=True)
        )


NOTES = (
    Note("Clocks: the public file is not the paper's.", sets=("Clocks",)),
    Note("Pepsi: derived by a 2 x 2 mean from the public file of 512 pixels.", sets=("Pepsi",)),
    Note(
        "DWT: the paper does not say its rule. This is the classical one; others are held against the paper "
        "in “What the paper leaves open”.",
        methods=("DWT",),
    ),
    Note(
        "Learned dictionaries: the paper says neither which patches were drawn, nor what learning begins "
        "with, nor how many atoms a training patch may use, nor, for its own method, the w of its tables.",
        methods=("SR-FM", "SR-KSVD", "Proposed"),
    ),
    Note(
        "References: the public ones are composites of the frames, and may not be those of the authors.",
        measures=("SSIM", "MSE"),
    ),
)


def fuse_all(
    sets: Sequence[Pictures],
    methods: Mapping[str, FusionMethod],
    printed: Mapping[Cell, Printed],
    stage: str,
    progress: Progress,
) -> Results:
    """Run the methods of a table on its sets, and score what comes out."""
    rows, measures, _ = axes(printed)
    results = Results({pictures.name: pictures for pictures in sets}, {}, {})
    progress(stage, 0.0)
    for pictures in sets:
        for name in rows:
            result = fuse(pictures.frames, methods[name])
            results.fused[name, pictures.name] = result
            for key, value in pictures.score(result.image, measures).items():
                results.scores[name, key, pictures.name] = value
            progress(stage, len(results.fused) / (len(sets) * len(rows)))
    return results


def section_1(results: Results) -> Section:
    """Table 1: grey pairs."""
    return _section(
        "table 1",
        "Table 1: grey pairs",
        "NMI and Q_AB/F against the two frames, SSIM and MSE against the reference.",
        results,
        TABLE_1,
    )


def section_2(results: Results) -> Section:
    """Table 2: colour triples."""
    return _section(
        "table 2",
        "Table 2: colour triples",
        "NMI is the sum over the three frames. Scores are those of the grey pictures.",
        results,
        TABLE_2,
    )


def is_worse(measure: str, ours: float, papers: float) -> bool:
    """Tell whether ours is worse than the paper's value, in the paper's digits."""
    sign = 1 if get_metric(measure).better == "larger" else -1
    return sign * round(ours, DIGITS) < sign * papers


def _section(
    part: str, title: str, introduction: str, results: Results, printed: Mapping[Cell, Printed]
) -> Section:
    worse = [cell for cell, ours in results.scores.items() if is_worse(cell[1], ours, printed[cell].value)]
    notes = [note for note in (*NOTES, *_of_pca(results)) if any(map(note.is_about, worse))]
    body = (
        paragraph(
            f"{introduction} Best, second and third of a column are red, blue and green with the numbers "
            "1, 2, 3; in the paper's columns as the paper prints them. ▼ marks what comes out worse than "
            f"in the paper: {len(worse)} of {len(results.scores)} cells; the letters are explained below "
            "the table."
        )
        + _table(results, printed, worse, notes)
        + tag("ol", *(tag("li", text(note.words)) for note in notes), type="a", class_="notes")
        + "".join(map(paragraph, _miscoloured(printed)))
    )
    numbers = [
        Number(part, name, method, measure, ours, printed[method, measure, name].value)
        for (method, measure, name), ours in results.scores.items()
    ]
    return Section(part, title, body, tuple(numbers))


def _of_pca(results: Results) -> Iterator[Note]:
    """Say what the one method in which nothing is open tells about files and measures."""
    sets = tuple(name for name in EXACT_SETS if ("PCA", "MSE", name) in results.scores)
    if not sets:
        return
    differences = {
        (measure, name): value - TABLE_1["PCA", measure, name].value
        for name in sets
        for measure, value in results.of("PCA", name).items()
    }
    largest = max(abs(difference) for (measure, _), difference in differences.items() if measure != "MSE")
    errors = {name: differences["MSE", name] / TABLE_1["PCA", "MSE", name].value for name in sets}
    alike, errors_alike = largest <= SAME, max(map(abs, errors.values())) <= SAME
    of_mse = ", ".join(f"{signed(100 * error, digits=1)} % on {name}" for name, error in errors.items())
    yield Note(
        f"PCA: nothing is open in the method. NMI, Q_AB/F and SSIM differ from the paper's by {largest:.4f} "
        f"at most: frames and measures {'are' if alike else 'are not all'} the paper's. MSE differs by "
        f"{of_mse}"
        + ("." if errors_alike else ": the reference, or how the error is taken, is not the paper's."),
        methods=("PCA",),
        sets=sets,
    )


def _miscoloured(printed: Mapping[Cell, Printed]) -> Iterator[str]:
    for (measure, image_set), places in miscoloured(printed).items():
        ranked = ", ".join(
            f"{place} {method}" for method, place in sorted(places.items(), key=lambda entry: entry[1])
        )
        yield (
            f"The paper's colours of {SYMBOLS[measure]} on {image_set} are not the ranks of its own values, "
            f"which are {ranked}."
        )


def _table(
    results: Results, printed: Mapping[Cell, Printed], worse: Sequence[Cell], notes: Sequence[Note]
) -> str:
    methods, measures, sets = axes(printed)
    there = {name: name in results.sets for name in sets}
    rows = []
    for measure in measures:
        places = {name: best_three(results.values(measure, name), measure) for name in sets}
        for i, method in enumerate(methods):
            cells = [tag("th", text(method), scope="row")]
            if i == 0:
                arrow = "↑" if get_metric(measure).better == "larger" else "↓"
                heading = f"{SYMBOLS[measure]} {arrow}"
                cells.insert(0, tag("th", heading, rowspan=len(methods), scope="rowgroup"))
            for name in sets:
                cell = (method, measure, name)
                cells.append(_value(printed[cell].value, printed[cell].place, "begins"))
                if cell in results.scores:
                    cells.append(_value(results.scores[cell], places[name].get(method)))
                    difference = signed(results.scores[cell] - printed[cell].value)
                    if cell in worse:
                        letters = (chr(ord("a") + n) for n, note in enumerate(notes) if note.is_about(cell))
                        cells.append(tag("td", difference, "▼", tag("sup", *letters), class_="worse"))
                    else:
                        cells.append(tag("td", difference, class_="difference"))
                elif i == 0:  # one cell for all methods
                    reason, width = (NO_REFERENCE, 2) if there[name] else (NO_SOURCE, 1)
                    cells.append(tag("td", reason, rowspan=len(methods), colspan=width, class_="none"))
            rows.append(tag("tr", *cells, class_="first" if i == 0 else None))
    return tag("div", table(_head(there), rows), class_="compared")


def _head(there: Mapping[str, bool]) -> list[str]:
    """Return two rows of headings, for sets that are there or not."""
    sets = [
        tag("th", text(name), colspan=3 if full else 2, scope="colgroup", class_="begins")
        for name, full in there.items()
    ]
    below = []
    for full in there.values():
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


def signed(difference: float, digits: int = DIGITS) -> str:
    """Write a difference with its sign."""
    return f"{difference:+.{digits}f}".replace("-", "−")
