"""Loop through the coded pixels of a JPEG, counting blocks without decoding them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._compile import compiled

Array = NDArray[Any]

FINE, BAD_CODE, TOO_SHORT, TOO_LONG = 0, 1, 2, 3

_SLACK = 2  # bytes that may be left over, as some cameras write


@compiled()
def walk_scan(
    data: Array, position: int, dc: Array, ac: Array, tables: Array, n_units: int, interval: int
) -> tuple[int, int]:
    """Go through a scan of `n_units` units; return what is wrong with it, and where the next marker is.

    `tables`: rows by the next 16 bits, a code's length times 256 and its symbol, 0 where there is no such code.
    `dc`, `ac`: the rows for every block of a unit. `interval`: units between restarts, 0 for none.
    """
    size = data.size
    bits, count, padded = np.uint64(0), 0, 0
    restarts = 0
    for unit in range(n_units):
        if interval and unit and unit % interval == 0:
            left = (count - padded) // 8
            while position < size and data[position] != 255:
                position += 1
                left += 1
            while position + 1 < size and data[position + 1] == 255:
                position += 1
            if position + 1 >= size or data[position + 1] != 208 + restarts % 8:
                return TOO_SHORT, position
            if left > _SLACK:
                return TOO_LONG, position
            restarts += 1
            position += 2
            bits, count, padded = np.uint64(0), 0, 0
        for block in range(dc.size):
            k = 0
            while k < 64:
                if count < 32:  # a code and the bits that follow it
                    while count <= 56:
                        byte = np.uint8(0)
                        if position < size and data[position] != 255:
                            byte = data[position]
                            position += 1
                        elif position + 1 < size and data[position + 1] == 0:
                            byte = np.uint8(255)
                            position += 2
                        else:
                            padded += 8
                        bits = (bits << np.uint64(8)) | np.uint64(byte)
                        count += 8
                row = dc[block] if k == 0 else ac[block]
                found = np.int64(tables[row, np.int64((bits >> np.uint64(count - 16)) & np.uint64(0xFFFF))])
                if found == 0:
                    return (TOO_SHORT if count - padded < 16 else BAD_CODE), position
                symbol = found & 255
                count -= found >> 8
                if k == 0:
                    count -= symbol
                    k = 1
                elif symbol & 15:
                    count -= symbol & 15
                    k += (symbol >> 4) + 1
                    if k > 64:
                        return BAD_CODE, position
                elif symbol == 240:
                    k += 16
                else:
                    k = 64
            if count < padded:
                return TOO_SHORT, position
    left = (count - padded) // 8
    while position + 1 < size and not (
        data[position] == 255 and data[position + 1] != 0 and data[position + 1] != 255
    ):
        position += 1
        left += 1
    return (TOO_LONG if left > _SLACK else FINE), position
