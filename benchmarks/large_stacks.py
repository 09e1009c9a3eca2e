"""Stacks of any length and size, for time and memory: every frame different, at full detail, with noise.

A sharp picture lies on a surface that rises from the first frame's depth to the last one's and has steps.
Each frame is a blend, pixel by pixel, of a few Gaussian blurs of the picture, by how far the surface is from
what the frame is focused on. Unlike in `panfocus.simulate` nothing hides anything: these stacks are not for
quality. But a frame of 24 megapixels is made in a second.
"""

import shutil
from pathlib import Path

import cv2
import numba
import numpy as np
import tifffile
from numpy.typing import NDArray

from benchmarks import mosaics
from benchmarks.mosaics import Picture
from panfocus._threads import map_blocks

BLURS = (0.0, 1.0, 2.0, 4.0, 8.0)  # standard deviations in pixels; more is left at the last
BLUR_PER_FRAME = 0.8  # pixels, from one frame to the next,
LEAST_RANGE = 4.0  # unless that made less blur than this between the first and the last
NOISE = 1.5  # levels, normal
STEP_SIDE, STEP_HEIGHT = 600, 0.3  # pixels; part of the whole range of depths
ROWS = 64  # that a thread renders at once
SEED = 11


def write_stack(folder: Path, *, n_frames: int, megapixels: float) -> list[Path]:
    """Write frames as plain TIFF, one at a time, into a folder with room for them and for their fusion."""
    picture = mosaics.sharp(megapixels)
    need_room(folder, 2 * (n_frames + 1) * picture.nbytes)  # a fusion may unpack frames into a scratch file
    blurred = blurs(picture)
    depth = surface(picture.shape[:2], n_frames)
    paths = []
    for k in range(n_frames):
        paths.append(folder / f"frame-{k:03}.tif")
        tifffile.imwrite(paths[-1], render(blurred, depth, n_frames, k), photometric="rgb")
    return paths


def need_room(folder: Path, size: int) -> None:
    """End with a line that says what is missing if a folder has no room for so many bytes."""
    free = shutil.disk_usage(folder).free
    if free < size:
        raise SystemExit(f"{folder}: {size / 1e9:.1f} GB are needed, {free / 1e9:.1f} GB are free")


def blurs(picture: Picture) -> Picture:
    """Blur a picture (h, w, 3) in all strengths (len(BLURS), h, w, 3)."""
    return np.stack([cv2.GaussianBlur(picture, (0, 0), sigma) if sigma else picture for sigma in BLURS])


def surface(shape: tuple[int, int], n_frames: int) -> NDArray[np.float32]:
    """Return depth (h, w) from 0 to n_frames - 1: it rises from left to right, with steps up and down."""
    rows, columns = (np.arange(length, dtype=np.float32) for length in shape)
    slope = columns / max(1, len(columns) - 1) + 0.1 * np.sin(rows / 300)[:, None]
    heights = np.random.default_rng(SEED).uniform(
        -STEP_HEIGHT, STEP_HEIGHT, [-(-length // STEP_SIDE) for length in shape]
    )
    steps = heights[(rows // STEP_SIDE).astype(int)][:, (columns // STEP_SIDE).astype(int)]
    return (np.clip(slope + steps, 0, 1) * (n_frames - 1)).astype(np.float32)


def render(blurred: Picture, depth: NDArray[np.float32], n_frames: int, k: int) -> Picture:
    """Render frame k (h, w, 3) of a stack; its noise is its own, and the same each time."""
    blur = np.abs(depth - np.float32(k)) * np.float32(max(BLUR_PER_FRAME, LEAST_RANGE / (n_frames - 1)))
    # Where in the list of blurs that is: 1.5 is halfway between the second and the third.
    place = np.interp(blur, BLURS, np.arange(len(BLURS))).astype(np.float32)
    frame = np.empty(blurred.shape[1:], np.uint8)

    def render_rows(top: int) -> None:
        rows = slice(top, top + ROWS)
        first = np.uint64((k * len(depth) + top) * depth.shape[1] * 3)
        _blend(blurred[:, rows], place[rows], np.float32(NOISE), first, frame[rows])

    for _ in map_blocks(render_rows, range(0, len(depth), ROWS)):
        pass
    return frame


@numba.njit(nogil=True, cache=True)
def _blend(blurred, place, noise, first, out):
    """Mix the two blurs nearest to each pixel's place and add noise; `first` counts what came before."""
    height, width, channels = out.shape
    n = first
    for y in range(height):
        for x in range(width):
            sharper = min(int(place[y, x]), len(blurred) - 2)
            share = place[y, x] - np.float32(sharper)
            for c in range(channels):
                a, b = np.float32(blurred[sharper, y, x, c]), np.float32(blurred[sharper + 1, y, x, c])
                value = a + share * (b - a) + noise * _normal(n)
                out[y, x, c] = np.uint8(min(np.float32(255), max(np.float32(0), value)) + np.float32(0.5))
                n += np.uint64(1)


@numba.njit(nogil=True, cache=True)
def _normal(n):
    """Return the n-th of some nearly normal numbers: the sum of the eight bytes of n, scrambled.

    Scrambled as by the generator splitmix64. A byte has variance (256^2 - 1) / 12.
    """
    z = (n + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    total = np.uint64(0)
    for _ in range(8):
        total += z & np.uint64(255)
        z >>= np.uint64(8)
    return (np.float32(total) - np.float32(8 * 127.5)) / np.float32((8 * (256**2 - 1) / 12) ** 0.5)
