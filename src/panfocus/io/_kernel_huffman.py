"""Loop through the coded pixels of a JPEG, counting blocks without decoding them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]

FINE, BAD_CODE, TOO_SHORT, TOO_LONG = 0, 1, 2, 3

_SLACK = 2  # bytes that may be left over before a marker
_FULL = 57  # bits that are held then


@compiled()
def walk_scan(
    data: Array, position: int, dc: Array, ac: Array, tables: Array, n_units: int, interval: int
) -> tuple[int, int]:
    """Go through a scan of `n_units` units; return what is wrong with it, and where the next marker is.

    `tables`: rows by the next 16 bits, a code's length times 256 and its symbol, 0 where there is no such
    code. `dc`, `ac`: the rows for every block of a unit. `interval`: units between restarts, 0 for none.
    """
    bits, count, padded = np.uint64(0), 0, 0  # those held, how many, and how many of them are made up
    restarts = 0
    for unit in range(n_units):
        if interval and unit and unit % interval == 0:
            position, skipped = _next_marker(data, position)
            if skipped + (count - padded) // 8 > _SLACK:
                return TOO_LONG, position
            if position + 1 >= data.size or data[position + 1] != 208 + restarts % 8:
                return TOO_SHORT, position
            restarts += 1
            position += 2
            bits, count, padded = np.uint64(0), 0, 0
        for block in range(dc.size):
            k = 0
            while k < 64:
                if count < 32:  # a code and the bits that follow it
                    position, bits, count, padded = _refill(data, position, bits, count, padded)
                row = dc[block] if k == 0 else ac[block]
                found = tables[row, np.int64((bits >> np.uint64(count - 16)) & np.uint64(0xFFFF))]
                if found == 0:
                    return BAD_CODE, position
                symbol = int(found & 255)
                run, length = (0, symbol) if k == 0 else (symbol >> 4, symbol & 15)
                count -= int(found >> 8) + length
                # Without bits to follow, a code ends the block, or stands for 16 zeros.
                k = k + run + 1 if length or k == 0 or run == 15 else 64
                if k > 64:
                    return BAD_CODE, position
            if count < padded:
                return TOO_SHORT, position
    position, skipped = _next_marker(data, position)
    return (TOO_LONG if skipped + (count - padded) // 8 > _SLACK else FINE), position


@compiled()
def _refill(data: Array, position: int, bits: Any, count: int, padded: int) -> tuple[int, Any, int, int]:
    """Take in bytes, of which 255 is followed by a zero; zeros where a marker or the end stands."""
    while count < _FULL:
        byte = np.uint8(0)
        if position < data.size and data[position] != 255:
            byte = data[position]
            position += 1
        elif position + 1 < data.size and data[position + 1] == 0:
            byte = np.uint8(255)
            position += 2
        else:
            padded += 8
        bits = (bits << np.uint64(8)) | np.uint64(byte)
        count += 8
    return position, bits, count, padded


@compiled()
def _next_marker(data: Array, position: int) -> tuple[int, int]:
    """Return where the next marker is, and how many bytes stand before it."""
    skipped = 0
    while position + 1 < data.size and (data[position] != 255 or data[position + 1] in (0, 255)):
        skipped += data[position] != 255 or data[position + 1] != 255  # 255 may be repeated
        position += 1
    return position, skipped
