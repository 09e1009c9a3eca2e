"""Synthetic images with detail at every scale."""

import numpy as np
from scipy.ndimage import gaussian_filter


def texture(shape, seed=1):
    """Return a texture (h, w) in unit range."""
    rng = np.random.default_rng(seed)
    layers = [s * gaussian_filter(rng.normal(size=shape), s) for s in (0.6, 1.2, 2.5, 5.0)]
    return np.clip(0.5 + 0.22 * np.sum(layers, axis=0), 0, 1)


def as_bytes(unit):
    return np.rint(255 * np.clip(unit, 0, 1)).astype(np.uint8)
