"""Changes of exposure that the benchmark puts in."""

import numpy as np
import pytest
from benchmarks.exposure import WARM, drift, exposed, flicker, measure, second

from textures import as_bytes, texture


def test_values_are_multiplied_rounded_and_clipped():
    frames = np.array([10, 100, 213], np.uint8)[None, :, None, None] * np.ones((2, 3, 1, 3), np.uint8)
    changed = exposed(frames, second(1.2 * WARM)(2), light=False)
    np.testing.assert_array_equal(changed[0], frames[0])
    np.testing.assert_array_equal(changed[1, :, 0], [[13, 12, 11], [132, 120, 108], [255, 255, 230]])


def test_light_follows_srgb():
    """Half the light of 200 is 146.4 by the formula of the standard."""
    frames = np.full((2, 1, 1, 3), 200, np.uint8)
    light = 0.5 * ((200 / 255 + 0.055) / 1.055) ** 2.4
    expected = round(255 * (1.055 * light ** (1 / 2.4) - 0.055))
    np.testing.assert_array_equal(exposed(frames, second(0.5)(2), light=True)[1], expected)


@pytest.mark.parametrize("change", [drift, flicker, second(0.8)])
@pytest.mark.parametrize("n", [3, 8, 20])
def test_one_frame_is_unchanged(change, n):
    brightness = change(n).mean(axis=1)
    untouched = np.argsort(brightness, kind="stable")[[(n - 1) // 2, n // 2]]
    assert np.any(np.all(change(n)[untouched] == 1, axis=1))


def test_a_scene_has_figures_for_every_change():
    truth = as_bytes(0.2 + 0.5 * np.stack([texture((60, 70), c) for c in range(3)], axis=2))
    figures = measure(np.stack([truth, truth]), truth, "pca")
    assert figures["none"] == np.inf
    assert figures["values x 0.8, off"] < 35 < figures["values x 0.8, auto"]
