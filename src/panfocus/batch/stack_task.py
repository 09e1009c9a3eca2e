"""One stack, fused where a worker is: names come in, plain data go out, pixels stay in files."""

import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from panfocus.batch.names import RECORD, THUMBNAIL, is_own
from panfocus.errors import FileError, NotEnoughMemoryError, PanfocusError
from panfocus.job.request import NOT_REPEATED, Request
from panfocus.job.serialization import from_plain, to_plain

if TYPE_CHECKING:
    from panfocus.io.atomic_files import Content
    from panfocus.job.prepare import Job
    from panfocus.pipeline import Fusion

THUMBNAIL_SIDE = 240  # pixels


@dataclass(frozen=True)
class Fingerprint:
    """All that a result depends on, in parts: which of them differs tells what is to be done."""

    version: str
    settings: str  # digest
    inputs: str  # digest


@dataclass(frozen=True)
class Task:
    """A stack to be fused: the names of its files, where its results go, and with which settings."""

    name: str
    output: Path  # folder of the batch
    request: Request
    fingerprint: Fingerprint
    warnings: tuple[str, ...] = ()  # what is known before it is begun
    run: int = 0  # its number in the folder of the batch: of two runs the later one's result counts

    @property
    def folder(self) -> Path:
        """Where the results go."""
        return self.output / self.name


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a stack."""

    name: str
    error: str | None = None  # why there is no result
    seconds: float = 0.0
    frames: int = 0
    width: int = 0
    height: int = 0
    files: tuple[str, ...] = ()  # in its folder, the fused picture first
    warnings: tuple[str, ...] = ()
    kept: bool = False  # was there from an earlier run


@dataclass(frozen=True)
class Record:
    """What a result depends on, what it is, and the number of the run that made it."""

    fingerprint: Fingerprint
    outcome: Outcome
    run: int = 0


def fingerprint(request: Request, version: str, folder: Path) -> Fingerprint:
    """Digest settings, and names, sizes and times of the files: contents would take hours.

    Names are those below the folder of all stacks, which may be moved.
    """
    settings = {name: value for name, value in to_plain(request).items() if name not in NOT_REPEATED}
    if request.dictionary:
        settings["dictionary"] = [request.dictionary.name, *_size_and_time(request.dictionary)]
    outputs = {kind: path.name for kind, path in request.outputs.files().items()}
    files = [(os.path.relpath(name, folder), *_size_and_time(Path(name))) for name in request.inputs]
    return Fingerprint(version, _digest([settings, outputs]), _digest(files))


def _digest(data: object) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _size_and_time(path: Path) -> tuple[int, int] | tuple[()]:
    try:
        found = path.stat()
    except OSError:  # a shipped dictionary, or a file that is missed when it is read
        return ()
    return found.st_size, found.st_mtime_ns


def recorded(task: Task) -> Record | None:
    """Return the record of a result that is there, whole."""
    record = _record_in(task.folder)
    if not record or not all((task.folder / name).is_file() for name in record.outcome.files):
        return None
    # The name too: on a disk that ignores case the folder may have had another.
    outcome = dataclasses.replace(record.outcome, name=task.name, kept=True)
    return dataclasses.replace(record, outcome=outcome)


def _record_in(folder: Path) -> Record | None:
    from panfocus.io.atomic_files import read_json

    try:
        found = read_json(folder / RECORD)
        outcome: Outcome = from_plain(found["outcome"], Outcome)
        origin = found["fingerprint"]
    except (FileError, KeyError, TypeError, ValueError):  # none, or not one of ours
        return None
    try:
        return Record(from_plain(origin, Fingerprint), outcome, int(found.get("run", 0)))
    except (ArithmeticError, TypeError, ValueError):  # of a version that kept something else
        return Record(Fingerprint("", "", ""), outcome)


def fuse_stack(task: Task) -> Outcome:
    """Fuse a stack, unless its result is there; whatever is wrong with it is told in the outcome."""
    from panfocus.io.atomic_files import make_folder
    from panfocus.io.lock import lock_folder
    from panfocus.parallel import LeftToLargerError, memory_of_task

    try:
        make_folder(task.folder)
        # Should a cluster have given the stack to two workers, the second finds what the first has made. The
        # folder stays even if nothing came of it: the other may be about to write into it, or below it.
        with lock_folder(task.folder, wait=True):
            found = recorded(task)
            if found and found.fingerprint == task.fingerprint:
                return found.outcome
            if found and found.run > task.run:  # this is a worker that a run has left, as clusters do
                raise FileError("a run that was begun later has fused it")
            return _fuse(task)
    except NotEnoughMemoryError as error:
        if task.request.max_memory is None and (has := memory_of_task()):
            failed = Outcome(name=task.name, error=_too_small(error, has))
            raise LeftToLargerError(error.facts["needed"], failed) from error
        reason = str(error)
    except PanfocusError as error:
        reason = str(error)
    except MemoryError:
        reason = "not enough memory; use fewer workers, or fewer or smaller frames"
    except Exception as error:  # of whatever kind: the other stacks go on
        reason = f"unexpected {type(error).__name__}: {error}; `panfocus fuse --debug` on it shows where"
    return Outcome(name=task.name, error=reason)


def _too_small(error: NotEnoughMemoryError, has: int) -> str:
    from panfocus.job.memory_plan import format_size

    return (
        f"about {format_size(error.facts['needed'])} of memory would be needed, more than the "
        f"{format_size(has)} that the limit of a worker leaves for a task; "
        "give workers more, or use fewer or smaller frames"
    )


def _fuse(task: Task) -> Outcome:
    """Fuse a stack anew; the record of an older result goes before its files do, and the new one comes last.

    So a record that is there tells of the files beside it, whatever ends the work and whenever.
    """
    from panfocus._malloc import freed_memory_kept
    from panfocus.io.atomic_files import write_files
    from panfocus.io.encode import encode_json
    from panfocus.job.runner import run
    from panfocus.parallel import memory_of_task

    started = time.perf_counter()
    made: list[Outcome] = []
    request = task.request
    if request.max_memory is None and (limit := memory_of_task()):
        request = dataclasses.replace(request, max_memory=limit)

    def beside(job: "Job", fusion: "Fusion") -> "dict[Path, Content]":
        from panfocus.io.png import encode_png
        from panfocus.show.thumbnail import shown

        files = [path.name for path in request.outputs.files(len(job.spans)).values()]
        height, width = fusion.result.image.shape[:2]
        notices = fusion.stack.notices
        usual = fusion.alignment.notices(fusion.stack.names) if fusion.alignment else ()
        outcome = Outcome(
            name=task.name,
            seconds=round(time.perf_counter() - started, 3),
            frames=len(fusion.frames),
            width=width,
            height=height,
            files=(*files, THUMBNAIL),
            warnings=(
                *task.warnings,
                *job.warnings,
                *(str(notice) for notice in notices if notice not in usual),
            ),
        )
        made.append(outcome)
        return {task.folder / THUMBNAIL: encode_png(shown(fusion.result.image, THUMBNAIL_SIDE))}

    with freed_memory_kept():
        run(
            request,
            force=True,
            before_commit=lambda: _remove_older(task.folder, but=made[0].files),
            extra_files=beside,
        )
    record = Record(task.fingerprint, made[0], task.run)
    write_files({task.folder / RECORD: encode_json(to_plain(record))}, force=True)
    return made[0]


def _remove_older(folder: Path, *, but: Collection[str]) -> None:
    """Remove what the record of an older result lists, `but` what is about to be replaced, and the record.

    In this order: should it be interrupted, the next run finds the list.
    """
    record = _record_in(folder)
    for name in record.outcome.files if record else ():
        if name not in but and is_own(name):  # a list may have been tampered with
            (folder / name).unlink(missing_ok=True)
    (folder / RECORD).unlink(missing_ok=True)
