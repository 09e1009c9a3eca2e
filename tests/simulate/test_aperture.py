import numpy as np
import pytest

from panfocus.errors import InputError
from panfocus.simulate import (
    Layer,
    find_truth,
    light_through_aperture,
    render_light,
    render_stack,
    render_through_aperture,
)

HEIGHT, WIDTH = 45, 61
OPTICS = {"n_frames": 3, "strength": 2.0}
COLUMNS = np.arange(WIDTH)


def wall(value, depth):
    picture = np.broadcast_to(value, (HEIGHT, WIDTH, 1))
    return Layer(picture, np.ones((HEIGHT, WIDTH)), depth)


def half(value, depth, *, left_of):
    return Layer(wall(value, 0.0).picture, np.broadcast_to(left_of > COLUMNS, (HEIGHT, WIDTH)) * 1.0, depth)


def share_left_of(place):
    """Return the share of the unit disk to the left of a place: its area, by integration."""
    u = np.clip(place, -1, 1)
    return 0.5 + (u * np.sqrt(1 - u**2) + np.arcsin(u)) / np.pi


@pytest.fixture
def pictures(rng):
    return rng.random((2, HEIGHT, WIDTH, 1))


@pytest.fixture
def square():
    """A matte with a hard rim, 17 x 21."""
    matte = np.zeros((HEIGHT, WIDTH))
    matte[14:31, 20:41] = 1.0
    return matte


@pytest.mark.parametrize("depth", [0.3, 1.7, -0.6])
def test_one_layer_gets_the_disk_of_render_stack(pictures, depth):
    # White noise over the whole range. `disk` knows the parts of pixels along its rim to 2 %.
    layers = [wall(pictures[0], depth)]
    errors = light_through_aperture(layers, **OPTICS) - render_light(layers, **OPTICS)
    assert np.abs(errors).max() < 0.02


def test_one_layer_of_varying_depth_is_close_to_render_stack(rng):
    # Points spread light, pixels gather it. Radii change by 4 pixels over 60, so the two differ little.
    smooth = np.repeat(np.repeat(rng.random((9, 16)), 5, axis=0), 4, axis=1)[:HEIGHT, :WIDTH, None]
    depth = np.broadcast_to(np.linspace(0.0, 2.0, WIDTH), (HEIGHT, WIDTH))
    errors = light_through_aperture([wall(smooth, depth)], **OPTICS) - render_light(
        [wall(smooth, depth)], **OPTICS
    )
    assert np.sqrt(np.mean(errors**2)) < 0.015
    blur = render_light([wall(smooth, depth)], **OPTICS) - render_light([wall(smooth, 1.0)], **OPTICS)
    assert np.sqrt(np.mean(blur**2)) > 0.05  # the error is small beside the effect


def test_layers_of_one_colour_stay_of_that_colour(square):
    dome = np.hypot(*np.mgrid[-22:23, -30:31]) / 40
    layers = [
        wall(0.6, 2.0),
        Layer(wall(0.6, 0).picture, square, 0.7),
        Layer(wall(0.6, 0).picture, square, dome),
    ]
    np.testing.assert_array_equal(render_through_aperture(layers, **OPTICS), 153)  # 0.6 of 255


def test_a_layer_in_focus_equals_the_truth_and_hides_layers_behind(pictures, square):
    layers = [wall(pictures[0], 2.0), Layer(pictures[1], square, 0.2)]  # a radius of 0.4 pixels does not blur
    frame, truth = render_through_aperture(layers, **OPTICS)[0], find_truth(layers, **OPTICS)
    np.testing.assert_array_equal(frame[square == 1], truth.image[square == 1])


@pytest.mark.parametrize("front", [6.0, -4.0], ids=["same side of the focus", "other side"])
def test_two_blurred_edges_hide_the_same_part_of_the_aperture(front):
    # A white surface right of column 20 is seen from u if x - 10 u > 20 (edges lie between pixels), and not
    # hidden by a black surface left of column 26 if x - `front` u > 26. render_stack multiplies the two
    # shares as if they were independent.
    layers = [wall(0.0, 12.0), wall(1.0, 10.0), half(0.0, 10.0, left_of=20), half(0.0, front, left_of=26)]
    frame = light_through_aperture(layers, n_frames=2, strength=1.0)[0, 22, :, 0]
    within = (np.arange(-0.5, 0.5, 0.01) + 0.005)[:, None]  # the mean over a pixel
    behind, before = ((COLUMNS + within - edge + 0.5) / radius for edge, radius in ((20, 10.0), (26, front)))
    if front > 0:
        expected = share_left_of(np.minimum(behind, before)).mean(axis=0)
    else:  # u > before
        expected = np.clip(share_left_of(behind) - share_left_of(before), 0, 1).mean(axis=0)
    assert np.abs(frame - expected).max() < 0.025
    product = render_light(layers, n_frames=2, strength=1.0)[0, 22, :, 0]
    assert np.abs(product - expected).max() > 0.05


@pytest.mark.parametrize("render", [render_stack, render_through_aperture])
def test_a_glint_covers_more_saturated_pixels_when_blurred(render):
    # A spot of 9 pixels, 60 times white, has the light of 540 white pixels. Its disk of radius 6 has an area
    # of 113 pixels: it is 4.8 times white, and clipped where more than a fifth of the spot's light arrives.
    emission = np.zeros((HEIGHT, WIDTH, 1))
    emission[21:24, 29:32] = 60.0
    layers = [Layer(wall(0.2, 0).picture, np.ones((HEIGHT, WIDTH)), 0.0, emission)]
    frames = render(layers, n_frames=4, strength=2.0)
    truth = find_truth(layers, n_frames=4, strength=2.0)
    np.testing.assert_array_equal(frames[0], truth.image)
    assert (truth.image == 255).sum() == 9
    assert 113 <= (frames[3] == 255).sum() <= np.pi * (6 + 3 / np.sqrt(2)) ** 2
    # Of 0.5 times white beyond the picture, blurred over 113 pixels, nothing is clipped.
    dim = [Layer(wall(0.2, 0).picture, np.ones((HEIGHT, WIDTH)), 0.0, emission / 120)]
    assert render(dim, n_frames=4, strength=2.0)[3].max() < 255


def test_the_same_seed_gives_the_same_stack(pictures, square):
    layers = [wall(pictures[0], 2.0), Layer(pictures[1], square, 0.0)]
    first, second, other = (
        render_through_aperture(layers, **OPTICS, noise=1.0, rng=np.random.default_rng(seed))
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


@pytest.mark.parametrize(
    ("changes", "setting"),
    [({"n_frames": 1}, "n_frames"), ({"strength": 0.0}, "strength"), ({"noise": 1.0}, "rng")],
)
def test_invalid_arguments_are_rejected(changes, setting):
    with pytest.raises(InputError) as caught:
        render_through_aperture([wall(0.5, 0.0)], **(OPTICS | changes))
    assert caught.value.facts["setting"] == setting
