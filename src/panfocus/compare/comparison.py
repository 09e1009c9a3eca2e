"""Run a comparison: every method on every scene, in several processes, with reuse of earlier results.

Each trial, one method on one scene, writes its image, its labels and a record. The record has a fingerprint
of everything that determines the result. A later run with the same fingerprint reuses the result.
"""

import functools
import hashlib
import math
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from importlib.resources import as_file, files
from itertools import groupby
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from panfocus import _checks
from panfocus._progress import Progress, silent
from panfocus._threads import available_cores, limit_threads, map_blocks
from panfocus.compare.depth_errors import find_depth_errors, read_known_depth
from panfocus.compare.entries import Entry, file_name
from panfocus.compare.scenes import Group, Scene
from panfocus.compare.scoring import (
    check_crop,
    check_same_format,
    check_score_options,
    check_value_range,
    score_images,
)
from panfocus.errors import FileError, InputError, PanfocusError, UsageError
from panfocus.io.atomic_files import Content, digest, make_folder, write_files
from panfocus.io.checkpoint import Fingerprint, encode_record, read_record
from panfocus.io.encode import check_format, encode_image, encode_labels, find_format_problem
from panfocus.io.jpeg_webp import decode_jpeg, encode_jpeg
from panfocus.io.read_stack import read_single, read_stack
from panfocus.metrics import explain_undefined
from panfocus.parallel import STOPPING, run_tasks
from panfocus.stack import Stack

TIME = "s/MP"  # shown on the page and in the JSON only, because it changes from run to run
_MAX_SHOWN = 3  # errors shown in full


@dataclass(frozen=True)
class Conditions:
    """Conditions for all images of a comparison."""

    metrics: tuple[str, ...]
    crop: int = 0  # border in pixels that the metrics ignore
    jpeg: int | None = None  # if set, every result is converted to JPEG of this quality
    data_range: float | None = None  # value of white; by default the maximum of the type

    def __post_init__(self) -> None:
        check_score_options(self.metrics, self.crop, self.data_range)
        if self.jpeg is not None:
            _checks.check_integer("jpeg", self.jpeg, at_least=1, at_most=100)

    def check_defined(self, groups: Sequence[Group]) -> None:
        """Raise if a metric is undefined for every scene."""
        scenes = [scene for group in groups for scene in group.scenes]
        for key in self.metrics:
            reasons = [
                explain_undefined(key, n_sources=len(scene.sources), reference=scene.reference is not None)
                for scene in scenes
            ]
            if all(reasons):
                raise InputError(
                    f"`metrics`: {reasons[0]} This holds for every scene.", setting="metrics", got=key
                )


@dataclass(frozen=True)
class Trial:
    """One method on one scene, and the folder for its files."""

    scene: Scene
    entry: Entry
    conditions: Conditions
    folder: Path

    @property
    def record(self) -> Path:
        """File that records the result."""
        return self.folder / f"{self.scene.name}.json"

    @property
    def files(self) -> list[Path]:
        """All files that it may write; the image has one of three suffixes."""
        pictures = [self.folder / f"{self.scene.name}{suffix}" for suffix in (".png", ".tif", ".jpg")]
        return [*pictures, self.labels, self.record]

    @property
    def labels(self) -> Path:
        """File of the label map, in a separate folder to avoid the names of scenes."""
        return self.folder / "labels" / f"{self.scene.name}.png"


@dataclass(frozen=True)
class TrialResult:
    """Files and scores of a trial."""

    image: Path
    labels: Path | None
    scores: dict[str, float]
    scaled_from: str | None = None  # data type of a result before conversion to the depth of the frames
    seconds_per_megapixel: float | None = field(default=None, compare=False)  # only for panfocus methods

    @property
    def values(self) -> dict[str, float]:
        """The scores, and the time if known."""
        cost = self.seconds_per_megapixel
        return self.scores | ({} if cost is None else {TIME: cost})


def list_trials(
    groups: Sequence[Group], entries: Sequence[Entry], conditions: Conditions, folder: Path
) -> list[Trial]:
    """List the trials of a comparison. An entry is skipped on scenes for which it has no result."""
    return [
        Trial(scene, entry, conditions, folder / file_name(entry) / group.name)
        for group in groups
        for scene in group.scenes
        for entry in entries
        if entry.has(scene)
    ]


