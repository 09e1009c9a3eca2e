"""Distributions of 256 grey levels, and their entropy."""

import numpy as np
from numpy.typing import NDArray

from panfocus.metrics._bands import Band, total
from panfocus.metrics._inputs import Grey, Plane

LEVELS = 256

# Lifts values that lie half-way between two levels, but for rounding, to the upper one: also where float32
# has brought them down by some 1e-5.
_TIE = 2.0**-12


def distribution(image: Grey) -> Plane:
    """Shares of the levels in all pixels (256,)."""

    def count(band: Band) -> NDArray[np.int64]:
        return np.bincount(image.levels(band.inner).ravel(), minlength=LEVELS)

    return np.asarray(total(count, image.shape) / image.pixels.size)


def joint_distribution(a: Grey, b: Grey) -> Plane:
    """How often level i of `a` meets level j of `b`, as shares of all pixels (256, 256)."""

    def count(band: Band) -> NDArray[np.int64]:
        pairs = a.levels(band.inner).astype(np.intp) * LEVELS + b.levels(band.inner)
        return np.bincount(pairs.ravel(), minlength=LEVELS**2)

    return np.asarray(total(count, a.shape).reshape(LEVELS, LEVELS) / a.pixels.size)


def entropy(probabilities: Plane) -> float:
    """Shannon entropy in nats; divide by log(b) for another base."""
    p = probabilities[probabilities > 0]
    return 0.0 - float((p * np.log(p)).sum())  # a constant image has 0, not -0


def mutual_information(joint: Plane) -> float:
    """Information in nats that the two images of a joint distribution share."""
    return entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0)) - entropy(joint)


def stretched(image: Grey) -> Grey:
    """Stretch an image from its least and largest value to 0..255, rounded half up; a constant one to 0."""
    plane = image.plane()
    low, high = plane.min(), plane.max()
    scale = 255 / (high - low) if high > low else 0.0
    return Grey(np.floor((plane - low) * scale + 0.5 + _TIE).astype(np.uint8), white=255.0)
