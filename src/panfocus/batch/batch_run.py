"""Fuse all stacks of a batch: plan them, skip finished ones, run the others, write the summary."""

import dataclasses
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from panfocus._memory import free_memory
from panfocus._progress import Progress
from panfocus._threads import available_cores
from panfocus.batch.output_names import (
    MAP_FILES,
    PICTURE,
    RECORD,
    REPORT,
    SUMMARY,
    check_distinct,
    fold_case,
)
from panfocus.batch.stack_task import (
    StackOutcome,
    StackTask,
    find_result,
    fingerprint,
    fuse_stack,
    is_result,
)
from panfocus.batch.summary import Summary, last_run
from panfocus.errors import FileError, PanfocusError
from panfocus.io.atomic_files import create_folder, is_case_insensitive, read_json
from panfocus.io.input_files import sort_naturally
from panfocus.io.lock import LOCK_NAME, lock_folder
from panfocus.job.request import Outputs, Request
from panfocus.parallel import STOPPING, Cluster, run_tasks

MIN_PROCESS_MEMORY = 1_000_000_000  # bytes; limits the default number of processes
FREE_SHARE = 0.75  # of the free memory, for all processes together
CHANGED = "Its files have changed since it was fused. Use `force` to fuse it again."


def plan_stacks(
    stacks: Mapping[str, Sequence[Path]],
    output: Path,
    template: Request,
    *,
    folder: Path,
    file_format: str,
    maps: Sequence[str],
    skipped: Mapping[str, str] = MappingProxyType({}),
) -> list[StackTask]:
    """Return a task for each stack, with the settings of a template request and absolute paths.

    `folder` holds all stacks. `skipped` has a notice for each stack with unsupported pictures. Raise for
    settings that are wrong for any stack.
    """
    from panfocus import __version__
    from panfocus.job.prepare import check_options

    check_options(dataclasses.replace(template, outputs=name_outputs(Path(), file_format, maps)))

    output = output.absolute()
    dictionary = template.dictionary
    if dictionary and dictionary.exists():  # else the name of a dictionary that the package ships
        dictionary = dictionary.absolute()
    tasks = []
    for name, files in stacks.items():
        request = dataclasses.replace(
            template,
            inputs=tuple(str(path.absolute()) for path in files),
            outputs=name_outputs(output / name, file_format, maps),
            dictionary=dictionary,
        )
        warnings = (skipped[name],) if name in skipped else ()
        tasks.append(StackTask(name, output, request, fingerprint(request, __version__, folder), warnings))
    return tasks


def name_outputs(folder: Path, file_format: str, maps: Sequence[str]) -> Outputs:
    """Return the paths of the results of a stack; `maps` are keys of `MAP_FILES`."""
    paths: dict[str, Any] = {kind: folder / MAP_FILES[kind] for kind in maps}
    return Outputs(image=folder / f"{PICTURE}.{file_format}", report=folder / REPORT, **paths)


@contextmanager
def batch_folder(output: Path, names: Iterable[str]) -> Iterator[None]:
    """Create and lock the output folder for the duration of the block.

    Raise if it holds other files, or if its file system takes two stack names for the same.
    """
    with create_folder(output), lock_folder(output):
        check_folder(output)
        if is_case_insensitive(output):
            check_distinct(names, fold_case)
        yield


def check_folder(output: Path) -> None:
    """Raise if a folder holds files that no batch has written."""
    has_files = output.is_dir() and any(path.name != LOCK_NAME for path in output.iterdir())
    if has_files and not ((output / SUMMARY).exists() and "stacks" in read_json(output / SUMMARY)):
        raise FileError(f"{output}: The folder holds other files. Choose another one.", file=output)


def find_finished(tasks: Sequence[StackTask], *, force: bool) -> list[StackOutcome]:
    """Return the outcomes of earlier runs, and failures for stacks whose files have changed.

    Raise if results have other settings or another version: they would be mixed. With `force`, such stacks
    and changed ones are left to be fused again.
    """
    known = []
    stale = []
    for task in tasks:
        result = find_result(task)
        part = result.fingerprint.difference(task.fingerprint) if result else None
        if result and part is None:
            known.append(result.outcome)
        elif result and not force and part == "inputs":
            known.append(StackOutcome(name=task.name, error=CHANGED))
        elif result and not force:
            stale.append((task.folder, part))
    if stale:
        folder, part = stale[0]
        others = f", and so were {len(stale) - 1} more" if len(stale) > 1 else ""
        how = "by another version of panfocus" if part == "version" else "with other settings"
        raise FileError(
            f"{folder}: This stack was fused {how}{others}. Choose another output folder, or use `force` to "
            "fuse again.",
            file=folder,
            stale=len(stale),
        )
    return known


