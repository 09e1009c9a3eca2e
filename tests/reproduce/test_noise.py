"""Decisions under noise, and the limit of atoms."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from panfocus._progress import silent
from panfocus.reproduce.image_sets import SceneImages
from panfocus.reproduce.noise import LIMITED, OTHERS, QUALITY, SHARE, limited, run_noise, section
from panfocus.reproduce.paper import PROPOSED
from small_sets import SMALL


def colour_scene(name, spread):
    """Return a scene of two half-sharp frames; a smaller spread gives more detail in its middle."""
    texture = gaussian_filter(np.random.default_rng(3).standard_normal((40, 44, 3)), (spread, spread, 0))
    truth = np.clip(128 + 50 * texture / texture.std(), 0, 255).astype(np.uint8)
    soft = gaussian_filter(truth, (3, 3, 0))
    left = (np.arange(44) < 22)[:, None]
    return SceneImages(name, np.stack([np.where(left, truth, soft), np.where(left, soft, truth)]), truth)


@pytest.fixture(scope="module")
def sweep(reproduction):
    scenes = [colour_scene("smooth", 3), colour_scene("detailed", 0.8)]
    return run_noise(scenes, reproduction.evidence.grey, SMALL, silent)


def test_the_scene_with_the_most_detail_is_scored_at_every_level(sweep):
    assert sweep.scene == "detailed"
    assert sweep.levels == SMALL.noise_levels
    cases = {*OTHERS, *LIMITED, *map(limited, LIMITED)}
    assert sweep.scores.keys() == {(case, measure) for case in cases for measure in (SHARE, QUALITY)}
    assert all(len(scores) == 2 for scores in sweep.scores.values())
    for case in cases:
        assert sweep.scores[case, SHARE][0] == 100
        assert 10 < sweep.scores[case, QUALITY][1] < 100


def test_the_last_limit_is_the_papers(sweep, reproduction):
    grey = reproduction.evidence.grey
    assert sweep.limits == (*SMALL.atom_limits, 0)
    for method in LIMITED:
        mean = np.mean([grey.scores[method, "NMI", name] for name in grey.sets])
        assert sweep.means[method, "NMI"][-1] == pytest.approx(mean, rel=1e-12)
        assert len(set(sweep.means[method, "NMI"])) == 3


def test_all_levels_and_limits_are_shown(sweep):
    shown = section(sweep)
    assert len(shown.numbers) == 8 * 2 * 2 + 3 * 2 * 3
    for words in ("noise 10", "none (the paper)", limited(PROPOSED), "Middle of detailed"):
        assert words in shown.body
