"""The options of a fusion, for the commands that have them."""

from pathlib import Path
from typing import Annotated

import typer

from panfocus.job.request import HELP

Method = Annotated[str | None, typer.Option(help="Name of the method; by default: panfocus.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method, such as w=0.6; repeats."),
]
Dictionary = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Dictionary to use in place of the method's own: a file, or a shipped one's name.",
    ),
]
HotPixels = Annotated[str, typer.Option(help=HELP["hot_pixels"])]
Exposure = Annotated[str, typer.Option(help=HELP["exposure"])]
Refine = Annotated[bool, typer.Option("--refine", help=HELP["refine"])]
Step = Annotated[str | None, typer.Option(metavar="DISTANCE", help=HELP["step"])]
Channel = Annotated[
    int | None,
    typer.Option(min=1, help="Fuse this channel of microscopes' files; by default all, by one decision."),
]
Time = Annotated[
    int | None, typer.Option(min=1, help="Fuse the slices of this time point, of microscopes' files.")
]
Bits = Annotated[int | None, typer.Option(metavar="8|16", help=HELP["bits"])]
