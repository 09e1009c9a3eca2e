"""`panfocus batch`: fuse all stacks in a folder with the same settings."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from panfocus.cli import _options as options
from panfocus.cli._console import Console, console, count, resumable
from panfocus.cli.fuse import count_images
from panfocus.errors import InputError, PanfocusError, usage_errors
from panfocus.job.request import Outputs, Request

if TYPE_CHECKING:
    from panfocus.batch.find_stacks import FoundStacks

MAX_NAMES = 3  # in a list of skipped files


def batch(
    *,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Folder of stacks: every folder in it that holds two or more images is one stack.",
        ),
    ],
    output: options.OutputFolder,
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Group files into stacks by the part (?P<stack>...) of their path in DIR, such as "
            r"'(?P<stack>.+)_z\d+\.tif'.",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Group files into stacks by a table with the columns stack, file (relative to DIR) and, "
            "optionally, order.",
        ),
    ] = None,
    files: Annotated[
        bool, typer.Option("--files", help="Treat each multi-page file in DIR as a stack.")
    ] = False,
    workers: Annotated[
        int | None,
        options.number_option("Number of processes; default: one per core, fewer if memory is short.", 1),
    ] = None,
    scheduler: options.Scheduler = None,
    file_format: Annotated[
        str,
        typer.Option("--format", metavar="NAME", help="Format of the fused images: png, tif, jpg or webp."),
    ] = "png",
    maps: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="Maps to write for each stack: labels, confidence, depth, depth-colour, never-in-focus.",
        ),
    ] = None,
    method: options.Method = None,
    settings: options.Settings = None,
    dictionary: options.Dictionary = None,
    hot_pixels: options.HotPixels = "auto",
    align: options.Align = "auto",
    borders: options.Borders = "full",
    exposure: options.Exposure = "auto",
    decide_channels: options.DecideChannels = "auto",
    refine: options.Refine = False,
    step: options.Step = None,
    channel: options.Channel = None,
    time: options.Time = None,
    bits: options.Bits = None,
    max_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Maximum memory of each worker, such as 2GB.")
    ] = None,
    skip_bad: options.SkipBad = False,
    threads: Annotated[
        int | None, options.number_option("Threads of each worker; default: an equal share of the cores.", 1)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the stacks, fuse nothing.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Fuse again the stacks whose files or settings have changed.")
    ] = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Fuse all stacks in a folder.

    Writes a folder for each stack, and index.html, summary.csv and summary.json. Run the same command again
    to resume. If a stack fails, the others continue.
    """
    given = locals()  # most parameters have the names of fields of `Request`
    with console(quiet=quiet, debug=debug) as terminal:
        from panfocus._checks import check_choice
        from panfocus.batch.batch_run import (
            batch_folder,
            check_folder,
            find_finished,
            find_unknown_results,
            plan_stacks,
            run_batch,
        )
        from panfocus.batch.find_stacks import find_stacks
        from panfocus.batch.stack_task import StackOutcome
        from panfocus.io.encode import IMAGE_SUFFIXES
        from panfocus.parallel import check_dask, open_cluster

        like = options.fill(
            Request,
            given,
            inputs=(),
            outputs=Outputs(),
            settings=tuple(settings or ()),
            max_memory=options.parse_memory(max_memory),
        )
        with usage_errors():
            if scheduler and workers:
                raise InputError(
                    "`workers` cannot be combined with `scheduler`: a cluster has its own workers.",
                    setting="workers",
                    got=workers,
                )
            if scheduler:
                check_dask()  # before the search for stacks, which may take long
            check_choice("file_format", file_format.lower(), [suffix[1:] for suffix in IMAGE_SUFFIXES])
            try:
                found = find_stacks(folder, without=output, pattern=pattern, table=table, files=files)
            except PanfocusError as error:
                _point_to_fuse(folder, error)
                raise
            tasks = plan_stacks(
                found.stacks,
                output,
                like,
                folder=folder,
                file_format=file_format,
                maps=_parse_maps(maps) if maps else [],
                skipped=found.skipped,
            )
        n_stacks = len(found.stacks) + len(found.failed)
        _report_stacks(terminal, found)
        if dry_run:
            check_folder(output)
            for task in tasks:
                terminal.say(f"  {task.name}: {count(len(task.request.inputs), 'file')}")
            for name, reason in found.failed.items():
                terminal.warn(f"{name}: {reason}")
            return
        with (
            open_cluster(scheduler, terminal.say) as cluster,
            batch_folder(output, found.stacks),
            resumable(output),
        ):
            known = find_finished(tasks, force=force)
            known += [StackOutcome(name=name, error=reason) for name, reason in found.failed.items()]
            if n_done := sum(outcome.error is None for outcome in known):
                terminal.say(f"Skipped {count(n_done, 'finished stack')}.")
            if others := find_unknown_results(output, tasks):
                terminal.say(f"Kept results of stacks that no longer exist: {_first_names(others)}")
            outcomes = run_batch(
                tasks,
                done=known,
                warn=terminal.warn,
                progress=lambda stage, share: terminal.progress(stage, share, of=n_stacks),
                cluster=cluster,
                processes=workers,
            )
        failed = [outcome for outcome in outcomes if outcome.error is not None]
        if n_warned := sum(bool(outcome.warnings) for outcome in outcomes):
            terminal.say(f"{count(n_warned, 'stack')} with warnings; see {output / 'index.html'}")
        terminal.say(f"Fused {count(len(outcomes) - len(failed) - n_done, 'stack')}.")
        terminal.say(f"Wrote {output / 'index.html'}, summary.csv, summary.json")
        if failed:
            raise PanfocusError(
                f"{len(failed)} of {len(outcomes)} stacks failed; see {output / 'index.html'}. "
                "Fix these stacks and run the command again; finished stacks are skipped.",
                file=str(output / "index.html"),
                failed=[outcome.name for outcome in failed],
            )


