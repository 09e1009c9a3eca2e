import numpy as np
import pytest

from panfocus.decide.gray import to_gray
from panfocus.errors import InputError
from panfocus.stack import colours

SHAPE = (13, 17)


@pytest.mark.parametrize(
    ("dtype", "white"), [(np.uint8, 255), (np.uint16, 65535), (np.float32, 1), (np.float64, 1)]
)
def test_grey_frames_are_scaled_to_unit_range(rng, dtype, white):
    frame = (white * rng.random(SHAPE)).astype(dtype)
    grey = to_gray(frame)
    assert grey.dtype == (np.float64 if dtype == np.float64 else np.float32)
    np.testing.assert_allclose(grey, frame.astype(np.float64) / white, rtol=1e-7)


def test_white_is_one_and_black_is_zero():
    for dtype, white in ((np.uint8, 255), (np.uint16, 65535)):
        np.testing.assert_array_equal(to_gray(np.array([[0, white]], dtype)), [[0, 1]])


def test_luma_equals_that_of_pillow(rng):
    from PIL import Image

    frame = rng.integers(0, 256, (*SHAPE, 3), np.uint8)
    luma = np.asarray(Image.fromarray(frame).convert("L"))  # rounded to a level
    np.testing.assert_allclose(255 * to_gray(frame), luma, atol=0.51)


def test_equal_channels_give_their_value(rng):
    grey = rng.random(SHAPE)
    np.testing.assert_allclose(to_gray(np.stack([grey] * 3, axis=2)), grey, rtol=1e-15)


@pytest.mark.parametrize("channels", [1, 3])
def test_alpha_is_ignored(rng, channels):
    frame = rng.random((*SHAPE, channels))
    with_alpha = np.concatenate([frame, rng.random((*SHAPE, 1))], axis=2)
    np.testing.assert_array_equal(to_gray(with_alpha), to_gray(frame))


def test_other_numbers_of_channels_are_averaged(rng):
    frame = rng.random((*SHAPE, 6))
    np.testing.assert_allclose(to_gray(frame), frame.sum(axis=2) / 6, rtol=1e-14)


def test_8_and_16_bit_versions_of_an_image_agree(rng):
    frame = rng.integers(0, 256, (*SHAPE, 3), np.uint8)
    np.testing.assert_array_equal(to_gray(frame), to_gray(frame.astype(np.uint16) * 257))


@pytest.mark.parametrize("channels", [None, 3, 6])
def test_rows_are_converted_independently(rng, channels):
    frame = rng.random(SHAPE if channels is None else (*SHAPE, channels)).astype(np.float32)
    np.testing.assert_array_equal(to_gray(frame[3:9]), to_gray(frame)[3:9])


def test_unsupported_type_is_rejected():
    with pytest.raises(InputError) as caught:
        to_gray(np.zeros(SHAPE, np.int32))
    assert caught.value.facts == {"got": "int32"}


@pytest.mark.parametrize(("channels", "n_colours"), [(None, 1), (1, 1), (2, 1), (3, 3), (4, 3), (5, 5)])
def test_colours_are_the_channels_without_alpha(rng, channels, n_colours):
    frame = rng.random(SHAPE if channels is None else (*SHAPE, channels))
    assert colours(frame).shape == (*SHAPE, n_colours)
    np.testing.assert_array_equal(colours(frame), frame.reshape(*SHAPE, -1)[..., :n_colours])