def run_trials(
    trials: Sequence[Trial], *, workers: int | None = None, progress: Progress = silent
) -> tuple[list[TrialResult], int]:
    """Run all trials. Return the results in order, and how many were reused from an earlier run.

    By default there are as many processes as cores. Finished results are kept if the run is interrupted.
    Files that no comparison has written are never overwritten; they are an error before the first trial.
    """
    digest_once = functools.cache(digest)  # methods share scenes
    fingerprints = [_fingerprint(trial, digest_once) for trial in trials]
    results = {i: known for i, trial in enumerate(trials) if (known := _load_result(trial, fingerprints[i]))}
    reused = len(results)
    missing = [i for i in range(len(trials)) if i not in results]
    _check_files([trials[i] for i in missing])
    _check_inputs([trials[i] for i in missing], progress=progress)
    workers = min(workers or available_cores(), len(missing))

    def show(stage: str) -> None:
        progress(stage, len(results) / len(trials))

    show("compare")
    tasks = [(trials[i], fingerprints[i]) for i in missing]
    with closing(_run(tasks, workers, on_stop=lambda: show(STOPPING))) as finished:
        for i, result in finished:
            results[missing[i]] = result
            show("compare")
    return [results[i] for i in range(len(trials))], reused


def _check_inputs(trials: Sequence[Trial], *, progress: Progress) -> None:
    """Read every input once; raise for unreadable or unmatched images and unsuitable conditions."""
    by_scene = [list(group) for _, group in groupby(trials, key=lambda trial: trial.scene)]
    found: list[PanfocusError] = []
    for done, errors in enumerate(map_blocks(_find_errors, by_scene), start=1):
        found += errors
        progress("check", done / len(by_scene))
    if found:
        texts = [error.message for error in found[:_MAX_SHOWN]]
        more = [f"{len(found) - _MAX_SHOWN} more errors."] if len(found) > _MAX_SHOWN else []
        kind = UsageError if isinstance(found[0], UsageError) else FileError
        raise kind(" ".join(texts + more), **found[0].facts, errors=len(found))


def _find_errors(trials: Sequence[Trial]) -> list[PanfocusError]:
    """Return the errors of one scene. Only two of its frames are in memory at a time."""
    scene, conditions = trials[0].scene, trials[0].conditions
    found: list[PanfocusError] = []

    @contextmanager
    def collect() -> Iterator[None]:
        try:
            yield
        except PanfocusError as error:
            found.append(error)

    first: NDArray[Any] | None = None
    first_name = str(scene.sources[0])
    for path in scene.sources:
        with collect():
            frame = read_single(path)
            first = frame if first is None else first
            _checks.check_like(frame, str(path), first, first_name)
            check_value_range(frame, str(path), conditions.data_range)
    if first is None or found:
        return found
    with collect():
        _check_conditions(first, first_name, conditions)
    if scene.reference:
        with collect():
            reference = read_single(scene.reference)
            check_same_format(reference, str(scene.reference), first, first_name)
            check_value_range(reference, str(scene.reference), conditions.data_range)
    if scene.truth:
        with collect():
            read_known_depth(scene.truth, first.shape[:2])
    for trial in trials:
        with collect():
            trial.entry.check(scene, first, conditions.data_range)
    return found


def _check_conditions(frame: NDArray[Any], name: str, conditions: Conditions) -> None:
    try:
        check_crop(conditions.crop, frame)
    except InputError as error:
        raise UsageError(f"{name}: {error.message}", **error.facts, file=name) from error
    if conditions.jpeg is not None and (reason := find_format_problem(".jpg", frame)):
        raise UsageError(f"{name}: `jpeg` cannot be used: {reason}.", setting="jpeg", file=name)


def _check_files(trials: Sequence[Trial]) -> None:
    """Raise if a trial would overwrite an input or a file that no comparison has written."""
    inputs: set[Path] = set()
    for trial in trials:
        inputs.update(trial.scene.files, trial.entry.files)
    real_inputs = set(map(os.path.realpath, inputs))
    counts = Counter(path for trial in trials for path in trial.files)
    for trial in trials:
        for path in trial.files:
            if counts[path] > 1:  # the labels of a group, and the images of a group named labels inside it
                raise FileError(
                    f"{path}: Two results have this path. Rename the folder {trial.scene.group}.", file=path
                )
            if os.path.realpath(path) in real_inputs:
                raise FileError(
                    f"{path}: The report would overwrite an input. Choose another output folder.", file=path
                )
        foreign = [path for path in trial.files if path.exists()]
        if foreign and not read_record(trial.record):
            raise FileError(
                f"{foreign[0]}: This file was not written by a comparison. Move it, or choose another output "
                "folder.",
                file=foreign[0],
            )


