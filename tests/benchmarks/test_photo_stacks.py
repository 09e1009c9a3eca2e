from dataclasses import replace

import numpy as np
import pytest
from benchmarks.photo_stacks import INTENSITY, SETTINGS, PhotoSetting, add_glints, photograph

from benchmarks import photo_stacks
from panfocus.simulate import CameraFaults, Layer, SceneSetting

PLAIN = PhotoSetting(
    scene=SceneSetting(objects=("blob",), n_frames=3, largest_radius=4.0, noise=1.0, seed=1), glints=5
)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(photo_stacks, "SIZE", (40, 56))


@pytest.fixture
def textures(rng):
    return [rng.random((50, 60, 3)) for _ in range(2)]


def test_halves_share_no_seeds():
    seeds = [
        setting.scene.seed
        for kinds in SETTINGS.values()
        for kind in kinds.values()
        for setting in kind.values()
    ]
    assert len(set(seeds)) == len(seeds) == 24


def test_glints_are_brighter_than_white_and_on_the_front_layer(rng):
    half = np.zeros((40, 60))
    half[:, 30:] = 1.0
    layers = [Layer(np.zeros((40, 60, 3)), np.ones((40, 60)), 1.0), Layer(np.zeros((40, 60, 3)), half, 0.0)]
    back, front = (layer.emission for layer in add_glints(layers, 40, rng))
    reach = 14  # half of the longest line, and its width
    assert back[:, : 30 - reach].max() > 1
    assert back[:, 30 + reach :].max() == 0
    assert front[:, 30 + reach :].max() > 1
    assert front[:, : 30 - reach].max() == 0
    lonely = add_glints(layers, 1, rng)
    assert max(layer.emission.max() for layer in lonely) <= INTENSITY[1]


def test_hairs_count_where_they_are_visible(small, textures):
    # Over a wall without texture, only hairs count.
    scene = replace(PLAIN.scene, objects=("bristles",), n_frames=2)
    plain = [np.full_like(texture, 0.5) for texture in textures]
    stack = photograph("hairs", "choose", "h", PhotoSetting(scene=scene), plain)
    assert 0.02 < stack.counted.mean() < 0.5
    wall = np.median(stack.image.reshape(-1, 3), axis=0)
    assert np.abs(stack.image - wall).max(axis=2)[stack.counted].min() > 4
    assert len(np.unique(stack.depth[stack.counted])) == 1


def test_photographs_depend_on_settings_and_seed_only(small, textures):
    faults = replace(PLAIN, faults=CameraFaults(misalignment=0.3, flicker=0.02), quality=90)
    first, second = (photograph("rough", "choose", "c", faults, textures) for _ in range(2))
    np.testing.assert_array_equal(first.frames, second.frames)
    clean = photograph("rough", "choose", "c", PLAIN, textures)
    np.testing.assert_array_equal(first.image, clean.image)  # the truth has no faults
    assert first.frames.shape == (3, 40, 56, 3)
    assert (first.frames != clean.frames).mean() > 0.5


def test_compression_averages_colours_over_two_by_two_pixels(small, textures):
    # Colour differences of single pixels are lost, those of brightness stay.
    flat = replace(PLAIN, scene=replace(PLAIN.scene, noise=0.0), glints=0)
    compressed = photograph("rough", "choose", "c", replace(flat, quality=92), textures).frames.astype(float)
    clean = photograph("rough", "choose", "c", flat, textures).frames.astype(float)
    error = compressed - clean
    assert (error @ [0.299, 0.587, 0.114]).std() < 0.3 * error.std()
