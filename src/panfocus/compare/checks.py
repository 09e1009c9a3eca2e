"""Mistakes that would end a comparison half-way, found before the first fusion: every input is read once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from panfocus import _checks
from panfocus._threads import map_blocks
from panfocus.compare.scoring import check_alike, check_crop, check_range
from panfocus.errors import FileError, InputError, PanfocusError, UsageError
from panfocus.io.encode import find_jpeg_problem
from panfocus.io.read_stack import read_single

if TYPE_CHECKING:
    from panfocus._progress import Progress
    from panfocus.compare.comparison import Conditions, Job

_SHOWN = 3  # mistakes that are told in full


class ConditionsError(UsageError):
    """The conditions of a comparison do not suit its pictures."""


def check_inputs(jobs: Sequence[Job], *, progress: Progress) -> None:
    """Refuse pictures that cannot be read or do not fit together, and conditions that do not suit them."""
    by_scene: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        by_scene.setdefault((job.group, job.scene.name), []).append(job)
    mistakes: list[PanfocusError] = []
    for done, found in enumerate(map_blocks(_mistakes, by_scene.values()), start=1):
        mistakes += found
        progress("check", done / len(by_scene))
    if mistakes:
        shown = [str(mistake) for mistake in mistakes[:_SHOWN]]
        more = [f"and {len(mistakes) - _SHOWN} more mistakes"] if len(mistakes) > _SHOWN else []
        kind = ConditionsError if isinstance(mistakes[0], ConditionsError) else FileError
        raise kind("; ".join(shown + more))


def _mistakes(jobs: Sequence[Job]) -> list[PanfocusError]:
    """Find the mistakes in one scene; its frames are not held in memory together."""
    scene, group, conditions = jobs[0].scene, jobs[0].group, jobs[0].conditions
    found: list[PanfocusError] = []

    @contextmanager
    def noted() -> Iterator[None]:
        try:
            yield
        except PanfocusError as mistake:
            found.append(mistake)

    first: NDArray[Any] | None = None
    first_name = str(scene.sources[0])
    for path in scene.sources:
        with noted():
            frame = read_single(path)
            first = frame if first is None else first
            _checks.check_like(frame, str(path), first, first_name)
            check_range(frame, str(path), conditions.data_range)
    if first is None or found:
        return found
    with noted():
        _check_conditions(first, first_name, conditions)
    if scene.reference:
        with noted():
            reference = read_single(scene.reference)
            check_alike(reference, str(scene.reference), first, first_name)
            check_range(reference, str(scene.reference), conditions.data_range)
    for job in jobs:
        with noted():
            job.entry.check(group, scene, first, first_name, conditions.data_range)
    return found


def _check_conditions(frame: NDArray[Any], name: str, conditions: Conditions) -> None:
    try:
        check_crop(conditions.crop, frame)
    except InputError as error:
        raise ConditionsError(f"{name}: {error}") from error
    if conditions.jpeg is not None and (reason := find_jpeg_problem(frame)):
        raise ConditionsError(f"--jpeg cannot be used here: {reason} ({name})")
