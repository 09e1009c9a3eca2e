"""The refined image is the minimiser, shown by the duality gap and by two independent solvers."""

import logging

import numpy as np
import pytest
import scipy.fft
from PIL import Image
from skimage.restoration import denoise_tv_chambolle

from panfocus.errors import InputError
from panfocus.refine import PAPER_STRENGTH, refine_tv
from panfocus.refine.tv_admm import MAX_STRENGTH

STRENGTHS = [PAPER_STRENGTH, 1e-2, 5e-2]


def disk_and_ramp(shape):
    """Return edges, a slope and noise in three different channels."""
    rng = np.random.default_rng(7)
    row, column = np.indices(shape)
    disk = (row - shape[0] / 2) ** 2 + (column - shape[1] / 3) ** 2 < (min(shape) / 4) ** 2
    planes = [0.2 + 0.6 * disk, column / shape[1], 0.7 - 0.3 * disk + 0.2 * row / shape[0]]
    return np.clip(np.stack(planes, axis=2) + 0.03 * rng.standard_normal((*shape, 3)), 0, 1)


@pytest.fixture(params=["synthetic", "lytro/lytro-01-A.jpg", "lytro/lytro-10-B.jpg", "lytro/lytro-17-A.jpg"])
def colour(request):
    if request.param == "synthetic":
        return disk_and_ramp((37, 45))
    with Image.open(request.getfixturevalue("data_dir") / request.param) as picture:
        return np.asarray(picture)[200:237, 230:275] / 255


@pytest.fixture
def grey(colour):
    return colour[..., 1].copy()


def objective(u, image, strength):
    """Return the objective of Eq. (9), computed independently."""
    u3, image3 = np.atleast_3d(u), np.atleast_3d(image)
    down, across = np.diff(u3, axis=0, append=u3[-1:]), np.diff(u3, axis=1, append=u3[:, -1:])
    return ((u3 - image3) ** 2).sum() / 2 + strength * np.sqrt((down**2 + across**2).sum(axis=2)).sum()


def minimise_by_dual_fista(image, strength, iterations=3000):
    """Solve the dual by accelerated projected gradient (Beck and Teboulle 2009), for images (h, w, c)."""

    def primal(p):
        u = image.copy()
        u[:-1] += p[0, :-1]
        u[1:] -= p[0, :-1]
        u[:, :-1] += p[1, :, :-1]
        u[:, 1:] -= p[1, :, :-1]
        return u

    p = momentum = np.zeros((2, *image.shape))
    t = 1.0
    for _ in range(iterations):
        u = primal(momentum)
        ahead = (
            momentum + np.stack([np.diff(u, axis=0, append=u[-1:]), np.diff(u, axis=1, append=u[:, -1:])]) / 8
        )
        lengths = np.sqrt((ahead**2).sum(axis=(0, 3), keepdims=True))
        p_before, p = p, ahead / np.maximum(1, lengths / strength)
        t_before, t = t, (1 + np.sqrt(1 + 4 * t * t)) / 2
        momentum = p + (t_before - 1) / t * (p - p_before)
    return primal(p)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_gap_closes_to_one_millionth(grey, strength):
    last = refine_tv(grey, strength=strength, max_relative_gap=1e-6).history[-1]
    assert last.relative_gap <= 1e-6


