"""The options of every command that scores."""

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
