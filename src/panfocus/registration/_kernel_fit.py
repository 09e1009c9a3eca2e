"""Loops of fitting a movement: how far places are off, and sums over all of them."""

from typing import Any

from numpy.typing import NDArray

from panfocus._numba import REGROUPED, compiled

Array = NDArray[Any]


@compiled(fastmath={"contract"})
def find_errors(
    back: Array, places: Array, found: Array, precision: Array, errors: Array, off: Array
) -> None:
    """Put how far each place is from where `back` takes what was found, and its weighed square.

    `places`, `found` (n, 2) and `precision` (n, 2, 2); `errors` is (2, n), `off` (n).
    """
    for i in range(len(off)):
        x, y = found[i, 0], found[i, 1]
        z = back[2, 0] * x + back[2, 1] * y + back[2, 2]
        dx = (back[0, 0] * x + back[0, 1] * y + back[0, 2]) / z - places[i, 0]
        dy = (back[1, 0] * x + back[1, 1] * y + back[1, 2]) / z - places[i, 1]
        errors[0, i], errors[1, i] = dx, dy
        off[i] = (
            precision[i, 0, 0] * dx * dx + 2 * precision[i, 0, 1] * dx * dy + precision[i, 1, 1] * dy * dy
        )


@compiled()
def normal_equations(
    directions: Array, weighted: Array, errors: Array, weights: Array, matrix: Array, right: Array
) -> None:
    """Put the sums of least squares of `directions`, `weighted` (p, 2, n), `errors` (2, n), `weights` (n)."""
    for p in range(len(right)):
        right[p] = _sum(weighted[p, 0], weighted[p, 1], errors[0], errors[1], weights)
        for q in range(p + 1):
            matrix[p, q] = matrix[q, p] = _sum(
                weighted[p, 0], weighted[p, 1], directions[q, 0], directions[q, 1], weights
            )


@compiled(fastmath=REGROUPED)
def _sum(a: Array, b: Array, c: Array, d: Array, weights: Array) -> float:
    total = 0.0
    for i in range(len(weights)):
        total += weights[i] * (a[i] * c[i] + b[i] * d[i])
    return total
