"""`panfocus score`: the metrics of one fused image."""

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from panfocus.cli import _options as options
from panfocus.cli._console import Console, console
from panfocus.errors import usage_errors


def score(
    *,
    fused: Annotated[Path, typer.Argument(metavar="FUSED", help="Fused image.")],
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE", help="Two or more frames: files, folders, patterns, or a multi-page TIFF."
        ),
    ],
    reference: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ground truth, for SSIM, MSE and PSNR.")
    ] = None,
    metrics: options.Metrics = None,
    crop: options.Crop = 0,
    data_range: options.DataRange = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object of scores; an infinite score is written as null."),
    ] = False,
    debug: options.Debug = False,
) -> None:
    """Score a fused image by quality metrics."""
    with console(debug=debug) as terminal:
        from panfocus.compare.scoring import GREY, score_files

        with usage_errors():
            scored = score_files(
                fused,
                inputs,
                reference,
                keys=None if metrics is None else options.parse_list(metrics),
                crop=crop,
                data_range=data_range,
                warn=terminal.warn,
            )
        scores = scored.scores
        if as_json:
            finite = {key: value if math.isfinite(value) else None for key, value in scores.items()}
            for line in json.dumps(finite, indent=2).splitlines():
                terminal.say(line)
            return
        terminal.say(f"Sources: {', '.join(scored.sources)}")
        if scored.scaled_from:
            terminal.say(f"{fused} was converted from {scored.scaled_from} to the bit depth of the sources.")
        _print_table(terminal, scores)
        terminal.say(f"Grey: {GREY}")
        if crop:
            terminal.say(f"Ignored {crop} pixels at each border.")


def _print_table(terminal: Console, scores: Mapping[str, float]) -> None:
    """Print aligned columns; on a terminal with rules."""
    from panfocus.metrics import get_metric

    rows = [
        (key, f"{value:.6g}", f"{get_metric(key).better} is better", get_metric(key).summary)
        for key, value in scores.items()
    ]
    if sys.stdout and sys.stdout.isatty():
        from rich.console import Console as Terminal
        from rich.table import Table

        table = Table("metric", "score", "", "meaning")
        for row in rows:
            table.add_row(*row)
        Terminal().print(table)
    else:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            terminal.say("  ".join(cells).rstrip())
