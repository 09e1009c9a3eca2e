import numpy as np
import pytest

from panfocus.errors import InputError
from panfocus.simulate import Layer, apply_defocus, disk, find_truth, render_stack

HEIGHT, WIDTH = 45, 61
OPTICS = {"n_frames": 3, "strength": 2.0}


def light_of(picture):
    """Return linear light, from the definition of sRGB."""
    return np.where(picture <= 0.04045, picture / 12.92, ((picture + 0.055) / 1.055) ** 2.4)


def counts_of(light):
    return 255 * np.where(light <= 0.0031308, 12.92 * light, 1.055 * np.abs(light) ** (1 / 2.4) - 0.055)


def blurred(planes, radius):
    return np.stack([apply_defocus(planes[..., i], radius) for i in range(planes.shape[2])], axis=2)


def wall(picture, depth=2.0):
    return Layer(picture, np.ones(picture.shape[:2]), depth)


def even(value):
    return np.full((HEIGHT, WIDTH, 3), value)


@pytest.fixture
def pictures(rng):
    return rng.random((2, HEIGHT, WIDTH, 3))


@pytest.fixture
def square():
    """A matte with a hard rim, 17 x 21."""
    matte = np.zeros((HEIGHT, WIDTH))
    matte[14:31, 20:41] = 1.0
    return matte


def slope(lowest, highest):
    return np.broadcast_to(np.linspace(lowest, highest, WIDTH), (HEIGHT, WIDTH))


def dome(lowest, highest):
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    far = np.hypot(rows - HEIGHT / 2, columns - WIDTH / 2) / WIDTH
    return lowest + (highest - lowest) * np.minimum(2 * far, 1) ** 2


def test_one_layer_is_defocused_in_linear_light(pictures):
    frames = render_stack([wall(pictures[0], depth=0.3)], **OPTICS)
    for focus, frame in enumerate(frames):
        expected = counts_of(blurred(light_of(pictures[0]), 2.0 * abs(0.3 - focus)))
        assert np.abs(frame - expected).max() <= 0.5 + 1e-6  # rounding to 8 bit


@pytest.mark.parametrize("depth", [1.3, slope(-2, 4), dome(3, -1)], ids=["flat", "slope", "dome"])
def test_layers_of_one_colour_stay_of_that_colour(depth, square):
    layers = [wall(even(0.6), slope(3, 1)), Layer(even(0.6), square, depth)]
    frames = render_stack(layers, **OPTICS)
    np.testing.assert_array_equal(frames, 153)  # 0.6 of 255


def test_blur_preserves_the_light_of_a_spot():
    spot = np.zeros((HEIGHT, WIDTH))
    spot[22, 30] = 0.4
    frames = render_stack([wall(even(0.0)), Layer(even(1.0), spot, 0.0)], n_frames=2, strength=5.0)
    light = light_of(frames[1, ..., 0] / 255)
    assert light.sum() == pytest.approx(0.4, rel=0.02)  # over 79 pixels, each rounded


def test_a_frame_equals_the_truth_where_it_is_in_focus(pictures, square):
    layers = [wall(pictures[0], 2.0), Layer(pictures[1], square, 0.0)]
    frames, truth = render_stack(layers, **OPTICS), find_truth(layers, **OPTICS)
    front = square == 1
    np.testing.assert_array_equal(frames[0][front], truth.image[front])
    far = apply_defocus(square, 4.0) < 1e-9  # out of reach of the front layer's disk
    assert far.any()
    np.testing.assert_array_equal(frames[2][far], truth.image[far])


def test_a_focused_front_layer_hides_layers_behind(pictures, square):
    frames = [
        render_stack([wall(behind), Layer(pictures[0], square, 0.0)], **OPTICS)[0]
        for behind in (even(0.0), pictures[1], even(1.0))
    ]
    for frame in frames[1:]:
        np.testing.assert_array_equal(frame[square == 1], frames[0][square == 1])


def test_a_blurred_front_layer_is_mixed_by_its_blurred_matte(square):
    # A black square in front of a white wall: only light that passes the square remains.
    layers = [wall(even(1.0), 2.0), Layer(even(0.0), square, 0.5)]
    frame = render_stack(layers, **OPTICS)[2]
    expected = counts_of(1 - apply_defocus(square, 3.0))
    assert np.abs(frame[..., 0] - expected).max() <= 0.5 + 1e-6


