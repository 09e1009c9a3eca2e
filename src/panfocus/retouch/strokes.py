"""Strokes of a retouching brush as plain data, and the check of stroke files."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import check_integer
from panfocus.errors import InputError

FORMAT = 1
MOST_STROKES, MOST_POINTS = 20_000, 2_000_000  # limits of one file
FARTHEST = 1e6  # pixels: largest coordinate of points, and largest radius
LARGEST_GAIN = 100.0


@dataclass(frozen=True)
class Stroke:
    """One stroke of the brush, which paints from a frame.

    Attributes
    ----------
    frame : int
        Number of the frame to paint from, counted from 0.
    points : tuple of (row, col)
        Vertices of the line; the centre of the first pixel is (0, 0). A single point is a dot.
    radius : float
        Radius of the brush in pixels.
    hardness : float
        0 to 1: share of the radius with full coverage, which then falls linearly to 0.
    opacity : float
        0 to 1: weight of the frame.
    gain : tuple of float, optional
        Factor for each colour channel of the frame, without alpha.
    match : bool
        Whether `with_gains` is to find a gain that matches the brightness of the surroundings.
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
        """First and last row, first and last column of the points."""
        (top, left), (bottom, right) = self.line.min(axis=0).tolist(), self.line.max(axis=0).tolist()
        return top, bottom, left, right

    def plain(self) -> dict[str, Any]:
        """Return the stroke as plain data for a file."""
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
    """Strokes in painting order, and the size of the stack that they were made for."""

    width: int
    height: int
    n_frames: int
    strokes: tuple[Stroke, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the strokes as plain data for a file."""
        return {
            "panfocus_retouch": FORMAT,
            "width": self.width,
            "height": self.height,
            "frames": self.n_frames,
            "strokes": [stroke.plain() for stroke in self.strokes],
        }

    def check_frames(self, n_frames: int, n_colours: int) -> None:
        """Raise if the strokes were made for another number of frames or channels."""
        if self.n_frames != n_frames:
            raise InputError(
                f"The strokes were made for {self.n_frames} frames, got {n_frames}.",
                setting="retouch",
                got=n_frames,
                needed=self.n_frames,
            )
        for i, stroke in enumerate(self.strokes):
            if stroke.gain is not None and len(stroke.gain) != n_colours:
                raise InputError(
                    f"Stroke {i}: gain has {len(stroke.gain)} numbers, but the frames have {n_colours} "
                    f"colour channel{'s' if n_colours > 1 else ''}.",
                    setting="retouch",
                    got=len(stroke.gain),
                    needed=n_colours,
                )

    def check_size(self, width: int, height: int) -> None:
        """Raise if the strokes were made for an image of another size."""
        if (self.width, self.height) != (width, height):
            raise InputError(
                f"The strokes were made for an image of {self.width} x {self.height} pixels, but this one "
                f"has {width} x {height}. Use the same frames, alignment and borders.",
                setting="retouch",
                got=(width, height),
                needed=(self.width, self.height),
            )


def parse_strokes(data: Any, *, matching: bool = False) -> Strokes:
    """Return strokes from plain data of a file or of the page; raise an InputError that names what is wrong.

    With `matching`, a stroke may have `"match": true` instead of a gain.
    """
    if not isinstance(data, Mapping) or type(data.get("panfocus_retouch")) is not int:
        raise InputError("This is not a file of retouching strokes (no field panfocus_retouch).")
    if data["panfocus_retouch"] != FORMAT:
        raise InputError(
            f"The strokes have version {data['panfocus_retouch']}, but this panfocus reads version {FORMAT}. "
            "Update panfocus.",
            got=data["panfocus_retouch"],
            needed=FORMAT,
        )
    _check_names("Strokes", data, {"panfocus_retouch", "width", "height", "frames", "strokes"})
    for name in ("width", "height", "frames"):
        check_integer(name, data[name], at_least=1, at_most=int(FARTHEST))
    listed = data["strokes"]
    if not isinstance(listed, list) or len(listed) > MOST_STROKES:
        raise InputError(f"Strokes must be a list of at most {MOST_STROKES:,}.", limit=MOST_STROKES)
    strokes = tuple(_parse_stroke(i, entry, data["frames"], matching) for i, entry in enumerate(listed))
    if sum(len(stroke.points) for stroke in strokes) > MOST_POINTS:
        raise InputError(f"The strokes have more than {MOST_POINTS:,} points.", limit=MOST_POINTS)
    return Strokes(data["width"], data["height"], data["frames"], strokes)


def _parse_stroke(number: int, entry: Any, n_frames: int, matching: bool) -> Stroke:
    name = f"Stroke {number}"
    if not isinstance(entry, Mapping):
        raise InputError(f"{name} must be an object with frame, points and radius.", setting=name)
    needed = {"frame", "points", "radius", "hardness", "opacity"}
    _check_names(name, entry, needed, {"gain", "match"} if matching else {"gain"})
    check_integer(f"{name}: frame", entry["frame"], at_least=0, at_most=n_frames - 1)
    match, gain = entry.get("match", False), entry.get("gain")
    if type(match) is not bool:
        raise InputError(f"{name}: match must be true or false, got {match!r}.", setting=name)
    if gain is not None and (not isinstance(gain, list) or not 1 <= len(gain) <= 64):
        raise InputError(
            f"{name}: gain must be a list with a number for each colour channel, or null.", setting=name
        )
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
    """Return the points, checked together for speed."""
    problem = (
        f"{name}: points must be a list of [row, col], at least one, with numbers up to {FARTHEST:,.0f}."
    )
    if not isinstance(points, list) or set(map(type, points)) != {list} or set(map(len, points)) != {2}:
        raise InputError(problem, setting=name)
    numbers = list(chain.from_iterable(points))
    if not set(map(type, numbers)) <= {int, float} or not all(-FARTHEST <= n <= FARTHEST for n in numbers):
        raise InputError(problem, setting=name)
    numbers = list(map(float, numbers))
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def _number(name: str, value: Any, least: float, most: float) -> float:
    if type(value) not in (int, float) or not least <= value <= most:
        raise InputError(
            f"{name} must be a number from {least:g} to {most:g}, got {str(value)[:80]}.", setting=name
        )
    return float(value)


def _check_names(
    name: str, data: Mapping[str, Any], needed: set[str], optional: Collection[str] = ()
) -> None:
    if missing := sorted(needed - data.keys()):
        raise InputError(f"{name}: {missing[0]} is missing.", setting=missing[0])
    if unknown := sorted(map(str, data.keys() - needed - set(optional))):
        raise InputError(f"{name}: {unknown[0][:80]} is unknown.", setting=unknown[0][:80])
