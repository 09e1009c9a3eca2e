"""K-SVD: a dictionary for one space alone.

Aharon, Elad and Bruckstein (2006) renew each atom by a singular value decomposition of the residual it
explains; Rubinstein, Zibulevsky and Elad (2008) show that one step towards it, atom first and coefficients
after, does as well in a fraction of the time. That step is coupled learning with a single level.
"""

import numpy as np

from panfocus._intensity import FloatArray
from panfocus._progress import Progress, silent
from panfocus.dictionary.learning import Learning, Round, learn_coupled


def learn_ksvd(
    samples: FloatArray, settings: Learning, *, rng: np.random.Generator, progress: Progress = silent
) -> tuple[FloatArray, tuple[Round, ...]]:
    """Learn unit atoms (m, n_atoms), float32, from mean-free samples (m, n)."""
    atoms, history = learn_coupled([samples], settings, rng=rng, progress=progress)
    return atoms[0], history
