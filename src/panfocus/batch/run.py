"""All stacks of a batch: what is left to do, who does it, and what came of it."""

import dataclasses
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from panfocus._processes import FINISHING, Lost, in_processes
from panfocus._progress import Progress
from panfocus._threads import available_cores
from panfocus.batch.summary import Summary
from panfocus.batch.work import SUMMARY, Outcome, Task, fingerprint, fuse_stack, recorded
from panfocus.cluster import on_cluster
from panfocus.errors import FileError
from panfocus.job.outputs import Outputs
from panfocus.job.request import Request

ATTEMPTS = 3  # for a stack at which processes die
LEAST_MEMORY = 1_000_000_000  # bytes, that a process should have: by default there are no more of them
FREE_SHARE = 0.75  # of the free memory that all processes may take together
MAPS = {
    "labels": "labels.png",
    "confidence": "confidence.tif",
    "depth": "depth.tif",
    "depth_colour": "depth-colour.png",
    "never_in_focus": "never-in-focus.png",
}


@dataclass(frozen=True)
class Workers:
    """Who does the work: processes of this machine, or those of a cluster."""

    scheduler: str | None = None
    processes: int | None = None  # None: as many as cores and memory allow


def plan(
    stacks: Mapping[str, Sequence[Path]],
    output: Path,
    like: Request,
    *,
    file_format: str,
    maps: Sequence[str],
    unread: Mapping[str, str] = MappingProxyType({}),
) -> list[Task]:
    """List what is to be fused, with the settings of one request; its files are named in full.

    `unread`: what is to be said of stacks that do without some of their pictures.
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
        tasks.append(Task(name, output, request, fingerprint(request, __version__), __version__, warnings))
    return tasks


def outputs_of(folder: Path, file_format: str, maps: Sequence[str]) -> Outputs:
    """Name the files of a stack's results."""
    named: dict[str, Any] = {kind: folder / MAPS[kind] for kind in maps}
    return Outputs(image=folder / f"fused.{file_format}", report=folder / "report.json", **named)


@contextmanager
def batch_folder(output: Path) -> Iterator[None]:
    """Make a folder the batch's own while the block lasts; refuse one that holds something else."""
    from panfocus.io.files import make_folder, read_json
    from panfocus.io.lock import LOCK, locked

    make_folder(output)
    with locked(output):
        others = any(path.name != LOCK for path in output.iterdir())
        if others and not ((output / SUMMARY).exists() and "stacks" in read_json(output / SUMMARY)):
            raise FileError(f"{output} holds files of other origin; choose another folder")
        yield


def finished_before(tasks: Sequence[Task], *, force: bool) -> list[Outcome]:
    """Return what an earlier run has left that counts; what it left of other origin is refused, or redone."""
    found = [(task, record) for task in tasks if (record := recorded(task))]
    other = [task for task, record in found if record[0] != task.fingerprint]
    if other and not force:
        raise FileError(
            f"{other[0].folder}: fused with other settings, by another version or from other files"
            + (f", and so are {len(other) - 1} more" if len(other) > 1 else "")
            + "; choose another folder, or have them fused anew with --force"
        )
    return [record[1] for task, record in found if record[0] == task.fingerprint]


def run_batch(
    tasks: Sequence[Task],
    workers: Workers,
    *,
    done: Sequence[Outcome],
    say: Callable[[str], None],
    warn: Callable[[str], None],
    progress: Progress,
) -> list[Outcome]:
    """Fuse all stacks that are not `done`, and return what came of each, in order.

    The summary is there from the beginning and follows what happens. Failures are told by `warn` and stop
    nothing.
    """
    outcomes = {outcome.name: outcome for outcome in done}
    left = [task for task in tasks if task.name not in outcomes]
    summary = Summary(tasks[0].output, [task.name for task in tasks])

    def show(stage: str = "fuse") -> None:
        progress(stage, len(outcomes) / len(tasks))

    try:
        summary.write(outcomes)
        show()
        with closing(_performed(left, workers, say=say, on_leaving=lambda: show(FINISHING))) as finished:
            for place, found in finished:
                outcome = _lost(left[place], found) if isinstance(found, Lost) else found
                outcomes[outcome.name] = outcome
                if outcome.error is not None:
                    warn(f"{outcome.name}: {outcome.error}")
                show()
                summary.write_now_and_then(outcomes)
    finally:
        summary.write(outcomes)
    return [outcomes[task.name] for task in tasks]


def _performed(
    tasks: Sequence[Task], workers: Workers, *, say: Callable[[str], None], on_leaving: Callable[[], None]
) -> Generator[tuple[int, Outcome | Lost]]:
    if not tasks:
        return
    if workers.scheduler:
        # Dask counts a thread for each task; who has more to give says so by --threads.
        with closing(on_cluster(fuse_stack, _by_threads(tasks, 1), workers.scheduler, say=say)) as finished:
            yield from finished
        return
    n_processes, memory = _processes_and_memory(workers.processes, len(tasks))
    threads = max(1, available_cores() // n_processes)
    with closing(
        in_processes(
            fuse_stack_here,
            _by_threads(tasks, threads, memory=memory),
            n_processes,
            on_leaving=on_leaving,
            attempts=ATTEMPTS,
            threads=tasks[0].request.threads or threads,
        )
    ) as finished:
        yield from finished


def fuse_stack_here(task: Task) -> Outcome:
    """Fuse a stack in a process that does nothing else."""
    from panfocus.job.allocator import keep_freed_memory

    keep_freed_memory()
    return fuse_stack(task)


def _processes_and_memory(asked: int | None, n_tasks: int) -> tuple[int, int | None]:
    """Return how many processes there are to be, and the bytes that each may take."""
    from panfocus.io.machine import free_memory

    free = free_memory()
    fitting = max(1, int(FREE_SHARE * free) // LEAST_MEMORY) if free else available_cores()
    n_processes = min(asked or min(available_cores(), fitting), n_tasks)
    return n_processes, int(FREE_SHARE * free) // n_processes if free else None


def _by_threads(
    tasks: Sequence[Task], threads: int | None, *, memory: int | None = None
) -> Iterator[tuple[Task]]:
    """Yield tasks with their share of the machine, where nothing else was asked for."""
    for task in tasks:
        request = dataclasses.replace(
            task.request,
            threads=task.request.threads or threads,
            max_memory=task.request.max_memory or (str(memory) if memory else None),
        )
        yield (dataclasses.replace(task, request=request),)


def _lost(task: Task, lost: Lost) -> Outcome:
    reason = (
        f"{lost.times} worker processes died at it, perhaps for lack of memory; "
        "try it again with fewer --workers, or with --max-memory"
    )
    return Outcome(name=task.name, error=reason)
