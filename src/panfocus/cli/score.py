"""`panfocus score`: the metrics of one fused image."""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from panfocus.cli._console import Console, console
from panfocus.cli._options import Crop, DataRange, Debug, Metrics, parse_metrics
from panfocus.errors import InputError, usage_errors

if TYPE_CHECKING:
    from panfocus.io.headers import Header


def score(
    *,
    fused: Annotated[Path, typer.Argument(metavar="FUSED", help="Fused image.")],
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE SOURCE...", help="The frames: files, folders, patterns, or a multi-page TIFF."
        ),
    ],
    reference: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ground truth, for SSIM, MSE and PSNR.")
    ] = None,
    metrics: Metrics = None,
    crop: Crop = 0,
    data_range: DataRange = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object of scores; null means infinite.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Score a fused image against its frames, and against a reference if there is one."""
    with console(debug=debug) as terminal:
        from panfocus.compare.scoring import (
            GREY,
            RESULT_OVERSHOOT,
            check_crop,
            check_same_format,
            check_value_range,
            match_bit_depth,
            score_images,
        )
        from panfocus.io.read_stack import read_frame, read_single

        with usage_errors():
            keys = None if metrics is None else parse_metrics(metrics)
            headers = _find_sources(inputs, fused, reference, terminal.warn)
        sources = {header.name: read_frame(header) for header in headers}
        first_name, first = next(iter(sources.items()))
        read = read_single(fused)
        image = match_bit_depth(first, read, str(fused))
        truth = read_single(reference) if reference else None
        for name, picture in [*sources.items(), (str(fused), image), (str(reference), truth)]:
            if picture is not None:
                check_same_format(picture, name, first, first_name)
                overshoot = RESULT_OVERSHOOT if picture is image else 0.0
                check_value_range(picture, name, data_range, overshoot=overshoot)
        with usage_errors():
            check_crop(crop, image)
            scores = score_images(
                list(sources.values()),
                image,
                truth,
                keys=keys,
                crop=crop,
                data_range=data_range,
                complete=keys is not None,
            )
        if as_json:
            finite = {key: value if math.isfinite(value) else None for key, value in scores.items()}
            for line in json.dumps(finite, indent=2).splitlines():
                terminal.say(line)
            return
        terminal.say(f"Sources: {', '.join(sources)}")
        if image is not read:
            terminal.say(
                f"{fused} was converted from {read.dtype.name} to {first.dtype.name}, as the sources."
            )
        _print_table(terminal, scores)
        terminal.say(f"Grey: {GREY}")
        if crop:
            terminal.say(f"Ignored {crop} pixels at each border.")


def _find_sources(
    inputs: Sequence[str], fused: Path, reference: Path | None, warn: Callable[[str], None]
) -> "list[Header]":
    """Return the frames; raise if the fused image or the reference is among them, as in a common folder."""
    from panfocus.io.headers import read_headers
    from panfocus.io.input_files import find_inputs

    paths = find_inputs(inputs, warn=warn)
    for other, role in ((fused, "fused image"), (reference, "reference")):
        if other and any(path.exists() and other.exists() and path.samefile(other) for path in paths):
            raise InputError(
                f"{other}: the {role} is among the sources. Name the frames one by one, or move it.",
                file=str(other),
            )
    headers = read_headers(paths)
    if len(headers) < 2:
        raise InputError(
            f"A score needs at least two sources, got only {headers[0].name}.",
            got=len(headers),
            file=str(paths[0]),
        )
    return headers


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
