"""`panfocus compare`: methods, and results of other programs, on folders of scenes."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from panfocus.cli._console import Console, console, count, resumable
from panfocus.cli._options import (
    Crop,
    DataRange,
    Debug,
    Force,
    Metrics,
    OutputFolder,
    Quiet,
    parse_metrics,
)
from panfocus.errors import InputError, usage_errors

if TYPE_CHECKING:
    from panfocus.compare import Entry, Group


def compare(
    *,
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR",
            help="Folders of scenes: frames NAME-A, NAME-B, ...; reference NAME-GT or NAME-ref.",
        ),
    ],
    output: OutputFolder,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="Methods, with settings after colons, such as coupled,coupled:w=0.6:stride=2.",
        ),
    ] = None,
    results: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=DIR",
            help="Results of another program, in files named after the scenes. Can be repeated.",
        ),
    ] = None,
    metrics: Metrics = None,
    crop: Crop = 0,
    data_range: DataRange = None,
    jpeg: Annotated[
        int | None,
        typer.Option(
            metavar="Q", min=1, max=100, help="Compress each result as JPEG of this quality before scoring."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Number of processes; default: one per core."),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare methods on folders of scenes.

    Writes index.html, scores.csv, scores.json and the images. Run the same command again to resume. With
    --force, a finished report is updated, and unchanged results are reused.
    """
    with console(quiet=quiet, debug=debug) as terminal:
        from panfocus.compare import (
            Comparison,
            Conditions,
            find_groups,
            list_trials,
            report_folder,
            run_trials,
            write_report,
        )

        with usage_errors():
            conditions = Conditions(
                metrics=parse_metrics(metrics), crop=crop, jpeg=jpeg, data_range=data_range
            )
            groups = find_groups(folders, warn=terminal.warn)
            if metrics is not None:
                _check_keys(conditions.metrics, groups)
        entries = _entries(methods, results or [], groups)
        with report_folder(output, force=force) as results_folder, resumable(output):
            _announce(terminal, groups, entries)
            trials = list_trials(groups, entries, conditions, results_folder)
            progress = partial(terminal.progress, of=len(trials))
            trial_results, reused = run_trials(trials, workers=workers, progress=progress)
            comparison = Comparison.of(groups, entries, conditions, trials, trial_results)
            write_report(comparison, output, force=force, progress=terminal.progress)
        for notice in comparison.list_scaled_results():
            terminal.say(notice)
        if metrics is not None:
            _report_gaps(terminal, [key for key in conditions.metrics if not comparison.has(key)])
        terminal.say(f"Fused {count(len(trials) - reused, 'result')}, reused {reused}.")
        terminal.say(f"Wrote {output / 'index.html'}, scores.csv, scores.json")


def _entries(methods: str | None, results: Sequence[str], groups: "Sequence[Group]") -> "list[Entry]":
    from panfocus.compare import check_names, parse_methods, parse_results

    with usage_errors():
        entries: list[Entry] = [*(parse_methods(methods) if methods else [])]
        entries += parse_results(results, groups)
        if not entries:
            raise InputError("Nothing to compare. Give `methods`, `results`, or both.")
        check_names(entries)
    return entries


def _check_keys(keys: Sequence[str], groups: "Sequence[Group]") -> None:
    """Raise if a metric is undefined for every scene."""
    from panfocus.metrics import explain_undefined

    scenes = [scene for group in groups for scene in group.scenes]
    for key in keys:
        reasons = [
            explain_undefined(key, n_sources=len(scene.sources), reference=scene.reference is not None)
            for scene in scenes
        ]
        if all(reasons):
            raise InputError(
                f"`metrics`: {reasons[0]} This holds for every scene.", setting="metrics", got=key
            )


def _report_gaps(terminal: Console, keys: Sequence[str]) -> None:
    """Print why metrics have no value on any scene, if only the pixels could tell."""
    from panfocus.metrics import get_metric

    for key in keys:
        lacking = "a result and a reference in colour" if get_metric(key).colour else "large enough images"
        terminal.say(f"{key} has no value: no scene has {lacking}.")


def _announce(terminal: Console, groups: "Sequence[Group]", entries: "Sequence[Entry]") -> None:
    for group in groups:
        terminal.say(f"{group.name}: {count(len(group.scenes), 'scene')} x {count(len(entries), 'method')}")
        if group.ignored:
            terminal.say(f"  Skipped, not part of a scene: {', '.join(path.name for path in group.ignored)}")
        for entry in entries:
            if missing := [scene.name for scene in group.scenes if not entry.has(group.name, scene)]:
                terminal.say(f"  {entry.name} has no result for {', '.join(missing)}")
