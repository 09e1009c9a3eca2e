"""All stacks of a batch: what is left to do, who does it, and what came of it."""

import dataclasses
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from panfocus._progress import Progress
from panfocus._threads import available_cores
from panfocus.batch.find_stacks import is_result
from panfocus.batch.names import MAPS, PICTURE, RECORD, REPORT, SUMMARY, check_distinct, without_case
from panfocus.batch.stack_task import Fingerprint, Outcome, Task, fingerprint, fuse_stack, recorded
from panfocus.batch.summary import Summary, last_run
from panfocus.errors import FileError
from panfocus.job.request import Outputs, Request
from panfocus.parallel import Cluster
from panfocus.parallel.processes import FINISHING, Lost
from panfocus.parallel.run_tasks import Workers, perform

LEAST_MEMORY = 1_000_000_000  # bytes, that a process should have: by default there are no more of them
FREE_SHARE = 0.75  # of the free memory that all processes may take together
CHANGED = "its files have changed since it was fused; --force fuses it anew"


def plan(
    stacks: Mapping[str, Sequence[Path]],
    output: Path,
    like: Request,
    *,
    folder: Path,
    file_format: str,
    maps: Sequence[str],
    unread: Mapping[str, str] = MappingProxyType({}),
) -> list[Task]:
    """List what is to be fused, with the settings of one request; its files are named in full.

    `folder`: where all stacks are; `unread`: what is to be said of those that do without some pictures.
    """
    from panfocus import __version__

    output = output.absolute()
    dictionary = (
        like.dictionary.absolute() if like.dictionary and like.dictionary.exists() else like.dictionary
    )
    tasks = []
    for name, files in stacks.items():
        request = dataclasses.replace(
            like,
            inputs=tuple(str(path.absolute()) for path in files),
            outputs=outputs_of(output / name, file_format, maps),
            dictionary=dictionary,
        )
        warnings = (unread[name],) if name in unread else ()
        origin = fingerprint(request, __version__, folder)
        tasks.append(Task(name, output, request, origin, warnings))
    return tasks


def outputs_of(folder: Path, file_format: str, maps: Sequence[str]) -> Outputs:
    """Name the files of a stack's results."""
    named: dict[str, Any] = {kind: folder / MAPS[kind] for kind in maps}
    return Outputs(image=folder / f"{PICTURE}.{file_format}", report=folder / REPORT, **named)


@contextmanager
def batch_folder(output: Path, names: Iterable[str]) -> Iterator[None]:
    """Make a folder the batch's own while the block lasts; refuse one that holds something else.

    Refused are also `names` of stacks that its file system does not tell apart.
    """
    from panfocus.io.atomic_files import create_folder, is_case_insensitive
    from panfocus.io.lock import lock_folder

    with create_folder(output), lock_folder(output):
        check_folder(output)
        if is_case_insensitive(output):
            check_distinct(names, without_case)
        yield


def check_folder(output: Path) -> None:
    """Refuse a folder for a batch that holds something else."""
    from panfocus.io.atomic_files import read_json
    from panfocus.io.lock import LOCK_NAME

    others = output.is_dir() and any(path.name != LOCK_NAME for path in output.iterdir())
    if others and not ((output / SUMMARY).exists() and "stacks" in read_json(output / SUMMARY)):
        raise FileError(f"{output} holds files of other origin; choose another folder")


def finished_before(tasks: Sequence[Task], *, force: bool) -> list[Outcome]:
    """Return what an earlier run has left that counts, and failures of stacks whose files have changed since.

    Results of other settings, or of another version, are refused: they would be mixed. By `force` all that
    is of other origin is left to be redone.
    """
    found = [(task, record) for task in tasks if (record := recorded(task))]
    if force:
        return [record.outcome for task, record in found if record.fingerprint == task.fingerprint]
    others = [
        (task, why) for task, record in found if (why := _other_origin(record.fingerprint, task.fingerprint))
    ]
    if others:
        (first, why), *more = others
        raise FileError(
            f"{first.folder}: fused {why}"
            + (f", and so are {len(more)} more" if more else "")
            + "; choose another folder, or have them fused anew with --force"
        )
    return [
        record.outcome if record.fingerprint == task.fingerprint else Outcome(name=task.name, error=CHANGED)
        for task, record in found
    ]


def _other_origin(found: Fingerprint, wanted: Fingerprint) -> str | None:
    if found.version != wanted.version:
        return "by another version of panfocus"
    return "with other settings" if found.settings != wanted.settings else None


def results_of_others(output: Path, tasks: Sequence[Task]) -> list[str]:
    """Name the results of stacks that earlier runs have found, and this one has not."""
    from panfocus.io.input_files import sort_naturally

    known = {without_case(task.name) for task in tasks}  # a disk may tell no case, nor accents, apart
    folders = (record.parent for record in output.rglob(RECORD))
    others = [
        folder
        for folder in folders
        if without_case(folder.relative_to(output).as_posix()) not in known and is_result(folder)
    ]
    return [folder.relative_to(output).as_posix() for folder in sort_naturally(others)]


