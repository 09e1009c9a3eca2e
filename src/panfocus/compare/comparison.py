"""Make and score every picture: in several processes, and never twice.

Each scene x method leaves its picture, its labels and a record of its own. A record holds a fingerprint of
all that it depends on; a run that finds the record which it was about to make takes it instead.
"""

import functools
import hashlib
import math
import os
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from panfocus._progress import Progress, silent
from panfocus._threads import available_cores, limit_threads
from panfocus.compare.checks import check_inputs
from panfocus.compare.entries import Entry, file_name
from panfocus.compare.scenes import Group, Scene
from panfocus.compare.scoring import check_alike, score_pictures
from panfocus.errors import FileError, PanfocusError
from panfocus.io.atomic_files import Content, digest, make_folder, write_files
from panfocus.io.checkpoint import Fingerprint, encode_record, read_record
from panfocus.io.encode import check_format, encode_image, encode_labels
from panfocus.io.jpeg_webp import decode_jpeg, encode_jpeg
from panfocus.io.read_stack import read_single, read_stack
from panfocus.parallel import STOPPING, run_tasks
from panfocus.stack import Stack


@dataclass(frozen=True)
class Conditions:
    """What holds for every picture that is compared."""

    metrics: tuple[str, ...]
    crop: int = 0  # pixels of every border that the metrics leave out
    jpeg: int | None = None  # quality of the JPEG that every result goes through
    data_range: float | None = None  # the value of white; by default that of the pictures' type


@dataclass(frozen=True)
class Job:
    """One scene by one method, and the folder that its files go to."""

    group: str
    scene: Scene
    entry: Entry
    conditions: Conditions
    folder: Path

    @property
    def record(self) -> Path:
        """The file that says what came of it."""
        return self.folder / f"{self.scene.name}.json"

    @property
    def files(self) -> list[Path]:
        """Every file that it may write; the ending of the picture follows from its type."""
        pictures = [self.folder / f"{self.scene.name}{suffix}" for suffix in (".png", ".tif", ".jpg")]
        return [*pictures, self.labels, self.record]

    @property
    def labels(self) -> Path:
        """The decision map of a method that has one: in a folder of its own, where no scene is called so."""
        return self.folder / "labels" / f"{self.scene.name}.png"


@dataclass(frozen=True)
class Outcome:
    """What came of a job."""

    image: Path
    labels: Path | None
    scores: dict[str, float]
    scaled_from: str | None = None  # type of a result that was brought to the depth of the frames
    seconds_per_megapixel: float | None = field(default=None, compare=False)  # of a method of ours


def plan(
    groups: Sequence[Group], entries: Sequence[Entry], conditions: Conditions, folder: Path
) -> list[Job]:
    """List what there is to do; an entry has no job on a scene that it has no result for."""
    return [
        Job(group.name, scene, entry, conditions, folder / file_name(entry) / group.name)
        for group in groups
        for scene in group.scenes
        for entry in entries
        if entry.has(group.name, scene)
    ]


def run_jobs(
    jobs: Sequence[Job], *, workers: int | None = None, progress: Progress = silent
) -> tuple[list[Outcome], int]:
    """Return the outcome of every job, in order, and how many of them an earlier run had left.

    By default there are as many processes as cores. Stopped half-way, the outcomes so far are kept. A file
    that no comparison has written is never written over: its job, and all others, are refused.
    """
    digest_once = functools.cache(digest)  # the methods share their scenes
    fingerprints = [_fingerprint(job, digest_once) for job in jobs]
    outcomes = {i: found for i, job in enumerate(jobs) if (found := _recall(job, fingerprints[i]))}
    reused = len(outcomes)
    missing = [i for i in range(len(jobs)) if i not in outcomes]
    _check_files([jobs[i] for i in missing])
    check_inputs([jobs[i] for i in missing], progress=progress)
    workers = min(workers or available_cores(), len(missing))

    def show(stage: str) -> None:
        progress(stage, len(outcomes) / len(jobs))

    show("compare")
    tasks = [(jobs[i], fingerprints[i]) for i in missing]
    with closing(_performed(tasks, workers, on_stop=lambda: show(STOPPING))) as finished:
        for place, outcome in finished:
            outcomes[missing[place]] = outcome
            show("compare")
    return [outcomes[i] for i in range(len(jobs))], reused


def _check_files(jobs: Sequence[Job]) -> None:
    """Refuse, before any work, to write over an input, or over a file that no record calls ours."""
    inputs = {path for job in jobs for path in (*job.scene.sources, job.scene.reference) if path}
    inputs |= {path for entry in {id(job.entry): job.entry for job in jobs}.values() for path in entry.files}
    real_inputs = set(map(os.path.realpath, inputs))
    times = Counter(path for job in jobs for path in job.files)
    for job in jobs:
        for path in job.files:
            if times[path] > 1:  # the labels of a group, and the pictures of a group called labels in it
                raise FileError(f"{path} would be written twice; rename the folder {job.group}")
            if os.path.realpath(path) in real_inputs:
                raise FileError(f"{path} is one of the inputs; write the report into another folder")
        foreign = [path for path in job.files if path.exists()]
        if foreign and not read_record(job.record):
            raise FileError(
                f"{foreign[0]} is in the way: no record says that a comparison wrote it; "
                "move it, or write the report into another folder"
            )


