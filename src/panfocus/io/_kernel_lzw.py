"""Walk through the LZW codes of a TIFF's strip or tile and count bytes, without decoding them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

FINE, BAD_CODE, TOO_SHORT, TOO_LONG = 0, 1, 2, 3

_CLEAR, _END, _FIRST = 256, 257, 258  # two control codes, and the first code of a longer string
_TABLE = 4097  # entries: all codes of 12 bits, and one that is added just before a clear code


@compiled()
def walk_lzw(data: NDArray[Any], needed: int, most: int) -> int:
    """Walk until `needed` bytes are produced; return FINE or the kind of damage.

    The last string may exceed `needed` up to `most` bytes. Data after it is ignored.
    """
    # Old files start with the lowest bit of a byte, and switch to longer codes one code later.
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
