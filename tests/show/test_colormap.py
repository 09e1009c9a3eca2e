"""Pictures of images and maps; expected values are calculated by hand."""

import numpy as np
import pytest

from panfocus.show.colormap import (
    LIGHTNESS,
    apply_colormap,
    colour_depth,
    label_colours,
    make_thumbnail,
    picture,
    ramp,
    ramp_shades,
    to_bytes,
    white_of,
)


def test_8_bit_images_are_unchanged(rng):
    image = rng.integers(0, 100, (5, 4, 3)).astype(np.uint8)
    assert white_of(image) == 255
    np.testing.assert_array_equal(picture(image, 255), image)


def test_12_bits_in_16_are_brightened():
    """The 0.999 quantile of 0..4095, each once, is 0.999 * 4095; 2048 is then 128 of 255."""
    image = np.arange(4096, dtype=np.uint16).reshape(64, 64)
    white = white_of(image)
    assert white == pytest.approx(0.999 * 4095)
    shown = picture(image, white)
    assert shown[0, 0] == 0 and shown[-1, -1] == 255 and shown[32, 0] == 128


def test_alpha_is_ignored():
    image = np.zeros((10, 10, 4), np.uint16)
    image[..., :3], image[..., 3] = 1000, 65535
    assert white_of(image) == 1000
    assert picture(image, 1000).shape == (10, 10, 3)
    assert (picture(image, 1000) == 255).all()
    assert picture(image[..., 2:], 1000).shape == (10, 10)  # grey with alpha


@pytest.mark.parametrize(
    ("shape", "shown"),
    [((4, 5), (4, 5)), ((4, 5, 1), (4, 5)), ((4, 5, 5), (4, 5, 3)), ((4, 5, 3), (4, 5, 3))],
)
def test_any_number_of_channels_gives_grey_or_colour(shape, shown):
    assert picture(np.zeros(shape, np.uint8), 255).shape == shown


def test_floats_are_brightened_and_clipped():
    image = np.array([[-1.0, 0.0], [0.5, 9.0]], np.float32)
    np.testing.assert_array_equal(picture(image, 1.0), [[0, 0], [128, 255]])  # 127.5, to the even one


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_black_image_stays_black(dtype):
    image = np.zeros((4, 4), dtype)
    assert white_of(image) > 0
    assert not picture(image, white_of(image)).any()


def test_labels_and_depth_share_the_colour_map():
    """9 of 10 frames are 8/9 of the way: 226.67 of 255."""
    np.testing.assert_array_equal(label_colours(np.array([[0, 8, 9]]), 10), [ramp()[[0, 227, 255]]])
    depth = np.array([[0.0, 8.0, 9.0, 9.5, -1.0, np.nan]], np.float32)
    np.testing.assert_array_equal(ramp_shades(depth, 10), [[0, 227, 255, 255, 0, 0]])
    assert ramp_shades(np.zeros((1, 1), int), 1) == 0  # one frame: nothing is divided by 0


def test_unit_values_are_clipped_to_bytes():
    np.testing.assert_array_equal(to_bytes(np.array([[0, 0.2, 1, 2, np.nan]])), [[0, 51, 255, 255, 0]])


def oklab_lightness(rgb):
    """Return the lightness of 8-bit sRGB colours, by Ottosson's matrices."""
    unit = rgb / 255
    linear = np.where(unit <= 0.04045, unit / 12.92, ((unit + 0.055) / 1.055) ** 2.4)
    to_cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    return np.cbrt(linear @ to_cones.T) @ [0.2104542553, 0.7936177850, -0.0040720468]


def test_lightness_grows_in_equal_steps():
    lightness = oklab_lightness(ramp().astype(float))
    np.testing.assert_allclose(lightness, np.linspace(*LIGHTNESS, 256), atol=0.006)


def test_colours_are_distinct():
    assert len(np.unique(ramp(), axis=0)) == 256
    np.testing.assert_array_equal(apply_colormap(np.array([-1.0, 0, 1, 2])), ramp()[[0, 0, 255, 255]])


@pytest.mark.parametrize("shape", [(1, 1), (7, 30), (300, 200)])
def test_legend_is_added_on_the_right(shape):
    depth = np.linspace(0, 4, shape[0] * shape[1], dtype=np.float32).reshape(shape)
    image = colour_depth(depth, largest=4, step=2.5, unit="um")
    np.testing.assert_array_equal(image[:, : shape[1]], apply_colormap(depth / np.float32(4)))
    assert image.shape[0] == shape[0]
    assert image.shape[1] > shape[1]


def test_alpha_does_not_darken_a_thumbnail(rng):
    image = rng.integers(0, 1000, (13, 17, 4), dtype=np.uint16)
    image[..., 3] = 65535
    np.testing.assert_array_equal(make_thumbnail(image, 100), make_thumbnail(image[..., :3], 100))
