"""The options of alignment, for the commands that have them."""

from typing import Annotated

import typer

from panfocus.job.request import HELP

Align = Annotated[str, typer.Option(help=HELP["align"])]
Reference = Annotated[str | None, typer.Option(metavar="FRAME", help=HELP["reference"])]
Borders = Annotated[str, typer.Option(help=HELP["borders"])]
