"""Least squares over all pairs of a stack, and groups of connected frames."""

import numpy as np
import pytest

from panfocus.registration.stack_alignment import REACH, _least_squares, connected_groups


@pytest.mark.parametrize("n", [2, 3, 9])
@pytest.mark.parametrize("fixed", [0, -1, "middle"])
def test_banded_solution_equals_dense_least_squares(rng, n, fixed):
    fixed = n // 2 if fixed == "middle" else fixed % n
    pairs = np.array([(j, k) for k in range(n) for j in range(max(0, k - REACH), k)])
    first, second = pairs.T
    slope = np.eye(2) + 0.1 * rng.normal(size=(len(pairs), 2, 2))
    off, weight = rng.normal(size=(len(pairs), 2)), rng.uniform(0.5, 2, len(pairs))
    rows = np.zeros((len(pairs), 2, n, 2))
    for p, (j, k) in enumerate(pairs):
        rows[p, :, k] = np.sqrt(weight[p]) * np.eye(2)
        rows[p, :, j] = -np.sqrt(weight[p]) * slope[p]
    rows[:, :, fixed] = 0  # the minimum-norm solution is 0 there
    expected = np.linalg.lstsq(
        rows.reshape(2 * len(pairs), 2 * n), (np.sqrt(weight)[:, None] * off).ravel(), rcond=None
    )[0].reshape(n, 2)
    np.testing.assert_allclose(_least_squares(first, second, slope, off, weight, fixed), expected, atol=1e-12)


def test_connected_groups_are_sorted_by_size():
    assert connected_groups([(0, 1), (4, 5), (1, 2), (5, 6), (4, 6), (2, 7)], 9) == [
        {0, 1, 2, 7},
        {4, 5, 6},
        {3},
        {8},
    ]
