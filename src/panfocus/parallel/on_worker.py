"""What runs on a worker of a cluster: a task, if the worker is fit for it."""

import os
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from panfocus._numba_messages import hear_of_compiling
from panfocus.errors import MissingExtraError

Result = TypeVar("Result")

MEMORY_SHARE = 0.7  # of a worker's limit: from there on Dask moves what it holds to the disk

Needs = tuple[str, tuple[str, ...]]  # of a worker: the version of panfocus, what it has to see


@dataclass(frozen=True)
class Unfit:
    """What a worker returns in place of a result that it cannot make, though others may."""

    address: str
    host: str
    fault: str


class LeftToLargerError(Exception):
    """Raised by work for which this worker has not the bytes `needed`; `result` counts if no other has."""

    def __init__(self, needed: int, result: Any) -> None:
        super().__init__(needed)
        self.needed = needed
        self.result = result


@dataclass(frozen=True)
class TooSmall(Generic[Result]):
    """What a worker returns in place of a result for which it has not the memory."""

    address: str
    has: int  # bytes, for a task
    needed: int
    result: Result  # if no other has it either


def work_and_tell(
    topic: str, needs: Needs, work: Callable[..., Result], task: tuple[Any, ...]
) -> Result | Unfit | TooSmall[Result]:
    """Do a task on a worker that is fit for it, and tell those who listen of compiling."""
    worker = _this_worker()
    if fault := _fault(*needs):
        return Unfit(worker.address, platform.node(), fault)
    stop = hear_of_compiling(lambda line: worker.log_event(topic, line))
    try:
        return work(*task)
    except LeftToLargerError as left:
        return TooSmall(worker.address, memory_of_task() or 0, left.needed, left.result)
    except MissingExtraError as error:
        return Unfit(worker.address, platform.node(), f"lacks a library ({error})")
    finally:
        stop()


def _fault(version: str, seen: Iterable[str]) -> str | None:
    """Return what is wrong with this worker, if anything is."""
    from panfocus import __version__

    if __version__ != version:
        return f"has panfocus {__version__}, needed is {version} as here"
    for path in seen:
        if not sees(path):
            return f"does not see {path}; use folders that all machines have under the same name"
    return None


def sees(path: str) -> bool:
    """Whether there is a file, or a folder with something in it: where nothing is mounted it is empty."""
    try:
        if not Path(path).is_dir():
            return Path(path).exists()
        with os.scandir(path) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def memory_of_task() -> int | None:
    """Return the bytes that a task may take on the worker that it runs on, if that has a limit."""
    worker = _this_worker()
    limit = worker.memory_manager.memory_limit if worker else None
    return int(MEMORY_SHARE * limit / worker.state.nthreads) if worker and limit else None


def _this_worker() -> Any:
    try:
        from distributed import get_worker

        return get_worker()
    except (ModuleNotFoundError, ValueError):  # no Dask, or none of its workers
        return None
