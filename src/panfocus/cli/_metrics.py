"""The options of every command that scores."""

import math
from typing import Annotated

import typer

from panfocus.errors import InputError

Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics", metavar="A,B,C", help="Which scores, by key, such as NMI,QABF; by default all."
    ),
]
Crop = Annotated[
    int, typer.Option("--crop", metavar="N", min=0, help="Leave N border pixels out of the scores.")
]

DataRange = Annotated[
    float | None,
    typer.Option(
        "--data-range",
        metavar="X",
        help="Value of white, such as 4095 of 12 bits in 16; by default the type's largest, 1 of floats.",
    ),
]


def check_data_range(value: float | None) -> None:
    """Refuse a white that is none."""
    if value is not None and not 0 < value < math.inf:
        raise InputError(f"--data-range must be a number above 0, got {value:g}")


def chosen_metrics(typed: str | None) -> tuple[str, ...]:
    """Return the keys that were typed, or those of the whole catalogue."""
    from panfocus.metrics import CATALOGUE, metric_of

    if typed is None:
        return tuple(metric.key for metric in CATALOGUE)
    keys = tuple(key.strip() for key in typed.split(","))
    for key in keys:
        metric_of(key)
    if len(set(keys)) < len(keys):
        raise InputError(f"--metrics {typed}: a key is given twice")
    return keys