def test_a_blurred_front_layer_is_the_mean_over_the_aperture(pictures, square):
    # Seen from another point of the aperture, a layer out of focus is shifted, and one in focus is not.
    layers = [wall(pictures[0], 2.0), Layer(pictures[1], square, 0.0)]
    frame = render_stack(layers, **OPTICS)[2]
    kernel, back, front = disk(4.0), light_of(pictures[0]), light_of(pictures[1])
    seen = np.zeros_like(back)
    for i, j in np.argwhere(kernel > 0):
        matte, colour = (np.roll(a, (i - 4, j - 4), axis=(0, 1)) for a in (square[..., None], front))
        seen += kernel[i, j] * (matte * colour + (1 - matte) * back)
    assert np.abs(frame - counts_of(seen)).max() <= 0.5 + 1e-6


@pytest.mark.parametrize("depth", [slope(0.1, 2.0), dome(0.0, 1.4)], ids=["slope", "dome"])
def test_every_point_is_blurred_by_the_disk_of_its_depth(rng, square, depth):
    picture = rng.random((HEIGHT, WIDTH, 1))
    frame = render_stack([wall(np.zeros_like(picture)), Layer(picture, square, depth)], **OPTICS)[2, ..., 0]
    # Sum over points: the light of the surface, divided by the light of a white surface without a rim.
    spread, white = np.zeros((2, HEIGHT + 8, WIDTH + 8))
    for row, column in np.ndindex(HEIGHT, WIDTH):
        kernel = disk(max(2.0 * abs(depth[row, column] - 2), 1e-3))
        reach = len(kernel) // 2
        part = np.s_[row + 4 - reach : row + 5 + reach, column + 4 - reach : column + 5 + reach]
        spread[part] += kernel * square[row, column] * light_of(picture[row, column, 0])
        white[part] += kernel
    away = np.s_[5:-5, 5:-5]  # from the borders, beyond which a scene is mirrored
    expected = (spread[4:-4, 4:-4] / white[4:-4, 4:-4])[away]
    errors = np.abs(light_of(frame / 255)[away] - expected)
    # The renderer mixes disks between of two that differ by a tenth of their radius, or less.
    assert errors.max() < 0.012
    assert errors.mean() < 0.0005


def test_constant_depth_as_number_or_map_gives_the_same_frames(pictures, square):
    maps = render_stack([wall(pictures[0], slope(2, 2)), Layer(pictures[1], square, slope(0, 0))], **OPTICS)
    numbers = render_stack([wall(pictures[0], 2.0), Layer(pictures[1], square, 0.0)], **OPTICS)
    # Radii are 0, 2 and 4: the levels of a map's disks hold 2, and 4 is mixed of neighbours.
    assert np.abs(maps.astype(int) - numbers)[:2].max() <= 1
    assert np.abs(maps.astype(int) - numbers).max() <= 4


def test_noise_is_normal_and_independent_in_each_frame(rng):
    layers = [wall(even(0.5))]
    frames = render_stack(layers, **OPTICS, noise=4.0, rng=rng).astype(float)
    errors = frames - 127.5
    assert errors.std() == pytest.approx(np.hypot(4.0, 1 / np.sqrt(12)), rel=0.05)  # and rounding
    assert abs(errors.mean()) < 0.1
    correlation = np.corrcoef(errors.reshape(3, -1))
    assert np.abs(correlation - np.eye(3)).max() < 0.05


