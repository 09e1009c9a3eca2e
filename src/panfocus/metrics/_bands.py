"""Sums over an image, band by band on all cores: the bits do not depend on the number of threads."""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

from numpy.typing import NDArray

from panfocus._threads import map_blocks

Part = TypeVar("Part", float, NDArray[Any])

# A band's planes in float64 should stay in a core's cache.
_PIXELS = 2**16


@dataclass(frozen=True)
class Band:
    """Rows of an image: `inner` are those it stands for, `rows` has the neighbours around them as well."""

    inner: slice
    rows: slice

    @property
    def own(self) -> slice:
        """The inner rows, counted within `rows`."""
        offset = self.inner.start - self.rows.start
        return slice(offset, offset + self.inner.stop - self.inner.start)


def total(part: Callable[[Band], Part], shape: tuple[int, int], *, halo: int = 0) -> Part:
    """Sum of `part` over all bands, added in their order.

    Bands follow from the size of the image alone. Those inside have `halo` more rows on either side; at
    the image's border these are missing, so that the filter in `part` meets the true border there.
    """
    return reduce(operator.add, map_blocks(part, _bands(*shape, halo)))


def _bands(height: int, width: int, halo: int) -> Iterator[Band]:
    step = max(1, _PIXELS // width)
    for start in range(0, height, step):
        stop = min(start + step, height)
        yield Band(slice(start, stop), slice(max(0, start - halo), min(height, stop + halo)))
