"""Colours of depth: equal steps, growing light, and a legend that leaves the map alone."""

import numpy as np
import pytest
from PIL import Image

from panfocus.io.depth import encode_depth_colours, png_with_texts
from panfocus.io.png import decode_png, encode_png
from panfocus.show.colormap import LIGHTNESS, coloured, ramp


def oklab_lightness(rgb):
    """Of sRGB in 8 bits, by the matrices that Ottosson gives for this direction."""
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


def test_equal_steps_of_the_ramp_are_equal_steps_of_lightness():
    """Rounded to 8 bits; the darkest colours have the coarsest steps."""
    lightness = oklab_lightness(ramp().astype(float))
    np.testing.assert_allclose(lightness, np.linspace(*LIGHTNESS, 256), atol=0.006)


def test_colours_are_told_apart():
    assert len(np.unique(ramp(), axis=0)) == 256
    np.testing.assert_array_equal(coloured(np.array([-1.0, 0, 1, 2])), ramp()[[0, 0, 255, 255]])


@pytest.mark.parametrize("shape", [(1, 1), (7, 30), (300, 200)])
def test_the_map_is_as_large_as_ever_and_the_legend_beside_it(shape):
    depth = np.linspace(0, 4, shape[0] * shape[1], dtype=np.float32).reshape(shape)
    image = decode_png(encode_depth_colours(depth, largest=4, step=2.5, unit="um")).image
    np.testing.assert_array_equal(image[:, : shape[1]], coloured(depth / np.float32(4)))
    assert image.shape[0] == shape[0]
    assert image.shape[1] > shape[1]


def test_texts_do_not_change_a_pixel(tmp_path, rng):
    pixels = rng.integers(0, 65536, (9, 11)).astype(np.uint16)
    (tmp_path / "a.png").write_bytes(png_with_texts(encode_png(pixels), {"One": "1", "Two": "b c"}))
    with Image.open(tmp_path / "a.png") as file:
        assert file.text == {"One": "1", "Two": "b c"}
    np.testing.assert_array_equal(decode_png((tmp_path / "a.png").read_bytes()).image, pixels)
