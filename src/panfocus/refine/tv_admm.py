"""Isotropic total variation by the alternating direction method of multipliers, to a proven accuracy."""

import logging
import math
from dataclasses import dataclass

import numpy as np

from panfocus._checks import real_number
from panfocus._intensity import FloatArray
from panfocus._progress import Progress, silent
from panfocus.errors import InputError
from panfocus.refine._operators import (
    Array,
    gradient,
    gradient_adjoint,
    group_norms,
    group_products,
    laplacian_eigenvalues,
    shrink_groups,
    solve_diagonalised,
)

logger = logging.getLogger(__name__)

PAPER_STRENGTH = 1e-5
"""The paper's weight of the total variation, on unit-range intensities."""

NO_STRENGTH = 1e-15
"""Below it no unit-range value moves by more than float64 rounds it."""

MAX_STRENGTH = 1e4
"""On unit-range intensities it leaves the mean of any image up to some 40,000 pixels a side."""

_RELAXATION = 1.8  # over-relaxation of the constraint; on photographs 40 % fewer iterations than 1


@dataclass(frozen=True)
class Iteration:
    """What one iteration reached: Eq. (9), the two residuals of ADMM, and the proven accuracy."""

    objective: float
    primal_residual: float
    dual_residual: float
    relative_gap: float


@dataclass(frozen=True)
class Refined:
    """The refined image, and how the solver came to it; no history where there was nothing to solve."""

    image: FloatArray
    history: tuple[Iteration, ...]
    converged: bool = True


def refine_tv(
    image: FloatArray,
    *,
    strength: float,
    max_relative_gap: float = 1e-5,
    max_iterations: int = 1000,
    penalty: float | None = None,
    progress: Progress = silent,
) -> Refined:
    r"""Minimise 1/2 ||I - I0||^2 + strength * TV(I), the paper's global reconstruction, Eq. (9).

    Parameters
    ----------
    image : array (h, w) or (h, w, c), float32 or float64
        I0, the image to refine, in unit range.
    strength : float
        Weight of the total variation, the paper's eta; larger is smoother, 0 returns the image as it is.
    max_relative_gap : float
        Stop when the objective is proven to lie within this share of its minimum; smaller is more exact.
    max_iterations : int
        Stop here at the latest, with a warning in the log.
    penalty : float, optional
        ADMM's rho. It changes the speed, not the solution. By default 1, as in the paper, or, where
        smoothing is strong, what makes the shrinkage threshold a quarter of the image's mean gradient.
    progress : callable, optional
        Called as `progress("refine", done)`.

    Returns
    -------
    Refined
        The image, in the shape and dtype given, and a record of every iteration.

    Notes
    -----
    TV(I) is the sum over pixels of the length of the gradient (forward differences, no flow across the
    border). In colour, this length is taken over all channels at once: edges that coincide then cost less
    than edges that do not, so channels keep their edges in common places and no coloured fringes
    appear, as they do when each channel is smoothed alone. For a grey image it is the paper's TV.

    With the splitting d = grad u and the scaled multipliers b, one iteration is

    .. math::
        u &= (1 + \rho \nabla^* \nabla)^{-1} (I_0 + \rho \nabla^* (d - b))  && \text{exact, by DCT} \\
        v &= b + 1.8 \, \nabla u - 0.8 \, d  && \text{over-relaxed; plain is } b + \nabla u \\
        d &= \mathrm{shrink}(v, \mathrm{strength} / \rho) \\
        b &= v - d

    *Accuracy.* A length is the largest inner product with a vector of length at most one, so the minimum is
    the largest value, over fields p whose groups are at most `strength` long, of the least value, over u, of
    1/2 ||u - I0||^2 + <grad u, p>. That least value, taken at u = I0 - grad* p, is the dual objective
    D(p) = <I0, grad* p> - 1/2 ||grad* p||^2: every such p gives a lower bound of the minimum. One is at
    hand in p = rho b, because what shrinkage takes away from v is the projection of v on that ball.
    The gap P(u) - D(p) is written as a sum of two terms that cannot be negative,

    .. math::
        \tfrac12 \lVert u - I_0 + \nabla^* p \rVert^2
        + \sum_{ij} (\mathrm{strength} \, |\nabla u|_{ij} - \langle \nabla u, p \rangle_{ij})

    so that no digits cancel when it is small. As the objective is 1-strongly convex, ||u - u*||^2 is
    at most twice the gap.

    *Reach.* The minimiser is I0 - grad* p for such a p, so no value moves by over (2 + sqrt(2)) strength, and
    8-bit values that are rounded afterwards stay as they are up to a strength of 5.7e-4.
    """
    _check_image(image)
    _check_numbers(strength, max_relative_gap, max_iterations, penalty)
    # float64 inside: in float32, rounding alone moves the relative gap by 7e-6 at the paper's strength.
    I0 = np.ascontiguousarray(np.moveaxis(np.atleast_3d(image), 2, 0), dtype=np.float64)
    d = gradient(I0)
    mean_gradient = float(group_norms(d).mean())
    if strength < NO_STRENGTH or mean_gradient == 0:
        return Refined(image.copy(), ())

    rho = penalty if penalty is not None else max(1.0, 4 * strength / mean_gradient)
    eigenvalues = 1 + rho * laplacian_eigenvalues(*I0.shape[1:])
    b = np.zeros_like(d)
    history: list[Iteration] = []
    converged = True
    for _ in range(max_iterations):
        u = solve_diagonalised(I0 + rho * gradient_adjoint(d - b), eigenvalues)
        Du, d_before = gradient(u), d
        v = b + _RELAXATION * Du + (1 - _RELAXATION) * d
        d = shrink_groups(v, strength / rho)
        b = v - d

        objective, gap = _objective_and_gap(I0, u, Du, rho * b, strength)
        history.append(
            Iteration(
                objective=objective,
                primal_residual=_norm(Du - d),
                dual_residual=rho * _norm(gradient_adjoint(d - d_before)),
                relative_gap=gap / objective,
            )
        )
        if gap <= max_relative_gap * objective:
            break
        progress("refine", _share_done(gap / objective, max_relative_gap))
    else:
        converged = False
        logger.warning(
            "refinement stopped after %d iterations at a relative gap of %.1e, wanted %.1e",
            max_iterations,
            history[-1].relative_gap,
            max_relative_gap,
        )
    progress("refine", 1.0)
    return Refined(np.moveaxis(u, 0, 2).reshape(image.shape).astype(image.dtype), tuple(history), converged)


