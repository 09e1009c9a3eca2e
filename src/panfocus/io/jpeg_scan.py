"""Damage inside a JPEG: its codes are followed to the end, as decoders guess where they break off.

A JPEG has no check sum. But where a byte is wrong the codes after it are read at the wrong places: one that
does not exist turns up, or there are too few or too many of them for the picture. Checked are files that are
coded sequentially, as cameras write them; progressive ones are not.
"""

import struct
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from panfocus.errors import FileError
from panfocus.io._kernel_huffman import BAD_CODE, FINE, TOO_SHORT, walk_scan

_SEQUENTIAL = (0xC0, 0xC1)
_OTHER_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC, *_SEQUENTIAL}
_TABLES, _SCAN, _RESTART, _END = 0xC4, 0xDA, 0xDD, 0xD9
_WITHOUT_CONTENT = {0x01, *range(0xD0, 0xD9)}
_WORDS = {BAD_CODE: "its coded pixels are no code", TOO_SHORT: "coded pixels are missing"}


@dataclass
class _Picture:
    """What a scan needs to know of the segments before it."""

    width: int = 0
    height: int = 0
    interval: int = 0
    sampling: dict[int, tuple[int, int]] = field(default_factory=dict)  # of every component, by its name
    tables: NDArray[np.uint16] = field(default_factory=lambda: np.zeros((8, 65_536), np.uint16))

    def read_frame(self, content: bytes) -> None:
        """Note the size, and how finely each component is sampled."""
        _, self.height, self.width, n = struct.unpack_from(">BHHB", content)
        parts = (content[6 + 3 * i : 9 + 3 * i] for i in range(n))
        self.sampling = {name: (both >> 4, both & 15) for name, both, _ in parts}

    def read_tables(self, content: bytes) -> None:
        """Lay Huffman's codes out by the 16 bits that begin with them."""
        while content:
            kind, counts = content[0], content[1:17]
            symbols, content = content[17 : 17 + sum(counts)], content[17 + sum(counts) :]
            table = self.tables[(kind & 3) + (4 if kind >> 4 else 0)]
            table[:] = 0
            start, used = 0, 0
            for length, count in enumerate(counts, start=1):
                span = 1 << (16 - length)
                for symbol in symbols[used : used + count]:
                    table[start : start + span] = length << 8 | symbol
                    start += span
                used += count

    def walk(self, data: NDArray[np.uint8], position: int, content: bytes) -> tuple[int, int]:
        """Follow the codes of a scan, which begin at a position; return what is wrong, and where it ends."""
        chosen = [(content[1 + 2 * i], content[2 + 2 * i]) for i in range(content[0])]
        across, down = (max(sampling[axis] for sampling in self.sampling.values()) for axis in (0, 1))
        if len(chosen) == 1:
            h, v = self.sampling[chosen[0][0]]
            units = -(-self.width * h // (8 * across)) * -(-self.height * v // (8 * down))
            repeats = [1]
        else:
            units = -(-self.width // (8 * across)) * -(-self.height // (8 * down))
            repeats = [self.sampling[name][0] * self.sampling[name][1] for name, _ in chosen]
        dc = np.repeat(np.array([table >> 4 & 3 for _, table in chosen], np.int64), repeats)
        ac = np.repeat(np.array([4 + (table & 3) for _, table in chosen], np.int64), repeats)
        wrong, end = walk_scan(data, position, dc, ac, self.tables, units, self.interval)
        return int(wrong), int(end)


def check_codes(data: bytes) -> None:
    """Refuse a JPEG whose codes do not add up to its picture; its segments are known to reach the end."""
    array = np.frombuffer(data, np.uint8)
    picture = _Picture()
    position = 2
    while position + 4 <= len(data):
        if data[position] != 0xFF or data[position + 1] == 0xFF:
            position += 1
            continue
        marker = data[position + 1]
        if marker == _END or marker in _OTHER_FRAMES:
            return
        if marker in _WITHOUT_CONTENT:
            position += 2
            continue
        length = int.from_bytes(data[position + 2 : position + 4], "big")
        content = data[position + 4 : position + 2 + length]
        position += 2 + length
        if marker in _SEQUENTIAL:
            picture.read_frame(content)
        elif marker == _TABLES:
            picture.read_tables(content)
        elif marker == _RESTART:
            picture.interval = int.from_bytes(content[:2], "big")
        elif marker == _SCAN:
            if not picture.height:  # told only after the scan
                return
            wrong, position = picture.walk(array, position, content)
            if wrong != FINE:
                raise FileError(f"damaged: {_WORDS.get(wrong, 'it has more coded pixels than the picture')}")