def _performed(
    tasks: Sequence[tuple[Job, Fingerprint]], workers: int, *, on_stop: Callable[[], None]
) -> Generator[tuple[int, Outcome]]:
    """Yield the index and the outcome of each job, as they finish."""
    if workers <= 1:
        yield from enumerate(_make(*task) for task in tasks)
        return
    threads = max(1, available_cores() // workers)
    shared = [(threads, *task) for task in tasks]
    with closing(run_tasks(_make_by_threads, shared, processes=workers, on_stop=on_stop)) as finished:
        for index, outcome in finished:
            if isinstance(outcome, PanfocusError):
                raise outcome
            yield index, outcome


def _make_by_threads(threads: int, job: Job, fingerprint: Fingerprint) -> Outcome:
    with limit_threads(threads):
        return _make(job, fingerprint)


def _make(job: Job, fingerprint: Fingerprint) -> Outcome:
    stack = read_stack(job.scene.sources)
    result = job.entry.result(job.group, job.scene, stack)
    image, path, data = _encoded(result.image, job, stack)
    scores = score_pictures(
        list(stack.frames[:]),
        image,
        _read_reference(job.scene, stack),
        keys=job.conditions.metrics,
        crop=job.conditions.crop,
        data_range=job.conditions.data_range,
    )
    contents = {path: data}
    labels = None
    if result.labels is not None:
        labels = job.labels
        contents[labels] = encode_labels(result.labels, len(stack.frames))
    seconds = result.report.get("seconds")
    cost = None if seconds is None else seconds / (image.shape[0] * image.shape[1] / 1e6)
    contents[job.record] = encode_record(
        fingerprint,
        {
            "image": path.name,
            "labels": labels is not None,
            # JSON has no word for infinity, the PSNR of equal pictures.
            "scores": {key: value if math.isfinite(value) else None for key, value in scores.items()},
            "scaled_from": result.report.get("scaled_from"),
            "seconds_per_megapixel": cost,
        },
    )
    for folder in {file.parent for file in contents}:
        make_folder(folder)
    if not job.record.exists():
        # Killed between the files below, the next run still knows them for ours.
        write_files({job.record: encode_record(Fingerprint("", "", ""), {})})
    # The record comes last: where it is complete, the pictures are.
    write_files(contents, force=True)
    return Outcome(path, labels, scores, result.report.get("scaled_from"), cost)


def _read_reference(scene: Scene, stack: Stack) -> NDArray[Any] | None:
    if scene.reference is None:
        return None
    reference = read_single(scene.reference)
    check_alike(reference, str(scene.reference), stack.frames[0], stack.names[0])
    return reference


def _encoded(image: NDArray[Any], job: Job, stack: Stack) -> tuple[NDArray[Any], Path, Content]:
    """Return the picture as it is scored, the name of its file, and what that holds."""
    like = stack if image.shape == stack.frames.shape[1:] else None  # grey has no use for a colour profile
    path = job.folder / f"{job.scene.name}{'.tif' if image.dtype.kind == 'f' else '.png'}"
    if job.conditions.jpeg is None:
        return image, path, encode_image(path, image, like=like)
    path = path.with_suffix(".jpg")
    check_format(path, image)
    data = encode_jpeg(image, like.icc_profile if like else None, quality=job.conditions.jpeg)
    return decode_jpeg(data).image, path, data


def _recall(job: Job, fingerprint: Fingerprint) -> Outcome | None:
    """Return the outcome of an earlier run; None if there is none, or it depends on something else."""
    record = read_record(job.record)
    try:
        if not record or record.fingerprint != fingerprint:
            return None
        content = record.content
        outcome = Outcome(
            image=job.folder / content["image"],
            labels=job.labels if content["labels"] else None,
            scores={key: math.inf if value is None else value for key, value in content["scores"].items()},
            scaled_from=content["scaled_from"],
            seconds_per_megapixel=content["seconds_per_megapixel"],
        )
    except (KeyError, TypeError, AttributeError):  # not a record of a comparison
        return None
    files = [path for path in (outcome.image, outcome.labels) if path]
    return outcome if record.is_finished(fingerprint, files) else None


def _fingerprint(job: Job, digest_of: Callable[[Path], str]) -> Fingerprint:
    """Return the fingerprint of everything that an outcome depends on."""
    reference = job.scene.reference
    return Fingerprint.of(
        f"{version('panfocus')} {_code_digest()}",
        {
            "entry": job.entry.identity(job.group, job.scene),
            "metrics": job.conditions.metrics,
            "crop": job.conditions.crop,
            "jpeg": job.conditions.jpeg,
            "data_range": job.conditions.data_range,
        },
        [[digest_of(path) for path in job.scene.sources], digest_of(reference) if reference else None],
    )


@functools.cache
def _code_digest() -> str:
    """Digest the package itself: whoever changes a method must not be shown what it gave before."""
    with as_file(files("panfocus")) as package:
        parts = sorted(
            path
            for path in package.rglob("*")
            if path.suffix in (".py", ".npz") and package / "cli" not in path.parents
        )
        return hashlib.sha256("".join(map(digest, parts)).encode()).hexdigest()
