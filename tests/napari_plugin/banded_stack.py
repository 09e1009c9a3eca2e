"""A stack with a known solution: frame k is sharp in band k and blurred elsewhere."""

import numpy as np
from scipy.ndimage import gaussian_filter


def banded_stack(n=3, height=96, band=64, seed=0):
    """Return frames (n, h, w) of uint8, and the band of each pixel (h, w)."""
    rng = np.random.default_rng(seed)
    scene = gaussian_filter(rng.random((height, n * band)), 0.7)
    scene = (scene - scene.min()) / np.ptp(scene)
    bands = np.broadcast_to(np.arange(n * band) // band, scene.shape)
    blurred = [gaussian_filter(scene, 2.0 * abs(d)) if d else scene for d in range(n)]
    frames = np.empty((n, *scene.shape), np.uint8)
    for k in range(n):
        for b in range(n):
            frames[k][bands == b] = np.rint(255 * blurred[abs(k - b)][bands == b])
    return frames, bands


def inside(bands, margin=16):
    """Return a mask of pixels at least `margin` from all borders of bands and of the image."""
    width = bands.shape[1] // (bands.max() + 1)
    cols = np.arange(bands.shape[1]) % width
    marked = np.zeros(bands.shape, bool)
    marked[margin:-margin] = (cols >= margin) & (cols < width - margin)
    return marked