def _run(
    tasks: Sequence[tuple[Trial, Fingerprint]], workers: int, *, on_stop: Callable[[], None]
) -> Generator[tuple[int, TrialResult]]:
    """Yield the index and the result of each trial as it finishes; tasks are trials with fingerprints."""
    if workers <= 1:
        yield from enumerate(_run_trial(*task) for task in tasks)
        return
    threads = max(1, available_cores() // workers)  # the processes share the cores
    shared = [(threads, *task) for task in tasks]
    with closing(run_tasks(_run_with_threads, shared, processes=workers, on_stop=on_stop)) as finished:
        for i, result in finished:
            if isinstance(result, PanfocusError):
                raise result
            yield i, result


def _run_with_threads(threads: int, trial: Trial, fingerprint: Fingerprint) -> TrialResult:
    with limit_threads(threads):
        return _run_trial(trial, fingerprint)


def _run_trial(trial: Trial, fingerprint: Fingerprint) -> TrialResult:
    stack = read_stack(trial.scene.sources)
    fused = trial.entry.result(trial.scene, stack)
    image, path, data = _encode(fused.image, trial, stack)
    scores = score_images(
        list(stack.frames[:]),
        image,
        read_single(trial.scene.reference) if trial.scene.reference else None,
        keys=trial.conditions.metrics,
        crop=trial.conditions.crop,
        data_range=trial.conditions.data_range,
    )
    if trial.scene.truth:
        known = read_known_depth(trial.scene.truth, image.shape[:2]).without_border(trial.conditions.crop)
        scores |= find_depth_errors(fused, known, len(stack.frames))
    contents = {path: data}
    labels = None
    if fused.labels is not None:
        labels = trial.labels
        contents[labels] = encode_labels(fused.labels, len(stack.frames))
    seconds = fused.report.get("seconds")
    cost = None if seconds is None else seconds / (image.shape[0] * image.shape[1] / 1e6)
    contents[trial.record] = encode_record(
        fingerprint,
        {
            "image": path.name,
            "labels": labels is not None,
            # JSON has no infinity, which is the PSNR of equal images.
            "scores": {key: value if math.isfinite(value) else None for key, value in scores.items()},
            "scaled_from": fused.report.get("scaled_from"),
            "seconds_per_megapixel": cost,
        },
    )
    for folder in {file.parent for file in contents}:
        make_folder(folder)
    if not trial.record.exists():
        # If the run is killed while it writes the files below, the next run still may overwrite them.
        write_files({trial.record: encode_record(Fingerprint("", "", ""), {})})
    # The record is written last: if it is complete, so are the images.
    write_files(contents, force=True)
    return TrialResult(path, labels, scores, fused.report.get("scaled_from"), cost)


def _encode(image: NDArray[Any], trial: Trial, stack: Stack) -> tuple[NDArray[Any], Path, Content]:
    """Return the image for the scores, the path of its file and the content of the file."""
    # A grey result cannot use the colour profile.
    like = stack if image.shape == stack.frames.shape[1:] else None
    path = trial.folder / f"{trial.scene.name}{'.tif' if image.dtype.kind == 'f' else '.png'}"
    if trial.conditions.jpeg is None:
        return image, path, encode_image(path, image, like=like)
    path = path.with_suffix(".jpg")
    check_format(path, image)
    data = encode_jpeg(image, like.icc_profile if like else None, quality=trial.conditions.jpeg)
    return decode_jpeg(data).image, path, data


def _load_result(trial: Trial, fingerprint: Fingerprint) -> TrialResult | None:
    """Return the result of an earlier run; None if there is none or it is out of date."""
    record = read_record(trial.record)
    try:
        if not record or record.fingerprint != fingerprint:
            return None
        content = record.content
        result = TrialResult(
            image=trial.folder / content["image"],
            labels=trial.labels if content["labels"] else None,
            scores={key: math.inf if value is None else value for key, value in content["scores"].items()},
            scaled_from=content["scaled_from"],
            seconds_per_megapixel=content["seconds_per_megapixel"],
        )
    except (KeyError, TypeError, AttributeError):  # not a record of a comparison
        return None
    files = [path for path in (result.image, result.labels) if path]
    return result if all(path.is_file() for path in files) else None


def _fingerprint(trial: Trial, digest_of: Callable[[Path], str]) -> Fingerprint:
    """Return the fingerprint of everything that determines a result."""
    scene = trial.scene
    truths = [digest_of(path) if path else None for path in (scene.reference, scene.truth)]
    return Fingerprint.of(
        f"{version('panfocus')} {_code_digest()}",
        {
            "entry": trial.entry.identity(scene),
            **asdict(trial.conditions),
        },
        [[digest_of(path) for path in scene.sources], *truths],
    )


@functools.cache
def _code_digest() -> str:
    """Return a digest of the package, so that changed code invalidates earlier results."""
    with as_file(files("panfocus")) as package:
        parts = sorted(
            path
            for path in package.rglob("*")
            if path.suffix in (".py", ".npz") and package / "cli" not in path.parents
        )
        return hashlib.sha256("".join(map(digest, parts)).encode()).hexdigest()
