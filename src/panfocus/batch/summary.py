"""What came of a batch, as files: `summary.json` and `summary.csv` for programs, `index.html` for people."""

import csv
import io
import time
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from panfocus.batch.names import PAGE, SUMMARY, TABLE, THUMBNAIL
from panfocus.batch.stack_task import Outcome
from panfocus.errors import FileError
from panfocus.io.atomic_files import read_json, write_files
from panfocus.io.encode import encode_json
from panfocus.job.serialization import to_plain
from panfocus.show.document import fill, open_page

SHARE_OF_TIME = 0.05  # that writing may take: a page of ten thousand stacks takes its second
COLUMNS = ("stack", "state", "frames", "width", "height", "seconds", "picture", "warnings", "error")


class Summary:
    """The summary of a batch, which follows its outcomes; it has the number of the `run`."""

    def __init__(self, folder: Path, names: Sequence[str], run: int) -> None:
        self._folder = folder
        self._names = names
        self._run = run
        self._due_at = 0.0

    def write_now_and_then(self, outcomes: Mapping[str, Outcome]) -> None:
        """Write it, if that has not been done a moment ago."""
        if time.monotonic() >= self._due_at:
            self.write(outcomes)

    def write(self, outcomes: Mapping[str, Outcome]) -> None:
        """Write it as it is now: the outcomes so far, by the names of their stacks."""
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
        self._due_at = now + max(1.0, (now - started) / SHARE_OF_TIME)


def last_run(folder: Path) -> int:
    """Return the number of the last run in the folder of a batch; 0 if there was none."""
    try:
        return int(read_json(folder / SUMMARY).get("run", 0))
    except (FileError, ArithmeticError, AttributeError, TypeError, ValueError):  # none, or not one of ours
        return 0


Row = tuple[str, Outcome | None]


def state_of(outcome: Outcome | None) -> str:
    """Name what became of a stack in a word."""
    if outcome is None:
        return "waiting"
    return "done" if outcome.error is None else "failed"


def _counts(rows: Sequence[Row]) -> dict[str, int]:
    states = [state_of(outcome) for _, outcome in rows]
    return {state: states.count(state) for state in ("done", "failed", "waiting")}


def _entry(row: Row) -> dict[str, object]:
    name, outcome = row
    return {"stack": name, "state": state_of(outcome), **(to_plain(outcome) if outcome else {"name": name})}


def _table(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, outcome in rows:
        found = outcome or Outcome(name=name)
        picture = f"{name}/{found.files[0]}" if found.files else ""
        figures = (found.frames, found.width, found.height, found.seconds) if found.files else ("",) * 4
        writer.writerow(
            [name, state_of(outcome), *figures, picture, " ".join(found.warnings), found.error or ""]
        )
    return text.getvalue()


def _page(rows: Sequence[Row]) -> str:
    counts = _counts(rows)
    said = [f"{counts['done']} of {len(rows)} stacks fused"]
    said += [f"{counts[state]} {state}" for state in ("failed", "waiting") if counts[state]]
    failed = [row for row in rows if state_of(row[1]) == "failed"]
    others = [row for row in rows if state_of(row[1]) != "failed"]
    return fill(
        # Pictures from the folder that the page is in, and from nowhere else.
        open_page("panfocus.batch", pictures="'self' file: data:"),
        counts=", ".join(said),
        rows="\n".join(line for row in (*failed, *others) for line in _row(row)),
    )


def _row(row: Row) -> Iterator[str]:
    name, outcome = row
    state = state_of(outcome)
    found = outcome or Outcome(name=name)
    shown = escape(name)
    yield f'<tr class="{state}">'
    if found.files:
        small, whole = (quote(f"{name}/{file}") for file in (THUMBNAIL, found.files[0]))
        picture = f'<img src="{small}" alt="{shown}, fused" loading="lazy">'
        yield f'<td class="picture"><a href="{whole}">{picture}</a></td>'
    else:
        yield '<td class="picture"></td>'
    yield f'<th scope="row">{shown}</th><td>{state}</td>'
    if found.files:
        yield f"<td>{found.frames} of {found.width} x {found.height}</td><td>{found.seconds:.1f} s</td>"
    else:
        yield "<td></td><td></td>"
    remarks = [found.error] if found.error else found.warnings
    yield f'<td class="remarks">{"<br>".join(map(escape, remarks))}</td></tr>'
