"""The order of a stack's frames and the choice of them that a page asks for.

Frames are named by their keys: their places may be others by now than those that the page has seen.
"""

from collections.abc import Sequence
from typing import Any

from panfocus.app.responses import Refusal

Frame = dict[str, Any]


def chosen(frames: Sequence[Frame], wanted: dict[str, Any]) -> list[Frame]:
    """Return the frames with those of `used` and `excluded` so marked; others stay as they are."""
    used, excluded = (_keys(what, wanted.get(what, []), frames) for what in ("used", "excluded"))
    if both := set(used) & set(excluded):
        raise Refusal(400, f"used, excluded: the key {min(both)} is in both")
    marks = dict.fromkeys(used, False) | dict.fromkeys(excluded, True)
    return [frame | {"excluded": marks.get(frame["key"], frame["excluded"])} for frame in frames]


def ordered(frames: Sequence[Frame], wanted: object) -> list[Frame]:
    """Return the frames in an order; those that it does not name have come meanwhile, and stand behind."""
    keys = _keys("order", wanted, frames)
    place = {key: number for number, key in enumerate(keys)}
    return sorted(frames, key=lambda frame: place.get(frame["key"], len(keys)))


def _keys(what: str, given: object, frames: Sequence[Frame]) -> list[int]:
    keys: list[int] = given if isinstance(given, list) else [-1]
    if any(type(key) is not int or key < 0 for key in keys):
        raise Refusal(400, f"{what}: needed is a list of the keys of frames, which are whole numbers")
    if len(set(keys)) != len(keys):
        raise Refusal(400, f"{what}: a key is there twice")
    if set(keys) - {frame["key"] for frame in frames}:
        raise Refusal(409, f"{what}: a frame has changed or is gone; look at the frames, and choose again")
    return keys