@pytest.mark.parametrize("strength", STRENGTHS)
def test_grey_objective_agrees_with_chambolle(grey, strength):
    # scikit-image's weight multiplies the same isotropic, forward-difference TV against 1/2 ||u - I0||^2.
    ours = refine_tv(grey, strength=strength, max_relative_gap=1e-6).image
    theirs = denoise_tv_chambolle(grey, weight=strength, eps=0, max_num_iter=4000)
    assert objective(ours, grey, strength) == pytest.approx(objective(theirs, grey, strength), rel=1e-5)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_colour_objective_agrees_with_fista(colour, strength):
    solution = refine_tv(colour, strength=strength, max_relative_gap=1e-6)
    least = objective(minimise_by_dual_fista(colour, strength), colour, strength)
    assert objective(solution.image, colour, strength) == pytest.approx(least, rel=2e-6)
    assert solution.history[-1].objective == pytest.approx(least, rel=2e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_strength_zero_returns_the_input_exactly(rng, dtype):
    image = rng.random((13, 17, 3), dtype=dtype)
    refined = refine_tv(image, strength=0.0)
    np.testing.assert_array_equal(refined.image, image)
    assert refined.image.dtype == dtype
    assert not np.shares_memory(refined.image, image)
    assert refined.history == ()


@pytest.mark.parametrize("shape", [(1, 1), (13, 17), (5, 7, 3)])
def test_constant_image_is_unchanged(shape):
    image = np.full(shape, 0.3, np.float32)
    np.testing.assert_array_equal(refine_tv(image, strength=0.1).image, image)


def test_channel_means_do_not_change(rng):
    image = rng.random((13, 17, 3))
    refined = refine_tv(image, strength=0.05).image
    np.testing.assert_allclose(refined.mean(axis=(0, 1)), image.mean(axis=(0, 1)), rtol=1e-13)


def test_strong_smoothing_gives_the_mean(rng):
    image = rng.random((13, 17, 3))
    refined = refine_tv(image, strength=100.0, max_relative_gap=1e-9).image
    np.testing.assert_allclose(refined, np.broadcast_to(image.mean(axis=(0, 1)), image.shape), atol=1e-6)


def test_larger_strength_is_smoother():
    image = disk_and_ramp((13, 17))
    variations = [
        objective(u := refine_tv(image, strength=s).image, u, 1.0) for s in (1e-5, 1e-3, 1e-2, 1e-1)
    ]
    assert variations == sorted(variations, reverse=True)


@pytest.mark.parametrize("strength", [PAPER_STRENGTH, 5.7e-4])
def test_weak_smoothing_does_not_change_8_bit_values(rng, strength):
    image = rng.integers(0, 256, (37, 45, 3))
    refined = refine_tv(image / 255, strength=strength).image
    assert np.abs(refined - image / 255).max() <= (2 + np.sqrt(2)) * strength
    np.testing.assert_array_equal(np.rint(refined * 255), image)


def test_three_equal_channels_are_grey_at_a_lower_strength():
    # Their joint gradient is sqrt(3) times as long and their squared error 3 times as large.
    grey = disk_and_ramp((13, 17))[..., 0]
    in_colour = refine_tv(np.dstack([grey] * 3), strength=0.03, max_relative_gap=1e-9).image
    alone = refine_tv(grey, strength=0.03 / np.sqrt(3), max_relative_gap=1e-9).image
    for channel in range(3):
        np.testing.assert_allclose(in_colour[..., channel], alone, atol=1e-5)


def test_one_channel_is_grey(rng):
    image = rng.random((13, 17))
    np.testing.assert_array_equal(
        refine_tv(image[..., np.newaxis], strength=0.02).image[..., 0], refine_tv(image, strength=0.02).image
    )


def test_float32_gives_the_same_solution():
    image = disk_and_ramp((13, 17)).astype(np.float32)
    refined = refine_tv(image, strength=0.02).image
    assert refined.dtype == np.float32
    np.testing.assert_array_equal(
        refined, refine_tv(image.astype(float), strength=0.02).image.astype(np.float32)
    )


def test_bits_do_not_depend_on_fft_workers():
    image = disk_and_ramp((61, 83))
    alone = refine_tv(image, strength=0.02).image
    with scipy.fft.set_workers(4):
        np.testing.assert_array_equal(refine_tv(image, strength=0.02).image, alone)


def test_gap_falls_in_the_history():
    image = disk_and_ramp((13, 17))
    history = refine_tv(image, strength=0.02, max_relative_gap=1e-8).history
    assert history[0].objective == pytest.approx(objective(image, image, 0.02))
    assert history[-1].relative_gap < 1e-2 * max(row.relative_gap for row in history)


def test_progress_ends_at_one():
    reports = []
    refine_tv(
        disk_and_ramp((13, 17)), strength=0.02, progress=lambda stage, done: reports.append((stage, done))
    )
    assert reports[-1] == ("refine", 1.0)
    assert all(stage == "refine" and 0 <= done <= 1 for stage, done in reports)


def test_iteration_limit_is_logged(caplog):
    with caplog.at_level(logging.WARNING):
        refined = refine_tv(disk_and_ramp((13, 17)), strength=0.05, max_relative_gap=1e-9, max_iterations=3)
    assert len(refined.history) == 3
    assert refined.history[-1].relative_gap > 1e-9
    assert not refined.converged
    assert caplog.records


@pytest.mark.parametrize(
    ("arguments", "setting"),
    [
        ({"strength": -0.1}, "refine_strength"),
        ({"strength": np.nan}, "refine_strength"),
        ({"strength": np.inf}, "refine_strength"),
        ({"strength": 0.1, "max_relative_gap": 0.0}, "max_relative_gap"),
        ({"strength": 0.1, "max_iterations": 0}, "max_iterations"),
    ],
)
def test_number_out_of_range_is_rejected(arguments, setting):
    with pytest.raises(InputError) as caught:
        refine_tv(np.zeros((5, 7)), **arguments)
    assert caught.value.facts["setting"] == setting


@pytest.mark.parametrize(
    ("image", "facts"),
    [
        (np.zeros((5, 7), np.uint8), {"got": "uint8"}),
        (np.zeros(5), {"got": (5,)}),
        (np.zeros((0, 7)), {"got": (0, 7)}),
        (np.full((5, 7), np.nan), {}),
    ],
    ids=["uint8", "one axis", "empty", "NaN"],
)
def test_invalid_image_is_rejected(image, facts):
    with pytest.raises(InputError) as caught:
        refine_tv(image, strength=0.1)
    assert caught.value.facts == facts


def test_largest_strength_gives_the_mean(rng):
    image = rng.random((31, 43))
    solution = refine_tv(image, strength=MAX_STRENGTH)
    assert solution.converged
    np.testing.assert_allclose(solution.image, image.mean(), atol=1e-3)


def test_strength_below_rounding_changes_nothing(rng):
    image = rng.random((13, 17))
    solution = refine_tv(image, strength=1e-300)
    np.testing.assert_array_equal(solution.image, image)
