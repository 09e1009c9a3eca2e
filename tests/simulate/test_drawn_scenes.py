import itertools
from dataclasses import replace

import numpy as np
import pytest

from panfocus.errors import InputError
from panfocus.simulate import SceneSetting, draw_layers, find_truth
from panfocus.simulate.scenes import OBJECTS

SIZE = {"height": 90, "width": 120}
PLAIN = SceneSetting(objects=("blob", "polygon"), n_frames=5, largest_radius=8.0, seed=1)


@pytest.fixture
def textures(rng):
    return [rng.random((100, 130, 3)) for _ in range(3)]


def least_radii(setting, layers):
    """Return the smallest and the largest radius of each layer in its best frame."""
    for layer in layers:
        depth = np.broadcast_to(layer.depth, layer.matte.shape)[layer.matte > 0]
        radii = setting.strength * np.abs(depth[None] - np.arange(setting.n_frames)[:, None]).min(axis=0)
        yield radii.min(), radii.max()


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_have_smooth_rims_and_leave_background_visible(kind, textures):
    for seed in range(5):
        setting = replace(PLAIN, objects=(kind,), seed=seed)
        background, thing = draw_layers(setting, textures, **SIZE)
        assert (background.matte == 1).all()
        assert 0.005 < thing.matte.mean() < 0.7
        assert ((thing.matte > 0.05) & (thing.matte < 0.95)).any()


@pytest.mark.parametrize("near_first", [True, False])
@pytest.mark.parametrize(
    ("background", "unfocused"),
    [
        *itertools.product(["wall", "floor"], ["none", "front", "back"]),
        ("wall", "middle"),
    ],
)
@pytest.mark.parametrize("objects", [("blob", "dome", "board"), ("board", "leaves", "dome", "wires")])
def test_layers_are_ordered_by_depth(textures, near_first, background, unfocused, objects):
    for seed in range(5):
        setting = SceneSetting(
            objects=objects,
            n_frames=3 if unfocused == "middle" else 12,
            largest_radius=12.0,
            background=background,
            unfocused=unfocused,
            near_first=near_first,
            seed=seed,
        )
        layers = draw_layers(setting, textures, **SIZE)
        sign = 1 if near_first else -1  # if the first frame is focused nearest, depth is distance
        distance = [np.broadcast_to(sign * layer.depth, layer.matte.shape) for layer in layers]
        for i, front in enumerate(layers):
            covered = front.matte > 0
            for behind in distance[:i]:
                assert (distance[i][covered] <= behind[covered] + 1e-9).all()


@pytest.mark.parametrize(("n_frames", "largest_radius"), [(2, 10.0), (3, 10.0), (5, 8.0), (20, 12.0)])
@pytest.mark.parametrize(("unfocused", "never"), [("none", None), ("front", 2), ("middle", 1), ("back", 0)])
def test_only_the_chosen_surface_is_never_in_focus(textures, n_frames, largest_radius, unfocused, never):
    if unfocused == "middle":
        largest_radius = 5.0 * (n_frames - 1)  # room for a gap between frames
    for seed in range(10):
        setting = replace(
            PLAIN, n_frames=n_frames, largest_radius=largest_radius, unfocused=unfocused, seed=seed
        )
        for i, (least, most) in enumerate(least_radii(setting, draw_layers(setting, textures, **SIZE))):
            if i == never:
                assert 2.5 <= least <= most <= 5.0 + 1e-9
            else:
                assert most <= 0.5 + 1e-9


def test_a_floor_covers_half_of_the_depth_range(textures):
    setting = replace(PLAIN, background="floor")
    floor = draw_layers(setting, textures, **SIZE)[0]
    assert np.ptp(floor.depth, axis=1).max() == 0
    np.testing.assert_allclose(floor.depth[[0, -1], 0], [4.0, 2.0])  # far at the top
    assert (np.diff(floor.depth[:, 0]) < 0).all()


def test_the_seed_determines_the_scene(textures):
    first, again, other = (draw_layers(replace(PLAIN, seed=seed), textures, **SIZE) for seed in (1, 1, 2))
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.picture, two.picture)
        np.testing.assert_array_equal(one.matte, two.matte)
        assert one.depth == two.depth
    assert not np.array_equal(first[1].matte, other[1].matte)


def test_surfaces_have_different_textures(rng):
    textures = [np.full((100, 130, 3), value) for value in (0.1, 0.4, 1.0)]  # darkened randomly, down to 0.6
    pictures = [layer.picture.max() for layer in draw_layers(PLAIN, textures, **SIZE)]
    source = [next(value for value in (0.1, 0.4, 1.0) if picture <= value) for picture in pictures]
    assert sorted(source) == [0.1, 0.4, 1.0]


def test_a_scene_may_be_a_background_alone(textures):
    setting = replace(PLAIN, objects=(), background="floor")
    (layer,) = draw_layers(setting, textures, **SIZE)
    truth = find_truth([layer], n_frames=setting.n_frames, strength=setting.strength)
    assert not truth.near_edge.any()


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"objects": ("cloud",)}, "objects"),
        ({"background": "sea"}, "background"),
        ({"unfocused": "left"}, "unfocused"),
        ({"unfocused": "front", "objects": ()}, "unfocused"),
        ({"unfocused": "middle"}, "unfocused"),
        ({"unfocused": "middle", "background": "floor"}, "unfocused"),
        ({"n_frames": 1}, "n_frames"),
        ({"largest_radius": 0}, "largest_radius"),
    ],
)
def test_invalid_scene_settings_are_rejected(changes, setting):
    with pytest.raises(InputError) as caught:
        replace(PLAIN, **changes)
    assert caught.value.facts["setting"] == setting


@pytest.mark.parametrize("textures", [[], [np.zeros((90, 119, 3))], [np.zeros((90, 120))]])
def test_textures_must_be_as_large_as_the_scene(textures):
    with pytest.raises(InputError) as caught:
        draw_layers(PLAIN, textures, **SIZE)
    assert caught.value.facts["setting"] == "textures"