def check_strength(strength: float) -> None:
    """Refuse what is not a strength."""
    real_number("strength", strength)
    if not 0 <= strength <= MAX_STRENGTH:
        raise InputError(f"strength must be a number from 0 to {MAX_STRENGTH:g}, got {strength}")


def _objective_and_gap(I0: Array, u: Array, Du: Array, p: Array, strength: float) -> tuple[float, float]:
    lengths = strength * group_norms(Du)
    objective = _squared_norm(u - I0) / 2 + lengths.sum()
    gap = _squared_norm(u - I0 + gradient_adjoint(p)) / 2 + (lengths - group_products(Du, p)).sum()
    return float(objective), float(gap)


def _squared_norm(values: Array) -> float:
    # Not np.vdot: BLAS splits the sum among its threads, and the last bits would depend on their number.
    return float(np.einsum("i,i", values.ravel(), values.ravel()))


def _norm(values: Array) -> float:
    return math.sqrt(_squared_norm(values))


def _share_done(gap: float, wanted: float) -> float:
    return min(1.0, max(0.0, math.log(gap) / math.log(wanted)))


def _check_image(image: FloatArray) -> None:
    if image.dtype not in (np.float32, np.float64):
        raise InputError(f"image is {image.dtype.name}; refinement needs float32 or float64 in unit range")
    if image.ndim not in (2, 3) or image.size == 0:
        raise InputError(f"image has shape {image.shape}; needed: (h, w) or (h, w, c)")
    if not np.isfinite(image).all():
        raise InputError("image holds NaN or infinite values; replace them first")


def _check_numbers(
    strength: float, max_relative_gap: float, max_iterations: int, penalty: float | None
) -> None:
    check_strength(strength)
    if not 0 < max_relative_gap < 1:
        raise InputError(f"max_relative_gap must lie between 0 and 1, got {max_relative_gap}")
    if max_iterations < 1:
        raise InputError(f"max_iterations must be at least 1, got {max_iterations}")
    if penalty is not None and not 0 < penalty < math.inf:
        raise InputError(f"penalty must be a number above 0, got {penalty}")
