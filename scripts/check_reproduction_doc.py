"""Compare the tables and verdicts of docs/reproduction.md with a run.

    panfocus reproduce --data data/ -o report
    python scripts/check_reproduction_doc.py report/numbers.json

Prints every cell that differs, and exits with 1 if there is one. Prose is not checked.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

DOC = Path(__file__).resolve().parents[1] / "docs" / "reproduction.md"
MEASURES = {"NMI": "NMI", "Q_AB/F": "QABF", "SSIM": "SSIM", "MSE": "MSE"}  # names in the doc and in files
DIGITS = {"MSE": 2}  # decimals of a value; 4 by default

Cell = tuple[str, str, str, str]  # part, method, measure, set


def main() -> None:
    """Compare and print the differences."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    run = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    wrong = list(differences(DOC.read_text("utf-8"), run))
    print("\n".join(wrong) or f"{DOC.name} matches this run")
    raise SystemExit(1 if wrong else 0)


def differences(doc: str, run: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences between the doc and a run."""
    written = {
        (n["part"], n["variant"], n["measure"], n["subject"]): _as_written(n)
        for n in run["numbers"]
        if n["part"] in ("table 1", "table 2")
    }
    stated: dict[Cell, str] = {}
    verdicts: list[str] = []
    for head, *rows in tables(doc):
        if head[:2] == ["the paper says", "here"]:
            verdicts += [verdict.strip("*") for _, verdict, *_ in rows]
        for row in rows:
            for heading, words in zip(head[1:], row[1:], strict=True):
                if cell := cell_of(head[0], row[0], heading):
                    stated[cell] = words
    for cell in dict.fromkeys((*written, *stated)):
        if stated.get(cell) != written.get(cell):
            yield f"{', '.join(cell)}: the doc says {stated.get(cell)}, the run {written.get(cell)}"
    found = [claim["verdict"] for claim in run["claims"]]
    if len(verdicts) != len(found):
        yield f"the doc has {len(verdicts)} claims, the run {len(found)}"
    for claim, verdict in zip(run["claims"], verdicts, strict=False):
        if verdict != claim["verdict"]:
            yield f"{claim['statement']}: the doc says {verdict}, the run {claim['verdict']}"


def tables(doc: str) -> Iterator[list[list[str]]]:
    """Yield the tables of a Markdown page as rows of cells, without the separator row."""
    for block in doc.split("\n\n"):
        lines = block.splitlines()
        if lines and all(line.startswith("|") for line in lines):
            head, _, *rows = ([word.strip() for word in line.strip("|").split("|")] for line in lines)
            yield [head, *rows]


def cell_of(corner: str, row: str, column: str) -> Cell | None:
    """Return the cell of the paper's tables; None for other tables."""
    if corner in MEASURES:
        return "table 1", row, MEASURES[corner], column
    if not corner:
        measure, _, image_set = column.partition(", ")
        if measure in MEASURES:
            return "table 1", row, MEASURES[measure], image_set
        method, _, measure = row.partition(", ")
        if measure in MEASURES:
            return "table 2", method, MEASURES[measure], column
    return None


def _as_written(number: Mapping[str, Any]) -> str:
    digits = DIGITS.get(number["measure"], 4)
    value, papers = number["value"], number["paper"]
    return f"{value:.{digits}f} ({value - papers:+.{digits}f})".replace("-", "−")


if __name__ == "__main__":
    main()
