"""Distributions of 256 grey levels, and their entropy."""

import numpy as np
from numpy.typing import NDArray

from panfocus.metrics._bands import Band, total
from panfocus.metrics._inputs import Grey, Plane

LEVELS = 256


def joint_distribution(a: Grey, b: Grey) -> Plane:
    """How often level i of `a` meets level j of `b`, as shares of all pixels (256, 256)."""

    def count(band: Band) -> NDArray[np.int64]:
        pairs = a.levels(band.inner).astype(np.intp) * LEVELS + b.levels(band.inner)
        return np.bincount(pairs.ravel(), minlength=LEVELS**2)

    return total(count, a.shape).reshape(LEVELS, LEVELS) / a.pixels.size


def entropy(probabilities: Plane) -> float:
    """Shannon entropy in nats; divide by log(b) for another base."""
    p = probabilities[probabilities > 0]
    return float(-(p * np.log(p)).sum())


def mutual_information(joint: Plane) -> float:
    """Information in nats that the two images of a joint distribution share."""
    return entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0)) - entropy(joint)
