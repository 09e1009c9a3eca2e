"""Write the summary of a batch: `summary.json`, `summary.csv`, and `index.html` with thumbnails."""

import csv
import io
import time
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from panfocus.batch.output_names import PAGE, SUMMARY, TABLE, THUMBNAIL
from panfocus.batch.stack_task import StackOutcome, run_number
from panfocus.errors import FileError
from panfocus.io.atomic_files import read_json, write_files
from panfocus.io.encode import encode_json
from panfocus.job.serialization import to_plain
from panfocus.show.document import fill, open_page

TIME_SHARE = 0.05  # of the run, for writing summaries: with 10,000 stacks one takes a second
COLUMNS = ("stack", "state", "frames", "width", "height", "seconds", "picture", "warnings", "error")


class Summary:
    """Summary of a batch, rewritten while it runs. `run` is the number of this run."""

    def __init__(self, folder: Path, names: Sequence[str], run: int) -> None:
        self._folder = folder
        self._names = names
        self._run = run
        self._due = 0.0

    def write_if_due(self, outcomes: Mapping[str, StackOutcome]) -> None:
        """Write the summary, unless that was done a moment ago."""
        if time.monotonic() >= self._due:
            self.write(outcomes)

    def write(self, outcomes: Mapping[str, StackOutcome]) -> None:
        """Write the summary of the outcomes so far, which are given by stack name."""
        started = time.monotonic()
        rows = [(name, outcomes.get(name)) for name in self._names]
        summary = {"run": self._run, "counts": _counts(rows), "stacks": [*map(_entry, rows)]}
        contents = {
            self._folder / SUMMARY: encode_json(summary),
            self._folder / TABLE: _table(rows).encode(errors="backslashreplace"),
            self._folder / PAGE: _page(rows).encode(errors="backslashreplace"),
        }
        write_files(contents, force=True)
        now = time.monotonic()
        self._due = now + max(1.0, (now - started) / TIME_SHARE)


def last_run(folder: Path) -> int:
    """Return the number of the last run in a folder; 0 if there was none."""
    try:
        return run_number(read_json(folder / SUMMARY))
    except (FileError, AttributeError):  # none, or damaged
        return 0


Row = tuple[str, StackOutcome | None]


def _state(outcome: StackOutcome | None) -> str:
    if outcome is None:
        return "waiting"
    return "done" if outcome.error is None else "failed"


def _counts(rows: Sequence[Row]) -> dict[str, int]:
    states = [_state(outcome) for _, outcome in rows]
    return {state: states.count(state) for state in ("done", "failed", "waiting")}


def _entry(row: Row) -> dict[str, object]:
    name, outcome = row
    return {"stack": name, "state": _state(outcome), **(to_plain(outcome) if outcome else {"name": name})}


def _table(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, outcome in rows:
        known = outcome or StackOutcome(name=name)
        picture = f"{name}/{known.files[0]}" if known.files else ""
        figures = (known.frames, known.width, known.height, known.seconds) if known.files else ("",) * 4
        writer.writerow(
            [name, _state(outcome), *figures, picture, " ".join(known.warnings), known.error or ""]
        )
    return text.getvalue()


def _page(rows: Sequence[Row]) -> str:
    counts = _counts(rows)
    parts = [f"{counts['done']} of {len(rows)} stacks fused"]
    parts += [f"{counts[state]} {state}" for state in ("failed", "waiting") if counts[state]]
    failed = [row for row in rows if _state(row[1]) == "failed"]
    others = [row for row in rows if _state(row[1]) != "failed"]
    return fill(
        # Only pictures from the page's own folder.
        open_page("panfocus.batch", pictures="'self' file: data:"),
        counts=", ".join(parts),
        rows="\n".join(line for row in (*failed, *others) for line in _html_row(row)),
    )


def _html_row(row: Row) -> Iterator[str]:
    name, outcome = row
    state = _state(outcome)
    known = outcome or StackOutcome(name=name)
    label = escape(name)
    yield f'<tr class="{state}">'
    if known.files:
        small, full = (quote(f"{name}/{file}") for file in (THUMBNAIL, known.files[0]))
        picture = f'<img src="{small}" alt="{label}, fused" loading="lazy">'
        yield f'<td class="picture"><a href="{full}">{picture}</a></td>'
    else:
        yield '<td class="picture"></td>'
    yield f'<th scope="row">{label}</th><td>{state}</td>'
    if known.files:
        yield f"<td>{known.frames} of {known.width} x {known.height}</td><td>{known.seconds:.1f} s</td>"
    else:
        yield "<td></td><td></td>"
    remarks = [known.error] if known.error else known.warnings
    yield f'<td class="remarks">{"<br>".join(map(escape, remarks))}</td></tr>'
