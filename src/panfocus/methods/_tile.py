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
    def pixels(self) -> int:
        """Number of pixels of the outer part."""
        rows, cols = self.outer
        return int((rows.stop - rows.start) * (cols.stop - cols.start))

    @property
    def core(self) -> Region:
        """The inner part, counted from the first row and column of the outer one."""
        return within(self.outer, self.inner)

    def trimmed(self, halo: int) -> Tile:
        """Leave out what is farther away than this halo."""
        rows, cols = (
            slice(max(outer.start, inner.start - halo), min(outer.stop, inner.stop + halo))
            for inner, outer in zip(self.inner, self.outer, strict=True)
        )
        return Tile(self.inner, (rows, cols), self.shape)

    def blocks(self, height: int, width: int, halo: int) -> list[Tile]:
        """Cut the inner part into tiles of nearly equal size, no larger than that, each with its halo."""
        rows, cols = (_spans(span, side) for span, side in zip(self.inner, (height, width), strict=True))
        return [Tile(inner, self.outer, self.shape).trimmed(halo) for inner in product(rows, cols)]


def cover(shape: tuple[int, int], side: int, halo: int) -> list[Tile]:
    """Cut an image into tiles of nearly equal size, at most `side` pixels, each with its halo."""
    return Tile.whole(shape).blocks(side, side, halo)


def largest(shape: tuple[int, int], side: int, halo: int) -> Tile:
    """Return a tile of `cover` than which none has more pixels with its halo, but for a row or column."""
    rows, cols = (_spans(slice(0, length), side) for length in shape)
    # One in the middle: near the border a halo is cut off.
    inner = (rows[len(rows) // 2], cols[len(cols) // 2])
    return Tile(inner, Tile.whole(shape).outer, shape).trimmed(halo)


def within(outer: Region, inner: Region) -> Region:
    """Count a region from the first row and column of another one around it."""
    rows, cols = (slice(i.start - o.start, i.stop - o.start) for i, o in zip(inner, outer, strict=True))
    return rows, cols


def _spans(span: slice, side: int) -> list[slice]:
    length = span.stop - span.start
    n_spans = -(-length // side)
    return [slice(a, b) for a, b in pairwise(span.start + length * i // n_spans for i in range(n_spans + 1))]