def run_batch(
    tasks: Sequence[Task],
    *,
    done: Sequence[Outcome],
    warn: Callable[[str], None],
    progress: Progress,
    cluster: Cluster | None = None,
    processes: int | None = None,
) -> list[Outcome]:
    """Fuse all stacks that are not `done`, for better or worse, and return what came of each, in order.

    On a cluster, or by so many processes here; by default as many as cores and memory allow. The summary is
    there from the beginning and follows what happens. Failures are told by `warn` and stop nothing. What is
    done and has no task comes last.
    """
    outcomes = {outcome.name: outcome for outcome in done}
    left = [task for task in tasks if task.name not in outcomes]
    run = _next_run(tasks[0].output, left)
    left = [dataclasses.replace(task, run=run) for task in left]
    names = list(dict.fromkeys([*(task.name for task in tasks), *outcomes]))
    summary = Summary(tasks[0].output, names, run)

    def show(stage: str = "fuse") -> None:
        progress(stage, len(outcomes) / len(names))

    def tell(outcome: Outcome) -> None:
        if outcome.error is not None:
            warn(f"{outcome.name}: {outcome.error}")

    for outcome in done:
        tell(outcome)
    try:
        summary.write(outcomes)
        show()
        with closing(_performed(left, cluster, processes, on_leaving=lambda: show(FINISHING))) as finished:
            for place, found in finished:
                outcome = _lost(left[place], found, cluster) if isinstance(found, Lost) else found
                outcomes[outcome.name] = outcome
                tell(outcome)
                show()
                summary.write_now_and_then(outcomes)
    finally:
        summary.write(outcomes)
    _remove_empty([task.folder for task in left if outcomes[task.name].error is not None])
    return [outcomes[name] for name in names]


def _next_run(output: Path, left: Sequence[Task]) -> int:
    """Return a number above that of all runs before, which the summary has, and of results to be replaced.

    Clocks of several machines would not tell which run was later; and results may come from another folder.
    """
    results = (record.run for task in left if (record := recorded(task)))
    return 1 + max([last_run(output), *results])


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove the folders of stacks that nothing came of; nobody may be at work, in them or below them."""
    for folder in sorted(folders, reverse=True):  # those inside come first
        with suppress(OSError):  # it holds an older result, or was never made
            folder.rmdir()


def _performed(
    tasks: Sequence[Task],
    cluster: Cluster | None,
    processes: int | None,
    *,
    on_leaving: Callable[[], None],
) -> Generator[tuple[int, Outcome | Lost]]:
    if not tasks:
        return
    needs = _needs(tasks)
    if cluster:
        # Dask counts a thread for each task; who has more to give says so by --threads.
        shares = _shares(tasks, 1)
        yield from perform(fuse_stack, shares, Workers(cluster), needs=needs, on_leaving=on_leaving)
        return
    n_processes, memory = _processes_and_memory(processes, len(tasks))
    threads = max(1, available_cores() // n_processes)
    workers = Workers(processes=n_processes, threads=tasks[0].request.threads or threads)
    shares = _shares(tasks, threads, memory=memory)
    yield from perform(fuse_stack, shares, workers, needs=needs, on_leaving=on_leaving)


def _needs(tasks: Sequence[Task]) -> tuple[Path, ...]:
    """Name what a worker has to see: the batch's own file, and the folder that all pictures are below."""
    folders = {Path(name).parent for task in tasks for name in task.request.inputs}
    return tasks[0].output / SUMMARY, *([Path(os.path.commonpath(folders))] if folders else [])


def _processes_and_memory(asked: int | None, n_tasks: int) -> tuple[int, int | None]:
    """Return how many processes there are to be, and the bytes that each may take."""
    from panfocus._memory import free_memory

    free = free_memory()
    fitting = max(1, int(FREE_SHARE * free) // LEAST_MEMORY) if free else available_cores()
    n_processes = min(asked or min(available_cores(), fitting), n_tasks)
    return n_processes, int(FREE_SHARE * free) // n_processes if free else None


def _shares(tasks: Sequence[Task], threads: int, *, memory: int | None = None) -> Iterator[tuple[Task]]:
    """Yield tasks with their share of the machine, where nothing else was asked for."""
    for task in tasks:
        request = dataclasses.replace(
            task.request,
            threads=task.request.threads or threads,
            max_memory=task.request.max_memory or memory,
        )
        yield (dataclasses.replace(task, request=request),)


def _lost(task: Task, lost: Lost, cluster: Cluster | None) -> Outcome:
    remedy = "try it again"
    if lost.times:
        workers = "workers that have more memory" if cluster else "fewer --workers"
        remedy += f" with {workers}, or with --max-memory"
    return Outcome(name=task.name, error=f"{lost.reason}; {remedy}")
