"""The options of alignment, for the commands that have them."""

from typing import Annotated

import typer

Align = Annotated[
    str,
    typer.Option(
        help="auto, off, shift, similarity, affine or homography; auto takes the simplest that fits."
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(
        metavar="FRAME",
        help="Frame that others are aligned to: its file's name, or number from 0; by default the middle.",
    ),
]
Borders = Annotated[
    str,
    typer.Option(
        help="crop to what all aligned frames show, or mark: keep the size, fill from other frames."
    ),
]
