"""Synthetic stacks of any length and size for time and memory, with full detail and noise.

A sharp image covers a surface that rises from the depth of the first frame to the last, with steps. Each
pixel of a frame interpolates a few Gaussian blurs of the image by the distance of the surface from the focus.
Unlike `panfocus.simulate` there is no occlusion, so these stacks do not measure quality. But a frame of 24
megapixels takes only one second.
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

BLURS = (0.0, 1.0, 2.0, 4.0, 8.0)  # standard deviations in pixels; larger blurs use the last
BLUR_PER_FRAME = 0.8  # growth of the blur in pixels per frame
LEAST_RANGE = 4.0  # smallest blur in pixels between the first and the last frame
NOISE = 1.5  # standard deviation in levels
STEP_SIDE, STEP_HEIGHT = 600, 0.3  # pixels; share of the depth range
ROWS = 64  # rows that a thread renders at a time
SEED = 11


def write_stack(folder: Path, *, n_frames: int, megapixels: float) -> list[Path]:
    """Write frames as uncompressed TIFF, one at a time. Exit if the disk is too small."""
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
    """Exit with a message if a folder has fewer than `size` free bytes."""
    free = shutil.disk_usage(folder).free
    if free < size:
        raise SystemExit(f"{folder}: {size / 1e9:.1f} GB needed, {free / 1e9:.1f} GB free.")


def blurs(picture: Picture) -> Picture:
    """Return an image (h, w, 3) with all blurs (len(BLURS), h, w, 3)."""
    return np.stack([cv2.GaussianBlur(picture, (0, 0), sigma) if sigma else picture for sigma in BLURS])


def surface(shape: tuple[int, int], n_frames: int) -> NDArray[np.float32]:
    """Return a depth map (h, w) from 0 to n_frames - 1 that rises from left to right with steps."""
    rows, columns = (np.arange(length, dtype=np.float32) for length in shape)
    slope = columns / max(1, len(columns) - 1) + 0.1 * np.sin(rows / 300)[:, None]
    heights = np.random.default_rng(SEED).uniform(
        -STEP_HEIGHT, STEP_HEIGHT, [-(-length // STEP_SIDE) for length in shape]
    )
    steps = heights[(rows // STEP_SIDE).astype(int)][:, (columns // STEP_SIDE).astype(int)]
    return (np.clip(slope + steps, 0, 1) * (n_frames - 1)).astype(np.float32)


def render(blurred: Picture, depth: NDArray[np.float32], n_frames: int, k: int) -> Picture:
    """Render frame k (h, w, 3) of a stack, with reproducible noise."""
    blur = np.abs(depth - np.float32(k)) * np.float32(max(BLUR_PER_FRAME, LEAST_RANGE / (n_frames - 1)))
    # Position in the list of blurs: 1.5 is halfway between the second and the third.
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
    """Interpolate the two nearest blurs of each pixel and add noise; `first` is the first noise index."""
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
    """Return the n-th pseudo-random number, nearly normal: the sum of the eight bytes of a hash of n.

    The hash is splitmix64. A byte has variance (256^2 - 1) / 12.
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
