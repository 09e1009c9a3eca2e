"""Check whether frames belong to one stack, before anything is fused."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from panfocus._checks import check_kind
from panfocus.app.tasks import FrameToCheck, Send
from panfocus.app.wording import EXCLUDE_OTHERS, page_text
from panfocus.errors import FileError, InputError
from panfocus.io.headers import Header, check_time_order, read_headers
from panfocus.io.read_stack import read_image
from panfocus.preprocess.frame_checks import FrameSummary, find_blank, find_other_scenes, summarize_frame

_MAX_NAMED = 3  # copies


def run(send: Send, *, frames: list[FrameToCheck]) -> dict[str, list[str]]:
    """Return `warnings` about frames, one line each."""
    return {"warnings": [*_check_headers(frames), *_find_copies(frames), *_check_scenes(frames)]}


def _check_headers(frames: Sequence[FrameToCheck]) -> list[str]:
    """Report frames whose size or type differs from most, and times that contradict the order."""
    headers: list[Header] = []
    for frame in frames:
        try:
            pages = read_headers([Path(frame["path"])])
        except FileError:  # removed since it was scanned
            return [f"{frame['name']} cannot be read any more."]
        headers += [replace(page, name=page.name.replace(frame["path"], frame["name"])) for page in pages]
    kinds: dict[object, list[Header]] = {}
    for header in headers:
        image = header.frame.image
        kinds.setdefault((image.dtype.name, image.shape), []).append(header)
    most = max(kinds.values(), key=len, default=[])
    warnings = []
    for kind in kinds.values():
        try:
            check_kind(kind[0].frame.image, _name_kind(kind), most[0].frame.image, _name_kind(most))
        except InputError as error:
            warnings.append(f"{page_text(error)} {EXCLUDE_OTHERS}")
    time_warning = check_time_order(headers)
    return [*warnings, page_text(time_warning)] if time_warning else warnings


def _name_kind(kind: Sequence[Header]) -> str:
    """Name frames of one type by the first of them: a line for each would hide everything else."""
    n_others = len(kind) - 1
    if n_others == 0:
        return kind[0].name
    return f"{kind[0].name}, like {n_others} other{'s' if n_others > 1 else ''},"


def _find_copies(frames: Sequence[FrameToCheck]) -> list[str]:
    """Report frames with the same pixels as an earlier frame, in one line."""
    firsts: dict[str | None, int] = {}
    copies = []
    for k, frame in enumerate(frames):
        first = firsts.setdefault(frame["digest"], k)
        if first != k:
            copies.append((frame["name"], frames[first]["name"]))
    if len(copies) <= 1:
        return [f"{copy} has the same pixels as {first}." for copy, first in copies]
    some = ", ".join(f"{copy} as {first}" for copy, first in copies[:_MAX_NAMED])
    more = f" and {len(copies) - _MAX_NAMED} more" if len(copies) > _MAX_NAMED else ""
    return [f"{len(copies)} frames have the same pixels as earlier frames: {some}{more}."]


def _check_scenes(frames: Sequence[FrameToCheck]) -> list[str]:
    """Report blank frames and frames of another scene, by their thumbnails."""
    looks: dict[tuple[int, ...], dict[int, FrameSummary]] = {}  # by size
    for k, frame in enumerate(frames):
        thumbnail = read_image(frame["thumbnail"])
        looks.setdefault(thumbnail.shape, {})[k] = summarize_frame(thumbnail)
    warnings = []
    for same_size in looks.values():
        blank = find_blank(same_size)
        if blank != same_size.keys():  # otherwise they are too small to decide
            warnings += [f"{frames[k]['name']} is blank." for k in sorted(blank)]
        warnings += [
            f"{frames[stranger.number]['name']} shows another scene than {frames[stranger.nearest]['name']} "
            f"(similarity {stranger.likeness:.2f})."
            for stranger in find_other_scenes(same_size)
        ]
    return warnings
