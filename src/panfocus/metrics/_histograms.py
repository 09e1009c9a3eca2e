"""Histograms of 256 grey levels, and their entropy."""

import numpy as np
from numpy.typing import NDArray

from panfocus.metrics._images import Band, Grey, Plane, sum_bands

LEVELS = 256

# Rounds values half-way between two levels to the upper one, even where float32 has lowered them by 1e-5.
_TIE = 2.0**-12


def histogram(image: Grey) -> Plane:
    """Return the share of each level in all pixels (256,)."""

    def count(band: Band) -> NDArray[np.int64]:
        return np.bincount(image.levels(band.inner).ravel(), minlength=LEVELS)

    return np.asarray(sum_bands(count, image.shape) / image.pixels.size)


def joint_histogram(a: Grey, b: Grey) -> Plane:
    """Return the share of pixels with level i in `a` and level j in `b` (256, 256)."""

    def count(band: Band) -> NDArray[np.int64]:
        pairs = a.levels(band.inner).astype(np.intp) * LEVELS + b.levels(band.inner)
        return np.bincount(pairs.ravel(), minlength=LEVELS**2)

    return np.asarray(sum_bands(count, a.shape).reshape(LEVELS, LEVELS) / a.pixels.size)


def entropy(probabilities: Plane) -> float:
    """Return the Shannon entropy in nats; divide by log(b) for another base."""
    p = probabilities[probabilities > 0]
    return 0.0 - float((p * np.log(p)).sum())  # a constant image has 0, not -0


def mutual_information(joint: Plane) -> float:
    """Return the mutual information of a joint histogram, in nats."""
    return entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0)) - entropy(joint)


def stretch_levels(image: Grey) -> Grey:
    """Stretch an image from its minimum and maximum to 0..255, rounded half up; a constant image to 0."""
    plane = image.plane()
    low, high = plane.min(), plane.max()
    scale = 255 / (high - low) if high > low else 0.0
    return Grey(np.floor((plane - low) * scale + 0.5 + _TIE).astype(np.uint8), white=255.0)
