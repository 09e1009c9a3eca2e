"""Do these frames belong together? What the command line would refuse or say, before anything is fused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from panfocus._checks import check_kind
from panfocus.errors import FileError, InputError
from panfocus.io.headers import Header, check_time_order, read_headers
from panfocus.io.read_stack import read_image
from panfocus.preprocess.frame_checks import Look, find_blank, find_strangers, look_at

_MOST_NAMED = 3  # copies


def run(task: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Return `warnings`, one line each, on `frames`: each with `name`, `path`, `thumbnail` and `digest`."""
    frames: list[dict[str, Any]] = task["frames"]
    return {"warnings": [*_of_headers(frames), *_copies(frames), *_strangers(frames)]}


def _of_headers(frames: list[dict[str, Any]]) -> list[str]:
    """Say which frames are of another size or kind than most, and whether the clock runs otherwise."""
    headers = []
    for frame in frames:
        try:
            found = read_headers([Path(frame["path"])])
        except FileError:  # gone since it was looked at
            return [f"{frame['name']} cannot be read any more."]
        headers += [
            replace(header, name=header.name.replace(frame["path"], frame["name"])) for header in found
        ]
    kinds: dict[object, list[Header]] = {}
    for header in headers:
        image = header.frame.image
        kinds.setdefault((image.dtype.name, image.shape), []).append(header)
    most = max(kinds.values(), key=len, default=[])
    warnings = []
    for kind in kinds.values():
        try:
            check_kind(kind[0].frame.image, _named(kind), most[0].frame.image, _named(most))
        except InputError as error:
            warnings.append(f"{error}.")
    disagreement = check_time_order(headers)
    return [*warnings, disagreement] if disagreement else warnings


def _named(kind: list[Header]) -> str:
    """Name frames of one kind by the first of them: a line for each would hide all else."""
    n_others = len(kind) - 1
    if n_others == 0:
        return kind[0].name
    return f"{kind[0].name}, like {n_others} other{'s' if n_others > 1 else ''},"


def _copies(frames: list[dict[str, Any]]) -> list[str]:
    """Name frames that are there before, some of them, in one line."""
    firsts: dict[str, int] = {}
    copies = []
    for k, frame in enumerate(frames):
        first = firsts.setdefault(frame["digest"], k)
        if first != k:
            copies.append((frame["name"], frames[first]["name"]))
    if len(copies) == 1:
        return ["{} has the same pixels as {}.".format(*copies[0])]
    if not copies:
        return []
    some = ", ".join(f"{copy} as {first}" for copy, first in copies[:_MOST_NAMED])
    more = f" and {len(copies) - _MOST_NAMED} more" if len(copies) > _MOST_NAMED else ""
    return [f"{len(copies)} frames have the same pixels as others before them: {some}{more}."]


def _strangers(frames: list[dict[str, Any]]) -> list[str]:
    """Tell blank frames and other scenes by the thumbnails, which are larger than those that are compared."""
    looks: dict[tuple[int, ...], dict[int, Look]] = {}  # by size: others are told apart by that
    for k, frame in enumerate(frames):
        thumbnail = read_image(frame["thumbnail"])
        looks.setdefault(thumbnail.shape, {})[k] = look_at(thumbnail)
    warnings = []
    for of_one_size in looks.values():
        blank = find_blank(of_one_size)
        if blank != of_one_size.keys():  # else they are too small to tell
            warnings += [f"{frames[k]['name']} is blank: nothing is seen in it." for k in sorted(blank)]
        warnings += [
            f"{frames[odd.number]['name']} shows another scene than {frames[odd.nearest]['name']} "
            f"(likeness {odd.likeness:.2f})."
            for odd in find_strangers(of_one_size)
        ]
    return warnings
