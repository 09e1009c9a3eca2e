"""A reproduction as files: `index.html` for people, `numbers.csv` and `numbers.json` for programs."""

from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from panfocus.io.atomic_files import check_destination, make_folder, trial_folder, write_files
from panfocus.io.encode import encode_json
from panfocus.reproduce.elements import paragraph, tag, text
from panfocus.reproduce.numbers import as_csv
from panfocus.reproduce.reproduction import Reproduction
from panfocus.show.document import fill, open_page

PAGE, TABLE, DATA = "index.html", "numbers.csv", "numbers.json"


def check_report(folder: Path, *, force: bool = False) -> None:
    """Refuse, before any work is done, a folder that cannot be written or holds a report to be kept."""
    with trial_folder(folder):
        for name in (PAGE, TABLE, DATA):
            check_destination(folder / name, force=force)


def write_report(reproduction: Reproduction, folder: Path, *, force: bool = False) -> None:
    """Write page and numbers into a folder, which is made if need be; all of them or none."""
    make_folder(folder)
    numbers = [number for section in reproduction.sections for number in section.numbers]
    write_files(
        {
            folder / TABLE: as_csv(numbers),
            folder / DATA: encode_json(
                {
                    "panfocus": version("panfocus"),
                    "settings": asdict(reproduction.evidence.plan),
                    "seconds": round(reproduction.seconds, 1),
                    "peak_memory": reproduction.peak_memory,
                    "claims": [asdict(claim) for claim in reproduction.claims],
                    "numbers": [asdict(number) for number in numbers],
                }
            ),
            folder / PAGE: _page(reproduction).encode(),
        },
        force=force,
    )


def cost(reproduction: Reproduction) -> str:
    """Say how long it took and how much memory it held."""
    minutes, seconds = divmod(round(reproduction.seconds), 60)
    memory = reproduction.peak_memory
    return f"{minutes} min {seconds} s" + (f", at most {memory / 1e6:,.0f} MB of memory" if memory else "")


def _page(reproduction: Reproduction) -> str:
    verdicts = [claim.verdict for claim in reproduction.claims]
    counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    return fill(
        open_page("panfocus.reproduce"),
        summary=paragraph(
            f"Of {len(verdicts)} claims: {counted}. Made by panfocus {version('panfocus')} in "
            f"{cost(reproduction)}."
        ),
        contents="".join(
            tag("a", text(section.title), href=f"#{_anchor(section.identity)}")
            for section in reproduction.sections
        ),
        sections="\n".join(
            tag("section", tag("h2", text(section.title)), section.body, id=_anchor(section.identity))
            for section in reproduction.sections
        ),
    )


def _anchor(identity: str) -> str:
    return identity.replace(" ", "-")
