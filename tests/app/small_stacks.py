"""Small stacks of frames as files, for the tests of the page."""

import numpy as np
from scipy.ndimage import gaussian_filter

from panfocus.io.encode import write_image


def frames(n=3, size=(90, 120), seed=7):
    """Return frames (n, h, w, 3) of one textured scene, each sharp in another band."""
    rng = np.random.default_rng(seed)
    sharp = gaussian_filter(rng.random((*size, 3)), (0.7, 0.7, 0))
    coarse = gaussian_filter(rng.random((*size, 3)), (12, 12, 0))  # makes the scene recognisable
    sharp = sharp + 3 * (coarse - coarse.mean()) / coarse.std() * sharp.std()
    sharp = (sharp - sharp.min()) / np.ptp(sharp)
    soft = gaussian_filter(sharp, (2, 2, 0))
    bands = np.arange(size[1]) * n // size[1]
    made = [np.where((bands == k)[:, np.newaxis], sharp, soft) for k in range(n)]
    return np.rint(255 * np.stack(made)).astype(np.uint8)


def write(folder, n=3, suffix=".png", **like):
    """Write frames as frame-1, frame-2, ... and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"frame-{k + 1}{suffix}" for k in range(n)]
    for path, frame in zip(paths, frames(n, **like), strict=True):
        write_image(path, frame)
    return paths
