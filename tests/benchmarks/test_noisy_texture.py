"""Scenes and shares of the benchmark on noisy texture."""

from itertools import islice

import numpy as np
import pytest
from benchmarks.noisy_texture import scenes, share_of_sharp

from panfocus.methods import get_method


def test_synthetic_textures_have_the_stated_contrast():
    (name, sharp), (other, smoother) = islice(scenes(), 2)
    assert (name, other) == ("texture, 1 px", "texture, 2 px")
    assert sharp.std() == pytest.approx(40)
    assert np.abs(np.diff(sharp)).mean() > 1.5 * np.abs(np.diff(smoother)).mean()


def test_noise_lowers_the_share_without_a_limit_of_atoms():
    _, sharp = next(scenes())
    clean, few, many = (
        share_of_sharp(sharp[:40, :40], sigma, get_method("coupled", max_atoms=n))
        for sigma, n in ((0, 0), (5, 24), (5, 0))
    )
    assert clean == few == 1
    assert many < 0.5
