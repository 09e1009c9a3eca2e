"""Tiles: parts of an image that are worked on alone, with as much around them as decides on them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

Region = tuple[slice, slice]


@dataclass(frozen=True)
class Tile:
    """A part of the image that is asked for, and the part around it that a method is given to decide by.

    Attributes
    ----------
    inner, outer : (slice, slice)
        Rows and columns of the whole image; the outer part holds the inner one.
    shape : (int, int)
        Height and width of the whole image: where grids begin and where its edges are.
    """

    inner: Region
    outer: Region
    shape: tuple[int, int]

    @classmethod
    def whole(cls, shape: tuple[int, int]) -> Tile:
        """All of an image."""
        everything = (slice(0, shape[0]), slice(0, shape[1]))
        return cls(everything, everything, shape)

    @property
    def core(self) -> Region:
        """The inner part, counted from the first row and column of the outer one."""
        (rows, cols), (top, left) = self.inner, (self.outer[0].start, self.outer[1].start)
        return slice(rows.start - top, rows.stop - top), slice(cols.start - left, cols.stop - left)


def cover(shape: tuple[int, int], side: int, halo: int) -> list[Tile]:
    """Cut an image into tiles of nearly equal size, at most `side` pixels, each with its halo."""
    return [
        Tile(inner, (_widened(inner[0], halo, shape[0]), _widened(inner[1], halo, shape[1])), shape)
        for inner in product(_spans(shape[0], side), _spans(shape[1], side))
    ]


def _spans(length: int, side: int) -> list[slice]:
    n_spans = -(-length // side)
    return [slice(a, b) for a, b in pairwise(length * i // n_spans for i in range(n_spans + 1))]


def _widened(span: slice, halo: int, length: int) -> slice:
    return slice(max(0, span.start - halo), min(length, span.stop + halo))
