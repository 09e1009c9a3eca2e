import numpy as np
import pytest

from panfocus._downscale import reduced, reduced_size, reduction


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("shape", [(12, 15), (13, 17, 3), (3, 40)])
def test_pixel_is_the_mean_of_its_block(rng, dtype, shape):
    """Block by block, in doubles; a mean that ends in .5 is rounded up."""
    image = (rng.random(shape) * (1 if dtype is np.float32 else np.iinfo(dtype).max)).astype(dtype)
    small = reduced(image, 4)
    assert (small.shape, small.dtype) == (reduced_size(shape, 4), image.dtype)
    for y, x in np.ndindex(*small.shape[:2]):
        mean = image[4 * y : 4 * y + 4, 4 * x : 4 * x + 4].mean(axis=(0, 1), dtype=np.float64)
        expected = mean if dtype is np.float32 else np.floor(mean + 0.5)
        np.testing.assert_allclose(small[y, x], expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("shape", "largest", "factor"),
    [((500, 900), 1000, 1), ((1000, 1000), 1000, 1), ((10, 1001, 3), 1000, 2), ((4001, 10), 1000, 5)],
)
def test_larger_side_determines_the_factor(shape, largest, factor):
    assert reduction(shape, largest) == factor
    assert max(reduced_size(shape, factor)[:2]) <= largest


def test_factor_1_changes_nothing(rng):
    image = rng.random((4, 5))
    assert reduced(image, 1) is image
