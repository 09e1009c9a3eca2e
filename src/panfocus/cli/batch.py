"""`panfocus batch`: every stack below a folder, fused with the same settings."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from panfocus.cli._align import Align, Borders
from panfocus.cli._console import Console, Debug, Quiet, ReportFolder, SkipBad, console, resumable
from panfocus.cli._fusion import (
    Bits,
    Channel,
    Dictionary,
    Exposure,
    HotPixels,
    Method,
    Refine,
    Settings,
    Step,
    Time,
)
from panfocus.errors import InputError, PanfocusError, usage_errors
from panfocus.job.outputs import Outputs
from panfocus.job.request import Request

if TYPE_CHECKING:
    from panfocus.batch.find_stacks import Found

MOST_NAMED = 3  # of things that are left alone


def batch(
    *,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Every folder below it with two or more images is a stack.")
    ],
    output: ReportFolder,
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Files of one stack are those whose path below DIR fits, with the same part "
            r"(?P<stack>...), such as '(?P<stack>.+)_z\d+\.tif'.",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--csv", metavar="FILE", help="Table with columns stack, file (as seen from DIR), maybe order."
        ),
    ] = None,
    files: Annotated[
        bool, typer.Option("--files", help="Every file with several pages below DIR is a stack.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes, each at one stack; by default one per core, if memory allows."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Work on the Dask cluster of this scheduler, such as tcp://10.0.0.5:8786; "
            "its workers see DIR and the output by the same names.",
        ),
    ] = None,
    file_format: Annotated[
        str, typer.Option("--format", help="Of the fused pictures: png, tif, jpg or webp.")
    ] = "png",
    maps: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="Write also labels, confidence, depth, depth-colour, never-in-focus of every stack.",
        ),
    ] = None,
    method: Method = None,
    settings: Settings = None,
    dictionary: Dictionary = None,
    hot_pixels: HotPixels = "auto",
    align: Align = "auto",
    borders: Borders = "full",
    exposure: Exposure = "auto",
    refine: Refine = False,
    step: Step = None,
    channel: Channel = None,
    time: Time = None,
    bits: Bits = None,
    max_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Most memory of each worker, such as 2GB.")
    ] = None,
    skip_bad: SkipBad = False,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of each worker; by default its share of the cores.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say which stacks there are, fuse none.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Fuse anew what was fused with other settings or files.")
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Fuse every stack below a folder.

    Each gets a folder of its name in the output, beside index.html, summary.csv and summary.json.
    Started again, it goes on where it was. A stack that cannot be fused is told of; the others go on.
    """
    with console(quiet=quiet, debug=debug) as terminal:
        from panfocus.batch.batch_run import (
            batch_folder,
            check_folder,
            finished_before,
            outputs_of,
            plan,
            results_of_others,
            run_batch,
        )
        from panfocus.batch.stack_task import Outcome
        from panfocus.job.options import checked_options
        from panfocus.parallel import check_dask, connected

        like = Request(
            inputs=(),
            outputs=Outputs(),
            method=method,
            settings=tuple(settings or ()),
            dictionary=dictionary,
            hot_pixels=hot_pixels,
            align=align,
            borders=borders,
            exposure=exposure,
            refine=refine,
            step=step,
            skip_bad=skip_bad,
            channel=channel,
            time=time,
            bits=bits,
            max_memory=max_memory,
            threads=threads,
        )
        with usage_errors():
            wanted = _wanted_maps(maps)
            if scheduler and workers:
                raise InputError("--workers with --scheduler: a cluster has its own; leave one of them out")
            if scheduler:
                check_dask()  # first: to find the stacks may take long
            found = _found(folder, output, pattern, table, files=files)
            checked_options(dataclasses.replace(like, outputs=outputs_of(Path(), file_format, wanted)))
        tasks = plan(
            found.stacks,
            output,
            like,
            folder=folder,
            file_format=file_format,
            maps=wanted,
            unread=found.unread,
        )
        n_stacks = len(found.stacks) + len(found.failed)
        _tell(terminal, found)
        if dry_run:
            check_folder(output)
            for task in tasks:
                terminal.say(f"  {task.name}: {_count(len(task.request.inputs), 'file')}")
            for name, reason in found.failed.items():
                terminal.warn(f"{name}: {reason}")
            return
        with (
            connected(scheduler, terminal.say) as cluster,
            batch_folder(output, found.stacks),
            resumable(output),
        ):
            known = finished_before(tasks, force=force)
            known += [Outcome(name=name, error=reason) for name, reason in found.failed.items()]
            if n_done := sum(outcome.error is None for outcome in known):
                stay = "is fused already and stays as it is", "are fused already and stay as they are"
                terminal.say(f"{n_done} of them {stay[n_done > 1]}")
            if others := results_of_others(output, tasks):
                terminal.say(f"results of stacks that are not there, left alone: {_first(others)}")
            outcomes = run_batch(
                tasks,
                done=known,
                warn=terminal.warn,
                progress=lambda stage, share: terminal.progress(stage, share, of=n_stacks),
                cluster=cluster,
                processes=workers,
            )
        failed = [outcome for outcome in outcomes if outcome.error is not None]
        if remarked := sum(bool(outcome.warnings) for outcome in outcomes):
            terminal.say(f"there are remarks on {_count(remarked, 'stack')}, see {output / 'index.html'}")
        terminal.say(f"fused {_count(len(outcomes) - len(failed) - n_done, 'stack')}")
        terminal.say(f"wrote {output / 'index.html'}, summary.csv and summary.json beside it")
        if failed:
            raise PanfocusError(
                f"{len(failed)} of {len(outcomes)} stacks failed, see {output / 'index.html'}; "
                "mended and started again, only these are fused"
            )


def _wanted_maps(typed: str | None) -> list[str]:
    from panfocus._checks import one_of
    from panfocus.batch.names import MAPS

    wanted = [name.strip().replace("-", "_") for name in typed.split(",")] if typed else []
    for name in wanted:
        one_of("--maps", name.replace("_", "-"), [known.replace("_", "-") for known in MAPS])
    return wanted


def _found(folder: Path, output: Path, pattern: str | None, table: Path | None, *, files: bool) -> "Found":
    from panfocus.batch import find_stacks

    if sum((pattern is not None, table is not None, files)) > 1:
        raise InputError("--pattern, --csv and --files are ways of telling stacks apart; choose one of them")
    if output.exists() and folder.exists() and output.samefile(folder):
        raise InputError(f"-o {output}: the folder of the stacks; choose another one for the results")
    folder = folder.absolute()
    if pattern is not None:
        return find_stacks.by_pattern(folder, pattern, without=output)
    if table is not None:
        return find_stacks.by_table(folder, table)
    return (find_stacks.by_files if files else find_stacks.by_folders)(folder, without=output)


def _tell(terminal: Console, found: "Found") -> None:
    n_files = sum(map(len, found.stacks.values()))
    cannot = f", and {len(found.failed)} more that cannot be fused" if found.failed else ""
    terminal.say(f"found {_count(len(found.stacks), 'stack')} of {_count(n_files, 'file')}{cannot}")
    if found.left:
        terminal.say(f"in no stack, and left alone: {_first(found.left)}")
    if found.again:
        terminal.say(f"links to what is there by another name, passed over: {_first(found.again)}")


def _first(things: Sequence[object]) -> str:
    more = f" and {len(things) - MOST_NAMED} more" if len(things) > MOST_NAMED else ""
    return ", ".join(map(str, things[:MOST_NAMED])) + more


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
