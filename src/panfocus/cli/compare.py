"""`panfocus compare`: methods and other programs' results, over folders of scenes, as tables and a page."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from panfocus.cli._console import (
    Console,
    Debug,
    Force,
    Quiet,
    ReportFolder,
    console,
    resumable,
)
from panfocus.cli._metrics import Crop, DataRange, Metrics, check_data_range, chosen_metrics
from panfocus.errors import InputError, UsageError, usage_errors

if TYPE_CHECKING:
    from panfocus.compare import Entry, Group


def compare(
    *,
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR",
            help="Folders of scenes: frames NAME-A, NAME-B, ..., reference NAME-GT or NAME-ref.",
        ),
    ],
    output: ReportFolder,
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
            metavar="NAME=DIR", help="Results of another program, files named after the scenes; repeats."
        ),
    ] = None,
    metrics: Metrics = None,
    crop: Crop = 0,
    data_range: DataRange = None,
    jpeg: Annotated[
        int | None,
        typer.Option(metavar="Q", min=1, max=100, help="Put every result through JPEG of this quality."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes, each with one method on one scene; by default one per core."),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare methods on folders of scenes.

    Writes index.html, scores.csv, scores.json and the pictures. Stopped, it goes on where it was when started
    again; so it does over a finished report with --force, as far as nothing has changed.
    """
    with console(quiet=quiet, debug=debug) as terminal:
        from panfocus.compare import (
            Comparison,
            Conditions,
            find_groups,
            plan,
            report_folder,
            run_jobs,
            write_report,
        )

        with usage_errors():
            check_data_range(data_range)
            conditions = Conditions(
                metrics=chosen_metrics(metrics), crop=crop, jpeg=jpeg, data_range=data_range
            )
            groups = find_groups(folders, warn=terminal.warn)
            if metrics is not None:
                _check_keys(conditions.metrics, groups)
        entries = _entries(methods, results or [], groups)
        with (
            report_folder(output, force=force) as results_folder,
            _wrong_conditions(),
            resumable(output),
        ):
            _announce(terminal, groups, entries)
            jobs = plan(groups, entries, conditions, results_folder)
            progress = partial(terminal.progress, of=len(jobs))
            outcomes, reused = run_jobs(jobs, workers=workers, progress=progress)
            comparison = Comparison.of(groups, entries, conditions, jobs, outcomes)
            write_report(comparison, output, force=force, progress=terminal.progress)
        for notice in comparison.scaled_results():
            terminal.say(notice)
        if metrics is not None:
            _report_gaps(terminal, [key for key in conditions.metrics if not comparison.has(key)])
        terminal.say(f"made {_count(len(jobs) - reused, 'result')}, reused {reused} of an earlier run")
        terminal.say(f"wrote {output / 'index.html'}, scores.csv and scores.json beside it")


def _entries(methods: str | None, results: Sequence[str], groups: "Sequence[Group]") -> "list[Entry]":
    from panfocus.compare import check_names, parse_methods, parse_results

    with usage_errors():
        entries: list[Entry] = [*(parse_methods(methods) if methods else [])]
        entries += parse_results(results, groups)
        if not entries:
            raise InputError("nothing to compare; name --methods, or --results that lie in a folder")
        check_names(entries)
    return entries


def _check_keys(keys: Sequence[str], groups: "Sequence[Group]") -> None:
    """Refuse a metric that was typed and can have a value on no scene."""
    from panfocus.metrics import why_undefined

    scenes = [scene for group in groups for scene in group.scenes]
    for key in keys:
        reasons = [
            why_undefined(key, n_sources=len(scene.sources), reference=scene.reference is not None)
            for scene in scenes
        ]
        if all(reasons):
            raise InputError(f"--metrics: {reasons[0]}, and so it is with every scene")


def _report_gaps(terminal: Console, keys: Sequence[str]) -> None:
    """Say why metrics that were typed have no value on any scene, which could be told only from pictures."""
    from panfocus.metrics import metric_of

    for key in keys:
        lacking = "has result and reference in colour" if metric_of(key).colour else "is large enough"
        terminal.say(f"no scene {lacking} for {key}")


def _announce(terminal: Console, groups: "Sequence[Group]", entries: "Sequence[Entry]") -> None:
    for group in groups:
        terminal.say(f"{group.name}: {_count(len(group.scenes), 'scene')} x {_count(len(entries), 'method')}")
        if group.ignored:
            terminal.say(f"  not of a scene: {', '.join(path.name for path in group.ignored)}")
        for entry in entries:
            if missing := [scene.name for scene in group.scenes if not entry.has(group.name, scene)]:
                terminal.say(f"  {entry.name} has no result for {', '.join(missing)}")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


@contextmanager
def _wrong_conditions() -> Iterator[None]:
    from panfocus.compare import ConditionsError

    try:
        yield
    except ConditionsError as error:
        raise UsageError(str(error)) from error
