"""`panfocus compare`: methods, and results of other programs, on folders of scenes."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from panfocus.cli import _options as options
from panfocus.cli._console import Console, console, count, resumable
from panfocus.errors import usage_errors

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
    output: options.OutputFolder,
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
    metrics: options.Metrics = None,
    crop: options.Crop = 0,
    data_range: options.DataRange = None,
    jpeg: Annotated[
        int | None,
        typer.Option(
            metavar="Q", min=1, max=100, help="Compress each result as JPEG of this quality before scoring."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        options.number_option("Number of processes; default: one per core.", 1),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
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
            parse_entries,
            report_folder,
            run_trials,
            write_report,
        )
        from panfocus.metrics import metric_names

        with usage_errors():
            conditions = Conditions(
                metrics=tuple(metric_names() if metrics is None else options.parse_list(metrics)),
                crop=crop,
                jpeg=jpeg,
                data_range=data_range,
            )
            groups = find_groups(folders, warn=terminal.warn)
            if metrics is not None:
                conditions.check_defined(groups)
            entries = parse_entries(methods, results or [], groups)
        with report_folder(output, force=force) as results_folder, resumable(output):
            _announce(terminal, groups, entries)
            trials = list_trials(groups, entries, conditions, results_folder)
            progress = partial(terminal.progress, of=len(trials))
            trial_results, reused = run_trials(trials, workers=workers, progress=progress)
            comparison = Comparison.of(groups, entries, conditions, trials, trial_results)
            write_report(comparison, output, force=force, progress=terminal.progress)
        gaps = [] if metrics is None else comparison.list_gaps()
        for notice in (*comparison.list_scaled_results(), *gaps):
            terminal.say(notice)
        terminal.say(f"Fused {count(len(trials) - reused, 'result')}, reused {reused}.")
        terminal.say(f"Wrote {output / 'index.html'}, scores.csv, scores.json")


def _announce(terminal: Console, groups: "Sequence[Group]", entries: "Sequence[Entry]") -> None:
    for group in groups:
        terminal.say(f"{group.name}: {count(len(group.scenes), 'scene')} x {count(len(entries), 'method')}")
        if group.ignored:
            terminal.say(f"  Skipped, not part of a scene: {', '.join(path.name for path in group.ignored)}")
        for entry in entries:
            if missing := [scene.name for scene in group.scenes if not entry.has(scene)]:
                terminal.say(f"  {entry.name} has no result for {', '.join(missing)}")
