"""`panfocus reproduce`: the tables and figures of the paper, next to ours."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from panfocus.cli import _options as options
from panfocus.cli._console import console


def reproduce(
    *,
    data: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Folder of the image sets; see docs/reproduction.md."),
    ],
    output: options.OutputFolder,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Reproduce the tables and figures of the paper.

    Writes index.html, numbers.csv and numbers.json. Takes about 3 minutes of processor time.
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
        terminal.say(f"Took {reproduction.describe_cost(made)}.")
        terminal.say(f"Wrote {output / 'index.html'}, numbers.csv, numbers.json")
