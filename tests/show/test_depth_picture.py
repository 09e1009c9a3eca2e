"""Colours of depth maps and their legend."""

import numpy as np
import pytest

from panfocus.show.colormap import LIGHTNESS, apply_colormap, colour_depth, ramp


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