def test_the_same_seed_gives_the_same_stack(pictures, square):
    layers = [wall(pictures[0]), Layer(pictures[1], square, dome(0, 1))]
    first, second = (
        render_stack(layers, **OPTICS, noise=1.0, rng=np.random.default_rng(3)) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_truth_composes_half_covered_pixels_in_linear_light():
    half = np.zeros((HEIGHT, WIDTH))
    half[:, 30:] = 0.5
    truth = find_truth([wall(even(0.0)), Layer(even(1.0), half, 0.0)], **OPTICS)
    np.testing.assert_array_equal(truth.image[:, :30], 0)
    np.testing.assert_array_equal(truth.image[:, 30:], 188)  # half the light of white, in sRGB


def test_true_depth_belongs_to_the_layer_with_the_largest_share(pictures, square):
    layers = [wall(pictures[0], slope(2, 3)), Layer(pictures[1], 0.4 * square, 1.0)]
    np.testing.assert_allclose(find_truth(layers, **OPTICS).depth, slope(2, 3))
    layers = [wall(pictures[0], slope(2, 3)), Layer(pictures[1], 0.6 * square, -0.5)]
    expected = np.where(square == 1, -0.5, slope(2, 3))
    np.testing.assert_allclose(find_truth(layers, **OPTICS).depth, expected)


def test_never_in_focus_needs_a_radius_of_two_pixels_in_every_frame(pictures):
    depth = slope(-1.6, 3.6)
    truth = find_truth([wall(pictures[0], depth)], n_frames=3, strength=2.0)
    radii = [2.0 * np.abs(depth - focus) for focus in range(3)]
    np.testing.assert_allclose(truth.least_radius, np.min(radii, axis=0), atol=1e-6)
    np.testing.assert_array_equal(truth.never_in_focus, (depth <= -1) | (depth >= 3))
    between = find_truth([wall(pictures[0], 0.5)], n_frames=2, strength=4.0)
    assert between.never_in_focus.all()


def test_texture_is_measured_on_the_surface(rng, square):
    # A square without texture in front of a wall with texture: its rim is no texture of it.
    layers = [wall(rng.random((HEIGHT, WIDTH, 3))), Layer(even(0.5), square, 0.0)]
    truth = find_truth(layers, **OPTICS)
    assert truth.textured.dtype == bool  # it is used as an index
    np.testing.assert_array_equal(truth.textured, square == 0)


def test_near_edge_is_within_16_pixels_of_a_border_between_depths(pictures):
    half = np.zeros((HEIGHT, WIDTH))
    half[:, 30:] = 1.0
    truth = find_truth([wall(pictures[0], 2.0), Layer(pictures[1], half, 0.0)], **OPTICS)
    expected = np.zeros((HEIGHT, WIDTH), dtype=bool)
    expected[:, 30 - 16 : 30 + 16] = True
    np.testing.assert_array_equal(truth.near_edge, expected)


@pytest.mark.parametrize("front", [2.0, 1.8], ids=["same depth", "a disk of 0.4 pixels"])
def test_a_border_without_a_depth_step_is_not_an_edge(pictures, square, front):
    truth = find_truth([wall(pictures[0], 2.0), Layer(pictures[1], square, front)], **OPTICS)
    assert not truth.near_edge.any()


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"picture": np.zeros((4, 5))}, "picture"),
        ({"matte": np.ones((4, 6))}, "matte"),
        ({"depth": np.ones(5)}, "depth"),
        ({"depth": np.nan}, "depth"),
        ({"picture": np.full((4, 5, 3), 255.0)}, "picture"),
        ({"matte": np.full((4, 5), np.nan)}, "matte"),
        ({"emission": np.ones((4, 5))}, "emission"),
        ({"emission": np.full((4, 5, 3), -0.1)}, "emission"),
    ],
)
def test_an_invalid_layer_is_rejected(changes, setting):
    arguments = {"picture": np.zeros((4, 5, 3)), "matte": np.ones((4, 5)), "depth": 0.0} | changes
    with pytest.raises(InputError) as caught:
        Layer(**arguments)
    assert caught.value.facts["setting"] == setting


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"n_frames": 1}, "n_frames"),
        ({"strength": 0.0}, "strength"),
        ({"strength": np.inf}, "strength"),
        ({"layers": []}, "layers"),
        ({"layers": [Layer(even(0), np.zeros((HEIGHT, WIDTH)), 0.0)]}, "matte"),
        ({"layers": [wall(even(0)), wall(np.zeros((4, 5, 3)))]}, "layers"),
        ({"noise": -1}, "noise"),
        ({"noise": 1.0, "rng": None}, "rng"),
    ],
)
def test_invalid_arguments_of_render_stack_are_rejected(changes, setting):
    arguments = {"layers": [wall(even(0.5))], **OPTICS, "noise": 0.0} | changes
    layers = arguments.pop("layers")
    with pytest.raises(InputError) as caught:
        render_stack(layers, **arguments)
    assert caught.value.facts["setting"] == setting
