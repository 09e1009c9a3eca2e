"""Tiles: parts of an image that are fused separately, each with a halo of surrounding pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from panfocus._intensity import IntArray
from panfocus._threads import thread_count
from panfocus.decide.patches import patch_origins

Region = tuple[slice, slice]

BAND_VALUES, LEAST_ROWS = 1 << 19, 32  # values and rows of a band, the work of one thread


@dataclass(frozen=True)
class Tile:
    """A part of the image to fuse (inner), and the part around it that the result depends on (outer).

    Attributes
    ----------
    inner, outer : (slice, slice)
        Rows and columns of the whole image; the outer part contains the inner one.
    shape : (int, int)
        Height and width of the whole image.
    """

    inner: Region
    outer: Region
    shape: tuple[int, int]

    @classmethod
    def whole(cls, shape: tuple[int, int]) -> Tile:
        """Return a tile of the whole image."""
        everything = (slice(0, shape[0]), slice(0, shape[1]))
        return cls(everything, everything, shape)

    @classmethod
    def at(cls, inner: Region, shape: tuple[int, int], halo: int) -> Tile:
        """Return the tile with this inner part and a halo, within an image of this shape."""
        return cls(inner, cls.whole(shape).outer, shape).trimmed(halo)

    @property
    def pixels(self) -> int:
        """Number of pixels in the outer part."""
        rows, cols = self.outer
        return int((rows.stop - rows.start) * (cols.stop - cols.start))

    @property
    def core(self) -> Region:
        """The inner part, relative to the outer part."""
        return within(self.outer, self.inner)

    def trimmed(self, halo: int) -> Tile:
        """Return the tile with its outer part reduced to this halo."""
        rows, cols = (
            slice(max(outer.start, inner.start - halo), min(outer.stop, inner.stop + halo))
            for inner, outer in zip(self.inner, self.outer, strict=True)
        )
        return Tile(self.inner, (rows, cols), self.shape)

    def blocks(self, height: int, width: int, halo: int, multiple: int = 1) -> list[Tile]:
        """Split the inner part into tiles of similar size, at most `height` x `width`, each with a halo.

        Tiles start at multiples of `multiple` pixels.
        """
        rows, cols = (
            _spans(span, side, multiple) for span, side in zip(self.inner, (height, width), strict=True)
        )
        return [Tile(inner, self.outer, self.shape).trimmed(halo) for inner in product(rows, cols)]


def cover(shape: tuple[int, int], side: int, halo: int, multiple: int = 1) -> list[Tile]:
    """Split an image into tiles of nearly equal size, at most `side` pixels, each with a halo.

    Tiles start at multiples of `multiple` pixels, such as the side of stored chunks.
    """
    return Tile.whole(shape).blocks(side, side, halo, multiple)


def largest_tile(shape: tuple[int, int], side: int, halo: int) -> Tile:
    """Return the largest tile of `cover`, with its halo, up to one row or column."""
    rows, cols = (_spans(slice(0, length), side) for length in shape)
    # A tile in the middle: at the border the halo is cut off.
    inner = (rows[len(rows) // 2], cols[len(cols) // 2])
    return Tile.at(inner, shape, halo)


def within(outer: Region, inner: Region) -> Region:
    """Return a region relative to a larger one that contains it."""
    rows, cols = (slice(i.start - o.start, i.stop - o.start) for i, o in zip(inner, outer, strict=True))
    return rows, cols


def _spans(span: slice, side: int, multiple: int = 1) -> list[slice]:
    length = -(-(span.stop - span.start) // multiple)
    n_spans = -(-length // (side // multiple))
    starts = (span.start + length * i // n_spans * multiple for i in range(n_spans + 1))
    return [slice(a, min(b, span.stop)) for a, b in pairwise(starts)]


def patch_grid(tile: Tile, size: int, stride: int) -> tuple[IntArray, IntArray]:
    """Return the origins of the image's patches in a tile's outer part, relative to that part."""
    rows, cols = (
        origins[slice(*np.searchsorted(origins, [span.start, span.stop - size + 1]))] - span.start
        for origins, span in zip(
            (patch_origins(length, size, stride) for length in tile.shape), tile.outer, strict=True
        )
    )
    return rows, cols


def row_bands(shape: tuple[int, ...]) -> list[slice]:
    """Split the rows of maps (h, w) or (n, h, w) into bands for all threads that need little memory."""
    height = shape[-2]
    n_bands = max(1, min(max(math.prod(shape) // BAND_VALUES, thread_count()), height // LEAST_ROWS))
    return [slice(*span) for span in pairwise(height * i // n_bands for i in range(n_bands + 1))]
