"""Fuse one stack of a batch, in a worker: names come in, plain data go out, pixels stay in files."""

import dataclasses
import os
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus._memory import reuse_freed_memory
from panfocus.batch.output_names import RECORD, THUMBNAIL, is_reserved
from panfocus.errors import FileError, NotEnoughMemoryError, PanfocusError
from panfocus.io.atomic_files import make_folder, write_files
from panfocus.io.checkpoint import Fingerprint, encode_record, file_stamp, read_record
from panfocus.io.lock import lock_folder
from panfocus.job.request import NOT_REPEATED, Request
from panfocus.job.serialization import from_plain, to_plain
from panfocus.parallel import worker_task_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

THUMBNAIL_SIDE = 240  # pixels


@dataclass(frozen=True)
class StackTask:
    """A stack to be fused: its files and settings, and where the results go."""

    name: str
    output: Path  # folder of the batch
    request: Request
    fingerprint: Fingerprint
    warnings: tuple[str, ...] = ()  # known before the fusion
    run: int = 0  # number of the run in this output folder; results of later runs win

    @property
    def folder(self) -> Path:
        """Folder of the results."""
        return self.output / self.name


@dataclass(frozen=True, kw_only=True)
class StackOutcome:
    """Result of a stack, or the reason why there is none."""

    name: str
    error: str | None = None
    seconds: float = 0.0
    frames: int = 0
    width: int = 0
    height: int = 0
    files: tuple[str, ...] = ()  # in the stack's folder, the fused picture first
    warnings: tuple[str, ...] = ()
    kept: bool = False  # made by an earlier run


@dataclass(frozen=True)
class EarlierResult:
    """Complete result of an earlier run."""

    fingerprint: Fingerprint
    outcome: StackOutcome
    run: int = 0


def fingerprint(request: Request, version: str, folder: Path) -> Fingerprint:
    """Return the fingerprint of a stack, with the sizes and times of its files.

    Paths are relative to the folder of all stacks, so that it may be moved.
    """
    settings = {name: value for name, value in to_plain(request).items() if name not in NOT_REPEATED}
    if request.dictionary:
        settings["dictionary"] = [request.dictionary.name, file_stamp(request.dictionary)]
    outputs = {kind: path.name for kind, path in request.outputs.files().items()}
    files = [(os.path.relpath(name, folder), file_stamp(Path(name))) for name in request.inputs]
    return Fingerprint.of(version, [settings, outputs], files)


def find_result(task: StackTask) -> EarlierResult | None:
    """Return the complete result of an earlier run, whatever its settings; None if there is none."""
    result = _read_result(task.folder)
    if not result or not all((task.folder / name).is_file() for name in result.outcome.files):
        return None
    # A disk that ignores case may know the stack by another name.
    outcome = dataclasses.replace(result.outcome, name=task.name, kept=True)
    return dataclasses.replace(result, outcome=outcome)


def is_result(folder: Path) -> bool:
    """Return whether a folder has the record of a batch, not another program's file of that name."""
    record = read_record(folder / RECORD)
    return record is not None and "outcome" in record.content


def _read_result(folder: Path) -> EarlierResult | None:
    record = read_record(folder / RECORD)
    if not record:
        return None
    try:
        outcome: StackOutcome = from_plain(record.content["outcome"], StackOutcome)
    except (KeyError, TypeError, ValueError):
        return None
    return EarlierResult(record.fingerprint, outcome, run_number(record.content))


def run_number(content: Mapping[str, Any]) -> int:
    """Return the number of the run that wrote a record or a summary; 0 if it is damaged."""
    number = content.get("run")
    return number if isinstance(number, int) else 0


def fuse_stack(task: StackTask) -> StackOutcome:
    """Fuse a stack, unless its result exists. Errors become part of the outcome.

    Raises
    ------
    NotEnoughMemoryError
        On a worker of a cluster whose memory limit is too small; a larger worker may succeed.
    """
    try:
        make_folder(task.folder)
        # A cluster may give the stack to two workers; the second one finds the result of the first. A failed
        # stack leaves its folder: the other worker may be about to write into it, or below it.
        with lock_folder(task.folder, wait=True):
            earlier = find_result(task)
            if earlier and earlier.fingerprint == task.fingerprint:
                return earlier.outcome
            if earlier and earlier.run > task.run:  # this worker belongs to an older, interrupted run
                raise FileError("A later run has fused this stack.", file=task.folder)
            return _fuse(task)
    except NotEnoughMemoryError as error:
        if task.request.max_memory is None and worker_task_memory():
            raise
        reason = str(error)
    except PanfocusError as error:
        reason = str(error)
    except MemoryError:
        reason = "Out of memory. Use fewer `workers`, or fewer or smaller frames."
    except Exception as error:  # other stacks continue
        reason = f"Unexpected {type(error).__name__}: {error}. Fuse the stack alone to see the traceback."
    return StackOutcome(name=task.name, error=reason)


def _fuse(task: StackTask) -> StackOutcome:
    """Fuse a stack. The old record is removed before its files are replaced; the new one is written last.

    So a record always describes the files in its folder, whenever the process is killed.
    """
    from panfocus.job.runner import run

    started = time.perf_counter()
    request = task.request
    if request.max_memory is None and (limit := worker_task_memory()):
        request = dataclasses.replace(request, max_memory=limit)
    files = (*(path.name for path in request.outputs.files().values()), THUMBNAIL)
    with reuse_freed_memory():
        result = run(
            request,
            force=True,
            before_commit=lambda: _remove_older(task.folder, keep=files),
            extra_files=lambda _, fusion: {task.folder / THUMBNAIL: _thumbnail(fusion.result.image)},
        )
    frames, height, width = result.shape
    outcome = StackOutcome(
        name=task.name,
        seconds=round(time.perf_counter() - started, 3),
        frames=frames,
        width=width,
        height=height,
        files=files,
        warnings=(*task.warnings, *result.warnings, *map(str, result.notices)),
    )
    record = encode_record(task.fingerprint, {"outcome": to_plain(outcome), "run": task.run})
    write_files({task.folder / RECORD: record}, force=True)
    return outcome


def _thumbnail(image: "NDArray[Any]") -> bytes:
    from panfocus.io.png import encode_png
    from panfocus.show.colormap import make_thumbnail

    return encode_png(make_thumbnail(image, THUMBNAIL_SIDE))


def _remove_older(folder: Path, *, keep: Collection[str]) -> None:
    """Remove the files of an older result, except those to be replaced, and then its record.

    If this is interrupted, the next run still finds the list of files.
    """
    result = _read_result(folder)
    for name in result.outcome.files if result else ():
        if name not in keep and is_reserved(name):  # the list may have been edited
            (folder / name).unlink(missing_ok=True)
    (folder / RECORD).unlink(missing_ok=True)
