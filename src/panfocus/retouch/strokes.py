"""Strokes of a retouching brush, as plain data: what a file of them holds, and its check."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import whole_number
from panfocus.errors import InputError

FORMAT = 1
MOST_STROKES, MOST_POINTS = 20_000, 2_000_000  # of all strokes together
FARTHEST = 1e6  # pixels: rows and columns of points, and radii
LARGEST_GAIN = 100.0


@dataclass(frozen=True)
class Stroke:
    """One line of a brush, which paints a frame.

    Attributes
    ----------
    frame : int
        The frame that is painted, counted from 0.
    points : tuple of (row, col)
        Corners of the line; the centre of the first pixel is (0, 0). One point is a dab.
    radius : float
        How far from the line the brush reaches, in pixels.
    hardness : float
        0 to 1: up to this part of the radius all is painted; from there it falls evenly to nothing.
    opacity : float
        0 to 1: how much of the frame is painted.
    gain : tuple of float, optional
        Factor for each colour channel of the frame, alpha apart.
    match : bool
        A gain that makes the frame as bright as its surroundings is still to be found (`with_gains`).
    """

    frame: int
    points: tuple[tuple[float, float], ...]
    radius: float
    hardness: float = 1.0
    opacity: float = 1.0
    gain: tuple[float, ...] | None = None
    match: bool = False

    @cached_property
    def line(self) -> NDArray[np.float64]:
        """The points as an array (n, 2)."""
        return np.array(self.points, np.float64)

    @cached_property
    def extent(self) -> tuple[float, float, float, float]:
        """The first and last row, the first and last column of the points."""
        (top, left), (bottom, right) = self.line.min(axis=0).tolist(), self.line.max(axis=0).tolist()
        return top, bottom, left, right

    def plain(self) -> dict[str, Any]:
        """Return it as a file holds it."""
        return {
            "frame": self.frame,
            "points": [list(point) for point in self.points],
            "radius": self.radius,
            "hardness": self.hardness,
            "opacity": self.opacity,
            "gain": None if self.gain is None else list(self.gain),
        }


@dataclass(frozen=True)
class Strokes:
    """Strokes in the order in which they are painted, and the picture that they were made for."""

    width: int
    height: int
    n_frames: int
    strokes: tuple[Stroke, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return them as a file holds them."""
        return {
            "panfocus_retouch": FORMAT,
            "width": self.width,
            "height": self.height,
            "frames": self.n_frames,
            "strokes": [stroke.plain() for stroke in self.strokes],
        }

    def check_frames(self, n_frames: int, n_colours: int) -> None:
        """Refuse strokes that were made for other frames: another number of them, or of colours."""
        if self.n_frames != n_frames:
            raise InputError(
                f"the strokes were made for {self.n_frames} frames, these are {n_frames}; give the same"
            )
        for i, stroke in enumerate(self.strokes):
            if stroke.gain is not None and len(stroke.gain) != n_colours:
                raise InputError(
                    f"stroke {i}: gain has {len(stroke.gain)} numbers, the frames have {n_colours} "
                    f"colour channel{'s' if n_colours > 1 else ''}"
                )

    def check_size(self, width: int, height: int) -> None:
        """Refuse strokes that were made for a picture of another size."""
        if (self.width, self.height) != (width, height):
            raise InputError(
                f"the strokes were made for a picture of {self.width} x {self.height}, this one is {width} x "
                f"{height}; fuse the same frames, aligned and cropped in the same way"
            )


def parse_strokes(data: Any, *, matching: bool = False) -> Strokes:
    """Check what a file or a page gives; what is no stroke is an InputError that says which, and why.

    With `matching` a stroke may ask for a gain by `"match": true`.
    """
    if not isinstance(data, Mapping) or type(data.get("panfocus_retouch")) is not int:
        raise InputError("these are no retouching strokes: panfocus_retouch, their version, is missing")
    if data["panfocus_retouch"] != FORMAT:
        raise InputError(
            f"strokes of version {data['panfocus_retouch']}; this panfocus reads version {FORMAT}: update it"
        )
    _check_names("strokes", data, {"panfocus_retouch", "width", "height", "frames", "strokes"})
    for name in ("width", "height", "frames"):
        whole_number(name, data[name], at_least=1, at_most=int(FARTHEST))
    listed = data["strokes"]
    if not isinstance(listed, list) or len(listed) > MOST_STROKES:
        raise InputError(f"strokes must be a list of at most {MOST_STROKES:,}")
    strokes = tuple(_parse_stroke(i, entry, data["frames"], matching) for i, entry in enumerate(listed))
    if sum(len(stroke.points) for stroke in strokes) > MOST_POINTS:
        raise InputError(f"the strokes have more than {MOST_POINTS:,} points")
    return Strokes(data["width"], data["height"], data["frames"], strokes)


def _parse_stroke(number: int, entry: Any, n_frames: int, matching: bool) -> Stroke:
    name = f"stroke {number}"
    if not isinstance(entry, Mapping):
        raise InputError(f"{name} must be an object with frame, points and radius")
    needed = {"frame", "points", "radius", "hardness", "opacity"}
    _check_names(name, entry, needed, {"gain", "match"} if matching else {"gain"})
    whole_number(f"{name}: frame", entry["frame"], at_least=0, at_most=n_frames - 1)
    match, gain = entry.get("match", False), entry.get("gain")
    if type(match) is not bool:
        raise InputError(f"{name}: match must be true or false, got {match!r}")
    if gain is not None and (not isinstance(gain, list) or not 1 <= len(gain) <= 64):
        raise InputError(f"{name}: gain must be a list with a number for each colour channel, or null")
    return Stroke(
        frame=entry["frame"],
        points=_parse_points(name, entry["points"]),
        radius=_number(f"{name}: radius", entry["radius"], 0.01, FARTHEST),
        hardness=_number(f"{name}: hardness", entry["hardness"], 0, 1),
        opacity=_number(f"{name}: opacity", entry["opacity"], 0, 1),
        gain=None
        if gain is None
        else tuple(_number(f"{name}: gain", value, 0, LARGEST_GAIN) for value in gain),
        match=match and gain is None,
    )


def _parse_points(name: str, points: Any) -> tuple[tuple[float, float], ...]:
    """Check all at once: there may be very many."""
    told = f"{name}: points must be a list of at least one [row, col], numbers up to {FARTHEST:,.0f}"
    if not isinstance(points, list) or set(map(type, points)) != {list} or set(map(len, points)) != {2}:
        raise InputError(told)
    numbers = list(chain.from_iterable(points))
    if not set(map(type, numbers)) <= {int, float} or not all(-FARTHEST <= n <= FARTHEST for n in numbers):
        raise InputError(told)
    numbers = list(map(float, numbers))
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def _number(name: str, value: Any, least: float, most: float) -> float:
    if type(value) not in (int, float) or not least <= value <= most:
        raise InputError(f"{name} must be a number from {least:g} to {most:g}, got {str(value)[:80]}")
    return float(value)


def _check_names(
    name: str, data: Mapping[str, Any], needed: set[str], optional: Collection[str] = ()
) -> None:
    if missing := sorted(needed - data.keys()):
        raise InputError(f"{name}: {missing[0]} is missing")
    if unknown := sorted(map(str, data.keys() - needed - set(optional))):
        raise InputError(f"{name}: {unknown[0][:80]} is not known; leave it out")