def _point_to_fuse(folder: Path, error: PanfocusError) -> None:
    """Raise a better error if the folder of a failed search is a file, or is itself a stack."""
    if folder.is_file():
        raise InputError(f"{folder}: This is a file, not a folder.", file=str(folder)) from error
    with suppress(OSError):
        if count_images(folder) > 1 and not any(path.is_dir() for path in folder.iterdir()):
            raise InputError(
                f"{folder}: This folder is itself a stack. Use `pattern`, `table` or `files` if it holds "
                f"several; otherwise fuse it with: panfocus fuse {folder}",
                file=str(folder),
            ) from error


def _parse_maps(typed: str) -> list[str]:
    """Return the kinds of maps in a list such as labels,depth-colour."""
    from panfocus._checks import check_choice
    from panfocus.batch.output_names import MAP_FILES

    kinds = {name.replace("_", "-"): name for name in MAP_FILES}
    names = [name.replace("_", "-") for name in options.parse_list(typed)]
    for name in names:
        check_choice("maps", name, list(kinds))
    return [kinds[name] for name in names]


def _report_stacks(terminal: Console, found: "FoundStacks") -> None:
    n_files = sum(map(len, found.stacks.values()))
    failed = f", and {len(found.failed)} that cannot be fused" if found.failed else ""
    terminal.say(f"Found {count(len(found.stacks), 'stack')} of {count(n_files, 'file')}{failed}.")
    if found.unused:
        terminal.say(f"Skipped files that belong to no stack: {_first_names(found.unused)}")
    if found.duplicates:
        terminal.say(f"Skipped links to folders already found: {_first_names(found.duplicates)}")


def _first_names(things: Sequence[object]) -> str:
    more = f" and {len(things) - MAX_NAMES} more" if len(things) > MAX_NAMES else ""
    return ", ".join(map(str, things[:MAX_NAMES])) + more