def find_unknown_results(output: Path, tasks: Sequence[StackTask]) -> list[str]:
    """Return the names of results in the output folder whose stacks no longer exist."""
    known = {fold_case(task.name) for task in tasks}  # a disk may ignore case and accents
    folders = (record.parent for record in output.rglob(RECORD))
    others = [
        folder
        for folder in folders
        if fold_case(folder.relative_to(output).as_posix()) not in known and is_result(folder)
    ]
    return [folder.relative_to(output).as_posix() for folder in sort_naturally(others)]


def run_batch(
    tasks: Sequence[StackTask],
    *,
    done: Sequence[StackOutcome],
    warn: Callable[[str], None],
    progress: Progress,
    cluster: Cluster | None = None,
    processes: int | None = None,
) -> list[StackOutcome]:
    """Fuse all stacks that are not `done`, and return the outcomes of all, in order.

    Without a cluster, the default number of processes is as large as cores and memory allow. Failures go to
    `warn`, and the other stacks continue. The summary is kept up to date. Outcomes in `done` that have no
    task come last.
    """
    outcomes = {outcome.name: outcome for outcome in done}
    left = [task for task in tasks if task.name not in outcomes]
    run = _next_run(tasks[0].output, left)
    left = [dataclasses.replace(task, run=run) for task in left]
    names = list(dict.fromkeys([*(task.name for task in tasks), *outcomes]))
    summary = Summary(tasks[0].output, names, run)

    def show(stage: str = "fuse") -> None:
        progress(stage, len(outcomes) / len(names))

    def warn_if_failed(outcome: StackOutcome) -> None:
        if outcome.error is not None:
            warn(f"{outcome.name}: {outcome.error}")

    for outcome in done:
        warn_if_failed(outcome)
    try:
        summary.write(outcomes)
        show()
        with closing(_run_stacks(left, cluster, processes, on_stop=lambda: show(STOPPING))) as finished:
            for index, result in finished:
                if isinstance(result, PanfocusError):
                    outcome = StackOutcome(name=left[index].name, error=str(result))
                else:
                    outcome = result
                outcomes[outcome.name] = outcome
                warn_if_failed(outcome)
                show()
                summary.write_if_due(outcomes)
    finally:
        summary.write(outcomes)
    _remove_empty([task.folder for task in left if outcomes[task.name].error is not None])
    return [outcomes[name] for name in names]


def _next_run(output: Path, left: Sequence[StackTask]) -> int:
    """Return a number above all earlier runs of the folder, and of results that may come from other folders.

    Times would not do: the clocks of several machines differ.
    """
    results = (result.run for task in left if (result := find_result(task)))
    return 1 + max([last_run(output), *results])


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove the folders of failed stacks. No worker may be running."""
    for folder in sorted(folders, reverse=True):  # inner folders first
        with suppress(OSError):  # it holds an older result, or does not exist
            folder.rmdir()


def _run_stacks(
    tasks: Sequence[StackTask],
    cluster: Cluster | None,
    processes: int | None,
    *,
    on_stop: Callable[[], None],
) -> Generator[tuple[int, StackOutcome | PanfocusError]]:
    if not tasks:
        return
    # Dask counts one thread for each task. With more to offer, users set `threads`.
    n_processes, threads, memory = 1, 1, None
    if not cluster:
        n_processes, memory = _processes_and_memory(processes, len(tasks))
        threads = max(1, available_cores() // n_processes)
    threads = tasks[0].request.threads or threads
    yield from run_tasks(
        fuse_stack,
        [(_with_limits(task, threads, memory),) for task in tasks],
        cluster=cluster,
        processes=n_processes,
        threads=threads,
        paths=_needed_paths(tasks),
        on_stop=on_stop,
    )


def _with_limits(task: StackTask, threads: int, memory: int | None) -> StackTask:
    """Return a task with limits of threads and memory; a limit of memory that it has stays."""
    request = dataclasses.replace(task.request, threads=threads, max_memory=task.request.max_memory or memory)
    return dataclasses.replace(task, request=request)


def _needed_paths(tasks: Sequence[StackTask]) -> tuple[Path, ...]:
    """Return paths that every worker must see: the summary, and the common folder of all pictures."""
    folders = {Path(name).parent for task in tasks for name in task.request.inputs}
    return tasks[0].output / SUMMARY, *([Path(os.path.commonpath(folders))] if folders else [])


def _processes_and_memory(wanted: int | None, n_tasks: int) -> tuple[int, int | None]:
    """Return the number of processes, and the bytes that each may use."""
    free = free_memory()
    fitting = max(1, int(FREE_SHARE * free) // MIN_PROCESS_MEMORY) if free else available_cores()
    n_processes = min(wanted or min(available_cores(), fitting), n_tasks)
    return n_processes, int(FREE_SHARE * free) // n_processes if free else None
