"""Damage inside a TIFF that is packed by LZW: its codes are followed before a library decodes them.

LZW has no check sum, and the decoder believes a first code that stands for nothing yet: it then copies from
wherever in memory, and may crash.
"""

import math

import imagecodecs
import numpy as np
import tifffile

from panfocus.errors import FileError

_LOWEST_BIT_FIRST = 2


def check_lzw(page: tifffile.TiffPage, only: int | None = None) -> None:
    """Refuse a page whose codes, if they are LZW's, do not add up to its strips or tiles, or one."""
    if page.compression != tifffile.COMPRESSION.LZW:
        return
    # Here: it loads a compiler, which who reads headers does without.
    from panfocus.io._kernel_lzw import BAD_CODE, FINE, TOO_SHORT, walk_lzw

    words = {BAD_CODE: "its coded pixels are no code", TOO_SHORT: "coded pixels are missing"}
    assert page.dtype is not None  # as its header has been checked
    file = page.parent.filehandle
    for index in range(len(page.dataoffsets)) if only is None else [only]:
        start, length = page.dataoffsets[index], page.databytecounts[index]
        file.seek(start)
        data = file.read(length)
        codes = imagecodecs.bitorder_decode(data) if page.fillorder == _LOWEST_BIT_FIRST else data
        _, _, (depth, rows, *of_a_row) = page.decode(None, index)
        row_bytes = math.prod(of_a_row) * page.dtype.itemsize
        # The last strip may be as long as the others, though the picture ends within it.
        most = rows if page.is_tiled else max(rows, int(page.rowsperstrip))
        wrong = walk_lzw(np.frombuffer(codes, np.uint8), depth * rows * row_bytes, depth * most * row_bytes)
        if wrong != FINE:
            raise FileError(f"damaged: {words.get(wrong, 'it has more coded pixels than the picture')}")
