"""Max pooling of sparse codes over neighbours, compiled."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]


@compiled()
def pooled_l1(
    chosen: Array, coefficients: Array, counts: Array, reach: int, n_atoms: int, out: Array
) -> None:
    """out[i, j] = sum over atoms of the largest |coefficient| among the codes up to `reach` away.

    Codes lie on a grid (n_rows, n_cols, max_atoms). Atoms are added up in the order in which the neighbours,
    row by row, bring them: it does not depend on what lies farther off.
    """
    n_rows, n_cols = out.shape
    largest = np.zeros(n_atoms)
    found = np.empty(n_atoms, np.int64)
    for i in range(n_rows):
        for j in range(n_cols):
            n_found = 0
            for r in range(max(0, i - reach), min(n_rows, i + reach + 1)):
                for c in range(max(0, j - reach), min(n_cols, j + reach + 1)):
                    for p in range(counts[r, c]):
                        atom = chosen[r, c, p]
                        value = abs(coefficients[r, c, p])
                        if largest[atom] == 0.0 and value > 0.0:
                            found[n_found] = atom
                            n_found += 1
                        largest[atom] = max(largest[atom], value)
            total = 0.0
            for p in range(n_found):
                total += largest[found[p]]
                largest[found[p]] = 0.0
            out[i, j] = total
