"""`panfocus reproduce`: the paper's tables and figures, ours beside the paper's."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from panfocus.cli._console import Debug, Force, Quiet, ReportFolder, console


def reproduce(
    *,
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the image sets; docs/reproduction.md says which.")
    ],
    output: ReportFolder,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Reproduce the tables and figures of the paper, beside what it prints.

    Writes index.html, numbers.csv and numbers.json. Takes some 10 minutes of processor time.
    """
    with console(quiet=quiet, debug=debug) as terminal:
        from panfocus import reproduce as reproduction

        reproduction.check_report(output, force=force)
        made = reproduction.reproduce(data, progress=terminal.progress)
        terminal.finish()
        reproduction.write_report(made, output, force=force)
        for verdict in get_args(reproduction.Verdict):
            n = sum(claim.verdict == verdict for claim in made.claims)
            terminal.say(f"{verdict}: {n} of {len(made.claims)} claims")
        terminal.say(f"took {reproduction.cost(made)}")
        terminal.say(f"wrote {output / 'index.html'}, numbers.csv and numbers.json beside it")
