"""Clean frames composed by decisions on noisy frames, and the table of their scores."""

import numpy as np
import pytest
from benchmarks._truth import colour_psnr, composed_clean, noisy, scenes
from benchmarks.noisy_decisions import METHODS, SIGMAS, interval, measure, row
from scipy.ndimage import gaussian_filter
from scipy.stats import norm

import panfocus as pf
from panfocus.compare import Scene
from panfocus.io.encode import write_image


@pytest.fixture(scope="module")
def pictures():
    """Two colour frames, sharp on the left and on the right, and the sharp image (3, h, w, 3)."""
    rng = np.random.default_rng(3)
    sharp = 128 + 60 * sum(s * gaussian_filter(rng.normal(size=(60, 90, 3)), (s, s, 0)) for s in (0.6, 2.5))
    soft = gaussian_filter(sharp, (2, 2, 0))
    left = np.arange(90)[:, None] < 45
    stack = np.stack([np.where(left, sharp, soft), np.where(left, soft, sharp), sharp])
    return np.clip(np.rint(stack), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("method", METHODS)
def test_clean_frames_are_composed_by_noisy_decisions(method, pictures):
    frames = pictures[:2]
    np.testing.assert_array_equal(composed_clean(method, frames, frames).image, pf.fuse(frames, method).image)
    # Frames of the numbers 0 and 200 show where each pixel is from.
    numbers = np.broadcast_to(np.array([0, 200], np.uint8)[:, None, None, None], frames.shape)
    decided_on = noisy(frames, 5)
    composed = composed_clean(method, decided_on, numbers)
    expected = pf.fuse(decided_on, method)
    np.testing.assert_array_equal(composed.labels, expected.labels)
    assert np.mean((composed.image[..., 0] > 100) == expected.labels) > 0.9
    assert set(np.unique(composed.image)) > {0, 200}  # by votes, not by labels


def test_noise_is_reproducible_and_has_its_sigma():
    frames = np.full((2, 100, 100, 3), 128, np.uint8)
    np.testing.assert_array_equal(noisy(frames, 0), frames)
    np.testing.assert_array_equal(noisy(frames, 5), noisy(frames, 5))
    assert noisy(frames, 5).std() == pytest.approx(np.hypot(5, 1 / np.sqrt(12)), rel=0.01)  # and rounding
    first, second = noisy(frames, 5)
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 0.03


def test_psnr_ignores_the_border():
    truth = np.full((30, 40, 3), 100, np.uint8)
    image = truth + np.uint8(5)
    image[:8] = 0
    assert colour_psnr(image, truth) == pytest.approx(20 * np.log10(255 / 5))


def test_the_halves_are_every_second_scene(data_dir):
    found = [(name, half, scene.name) for name, half, scene in scenes()]
    assert [entry[:2] for entry in found].count(("real-mff", "report")) == 9
    assert [entry[:2] for entry in found].count(("mfi-whu", "choose")) == 20
    chosen, reported = (
        {entry[2] for entry in found if entry[:2] == ("real-mff", half)} for half in ("choose", "report")
    )
    assert sorted(chosen | reported)[::2] == sorted(chosen)


def test_figures_cover_methods_compositions_and_noise(pictures, tmp_path):
    names = [tmp_path / f"scene-{part}.png" for part in ("A", "B", "GT")]
    for path, picture in zip(names, pictures, strict=True):
        write_image(path, picture)
    figures = measure(Scene("scene", tuple(names[:2]), names[2]))
    assert len(figures) == len(METHODS) * 2 * len(SIGMAS)
    *frames, truth = pictures
    for method in METHODS:
        assert figures[f"{method} own 0"] == colour_psnr(pf.fuse(frames, method).image, truth)
        assert figures[f"{method} labels 10"] < figures[f"{method} labels 0"]


def test_interval_of_the_mean():
    """For many values it is 1.96 standard errors on either side."""
    values = np.random.default_rng(0).normal(3, 2, 400)
    expected = norm(values.mean(), values.std() / 20).ppf([0.025, 0.975])
    assert interval(values) == pytest.approx(expected, abs=0.02)
    assert interval([1.5, 1.5]) == (1.5, 1.5)


def test_a_row_has_means_and_margins():
    of_scenes = [
        {"panfocus own 2": 41.0, "coupled own 2": 40.0, "panfocus labels 2": 40.0, "coupled labels 2": 38.5},
        {"panfocus own 2": 43.0, "coupled own 2": 42.0, "panfocus labels 2": 42.0, "coupled labels 2": 40.5},
    ]
    assert row(of_scenes, 2) == ["42.00", "41.00", "1.00 [1.00, 1.00]", "41.00", "39.50", "1.50 [1.50, 1.50]"]
