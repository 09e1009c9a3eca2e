"""Operators of the total-variation problem: adjoint, inverse, proximal map."""

import numpy as np
import pytest
from scipy.optimize import minimize

from panfocus.refine._operators import (
    gradient,
    gradient_adjoint,
    group_norms,
    laplacian_eigenvalues,
    shrink_groups,
    solve_diagonalised,
)

SHAPES = [(1, 13, 17), (3, 17, 13), (1, 1, 9), (2, 9, 1), (1, 1, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_adjoint_is_adjoint_of_gradient(rng, shape):
    u, p = rng.standard_normal(shape), rng.standard_normal((2, *shape))
    assert np.vdot(gradient(u), p) == pytest.approx(np.vdot(u, gradient_adjoint(p)), abs=1e-12)


def test_gradient_is_forward_difference_and_zero_at_the_far_border(rng):
    u = rng.standard_normal((2, 5, 7))
    down, across = gradient(u)
    np.testing.assert_array_equal(down, np.diff(u, axis=1, append=u[:, -1:]))
    np.testing.assert_array_equal(across, np.diff(u, axis=2, append=u[:, :, -1:]))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rho", [0.01, 1.0, 300.0])
def test_quadratic_step_solves_its_equation(rng, shape, rho):
    rhs = rng.standard_normal(shape)
    u = solve_diagonalised(rhs.copy(), 1 + rho * laplacian_eigenvalues(*shape[1:]))
    np.testing.assert_allclose(u + rho * gradient_adjoint(gradient(u)), rhs, rtol=0, atol=1e-11)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("threshold", [0.3, 1.0, 4.0])
def test_shrinkage_is_the_proximal_map_of_the_group_norm(rng, channels, threshold):
    point = rng.standard_normal((2, channels, 1, 1))

    def cost(flat):
        return ((flat - point.ravel()) ** 2).sum() / 2 + threshold * np.sqrt((flat**2).sum())

    # Powell's search may rest on the kink at zero, so it starts there as well as at the point.
    starts = point.ravel(), np.zeros(point.size)
    found = min(
        (minimize(cost, start, method="Powell", options={"xtol": 1e-9, "ftol": 1e-14}) for start in starts),
        key=lambda result: result.fun,
    )
    shrunk = shrink_groups(point, threshold)
    assert cost(shrunk.ravel()) <= found.fun + 1e-12
    np.testing.assert_allclose(shrunk.ravel(), found.x, atol=1e-5)


def test_shrinkage_of_zero_is_zero():
    np.testing.assert_array_equal(shrink_groups(np.zeros((2, 1, 3, 3)), 0.5), 0)


def test_shrinkage_removes_the_projection_on_the_ball(rng):
    p = 3 * rng.standard_normal((2, 3, 13, 17))
    assert group_norms(p - shrink_groups(p, 0.7)).max() <= 0.7 * (1 + 1e-14)
