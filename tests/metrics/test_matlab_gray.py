import numpy as np
import pytest

from panfocus.errors import InputError
from panfocus.metrics import matlab_gray


def test_weights_come_from_the_inverse_ntsc_matrix():
    ntsc = np.array([[1, 0.956, 0.621], [1, -0.272, -0.647], [1, -1.106, 1.703]])
    unit = np.eye(3).reshape(1, 3, 3)
    np.testing.assert_allclose(matlab_gray(unit)[0], np.linalg.inv(ntsc)[0], atol=1e-14)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_integers_are_rounded_to_their_type(rng, dtype):
    image = rng.integers(0, np.iinfo(dtype).max, (13, 17, 3), endpoint=True).astype(dtype)
    gray = matlab_gray(image)
    assert gray.dtype == dtype
    assert np.abs(gray - matlab_gray(image.astype(float))).max() <= 0.5


def test_white_stays_white():
    assert matlab_gray(np.full((1, 1, 3), 255, np.uint8)) == 255
    assert matlab_gray(np.full((1, 1, 3), 65535, np.uint16)) == 65535


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_grey_is_unchanged_and_alpha_is_ignored(rng, dtype):
    colour = (rng.random((5, 7, 4)) * 200).astype(dtype)
    np.testing.assert_array_equal(matlab_gray(colour[..., 0]), colour[..., 0])
    np.testing.assert_array_equal(matlab_gray(colour[..., :2]), colour[..., 0])
    np.testing.assert_array_equal(matlab_gray(colour), matlab_gray(colour[..., :3]))
    assert matlab_gray(colour).dtype == dtype


@pytest.mark.parametrize(
    ("image", "got"), [(np.zeros((5, 7, 5), np.uint8), (5, 7, 5)), (np.zeros((5, 7), np.int64), "int64")]
)
def test_other_shapes_and_types_are_rejected(image, got):
    with pytest.raises(InputError) as caught:
        matlab_gray(image)
    assert caught.value.facts["got"] == got
