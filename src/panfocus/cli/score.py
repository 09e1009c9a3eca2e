"""`panfocus score`: the metrics of one fused picture."""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from panfocus.cli._console import Console, Debug, console
from panfocus.cli._metrics import Crop, DataRange, Metrics, check_data_range, chosen_metrics
from panfocus.errors import InputError, usage_errors


def score(
    *,
    fused: Annotated[Path, typer.Argument(metavar="FUSED", help="The fused picture.")],
    inputs: Annotated[
        list[str], typer.Argument(metavar="SOURCE SOURCE...", help="The frames: files, folders, patterns.")
    ],
    reference: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The picture that counts as right.")
    ] = None,
    metrics: Metrics = None,
    crop: Crop = 0,
    data_range: DataRange = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, score by key; null is infinite.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Score a fused picture against its frames, and against a reference if there is one."""
    with console(debug=debug) as terminal:
        from panfocus.compare.scoring import (
            GREY,
            RESULT_OVERSHOOT,
            at_depth_of,
            check_alike,
            check_crop,
            check_range,
            score_pictures,
        )
        from panfocus.io.read_stack import read_single

        with usage_errors():
            check_data_range(data_range)
            keys = None if metrics is None else chosen_metrics(metrics)
            paths = _sources(inputs, fused, reference, terminal.warn)
        pictures = {path: read_single(path) for path in [fused, *paths, *([reference] if reference else [])]}
        first = pictures[paths[0]]
        given = pictures[fused]
        pictures[fused] = at_depth_of(first, given, str(fused))
        for path, picture in pictures.items():
            check_alike(picture, str(path), first, str(paths[0]))
            overshoot = RESULT_OVERSHOOT if path == fused else 0.0
            check_range(picture, str(path), data_range, overshoot=overshoot)
        with usage_errors():
            check_crop(crop, pictures[fused])
            scores = score_pictures(
                [pictures[path] for path in paths],
                pictures[fused],
                pictures[reference] if reference else None,
                keys=keys,
                crop=crop,
                data_range=data_range,
                complete=keys is not None,
            )
        if as_json:
            finite = {key: value if math.isfinite(value) else None for key, value in scores.items()}
            for line in json.dumps(finite, indent=2).splitlines():
                terminal.say(line)
        else:
            terminal.say(f"sources: {', '.join(map(str, paths))}")
            if pictures[fused] is not given:
                terminal.say(f"{fused} is {given.dtype.name}, and was brought to the depth of the sources")
            _print_table(terminal, scores)
            terminal.say(f"grey: {GREY}")
            if crop:
                terminal.say(f"without {crop} border pixels")


def _sources(
    inputs: Sequence[str], fused: Path, reference: Path | None, warn: Callable[[str], None]
) -> list[Path]:
    """Find the sources; what they are scored with is often in the same folder, and is none of them."""
    from panfocus.io.input_files import find_inputs

    paths = find_inputs(inputs, warn=warn)
    if len(paths) < 2:
        raise InputError(f"a score needs at least two sources, got only {paths[0]}")
    for other, what in ((fused, "fused picture"), (reference, "reference")):
        if other and any(path.exists() and other.exists() and path.samefile(other) for path in paths):
            raise InputError(
                f"the {what} {other} is among the sources; name the frames one by one, or move it elsewhere"
            )
    return paths


def _print_table(terminal: Console, scores: Mapping[str, float]) -> None:
    """Print aligned columns, ruled ones on a terminal."""
    from panfocus.metrics import metric_of

    rows = [
        (key, f"{value:.6g}", f"{metric_of(key).better} is better", metric_of(key).says)
        for key, value in scores.items()
    ]
    if sys.stdout and sys.stdout.isatty():
        from rich.console import Console as Terminal
        from rich.table import Table

        table = Table("metric", "score", "", "what it says")
        for row in rows:
            table.add_row(*row)
        Terminal().print(table)
    else:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            terminal.say("  ".join(cells).rstrip())
