"""Loop through the LZW codes of a strip or tile of a TIFF, counting bytes without decoding them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

FINE, BAD_CODE, TOO_SHORT, TOO_LONG = 0, 1, 2, 3

_CLEAR, _END, _FIRST = 256, 257, 258  # codes that stand for no bytes, and the first of more than one
_TABLE = 4097  # one more than codes of 12 bits can name: the entry that is made before the last "clear"


@compiled()
def walk_lzw(data: NDArray[Any], needed: int, most: int) -> int:
    """Go through codes until they stand for the `needed` bytes; return what is wrong with them.

    The last string may reach beyond those, but not beyond `most`. What follows it is not looked at.
    """
    # Old files begin with the lowest bit of a byte, and change to longer codes one code later.
    lowest_first = data.size > 1 and data[0] == 0 and data[1] & 1 == 1
    early = 0 if lowest_first else 1
    lengths = np.ones(_TABLE, np.int64)
    size, width, previous = _FIRST, 9, -1
    bits, held, position, produced = np.int64(0), 0, 0, 0
    while produced < needed:
        while held < width:
            if position == data.size:
                return TOO_SHORT
            byte = np.int64(data[position])
            bits = bits | byte << held if lowest_first else bits << 8 | byte
            held += 8
            position += 1
        held -= width
        if lowest_first:
            code = int(bits & ((1 << width) - 1))
            bits >>= width
        else:
            code = int(bits >> held)
            bits &= (1 << held) - 1
        if code == _END:
            return TOO_SHORT
        if code == _CLEAR:
            size, width, previous = _FIRST, 9, -1
            continue
        if previous < 0:
            if code > 255:
                return BAD_CODE
        else:
            if code > size or size == _TABLE:
                return BAD_CODE
            lengths[size] = lengths[previous] + 1
            size += 1
            if size == (1 << width) - early and width < 12:
                width += 1
        produced += int(lengths[code])
        previous = code
    return TOO_LONG if produced > most else FINE
