import io

import numpy as np
import pytest
from PIL import Image

from panfocus.compare import pictures
from panfocus.compare.pictures import encode_error_map, encode_label_map, encode_photo, label_colours, ramp


def pixels(picture):
    image = Image.open(io.BytesIO(picture.webp))
    assert image.format == "WEBP"
    assert image.size == (picture.width, picture.height)
    return np.asarray(image.convert("RGB"))


def rgb(colour):
    return tuple(bytes.fromhex(colour[1:]))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("channels", [(), (1,), (2,), (3,), (4,)])
def test_images_are_shown_in_8_bit_without_alpha(dtype, channels):
    white = 1.0 if dtype == np.float32 else np.iinfo(dtype).max
    image = np.full((16, 24, *channels), white / 2).astype(dtype)
    if channels in ((2,), (4,)):
        image[..., -1] = 0
    np.testing.assert_allclose(pixels(encode_photo(image)), 127, atol=2)


def test_data_range_sets_white_of_images(rng):
    image = rng.integers(0, 256, (9, 7), np.uint8)
    packed = image.astype(np.uint16) * 16
    assert encode_photo(packed, 4080).webp == encode_photo(image).webp
    assert encode_error_map(packed, 0 * packed, 4080).webp == encode_error_map(image, 0 * image).webp


def test_labels_have_the_colours_of_the_legend():
    labels = np.arange(12).reshape(3, 4) % 3
    colours = label_colours(3)
    shown = pixels(encode_label_map(labels, 3))
    assert [[tuple(pixel) for pixel in row] for row in shown.tolist()] == [
        [rgb(colours[label]) for label in row] for row in labels
    ]


def test_long_stacks_have_distinct_colours():
    for n in (2, 8, 9, 40):
        assert len(set(label_colours(n))) == n


def test_errors_use_the_whole_ramp_and_are_clipped():
    reference = np.zeros((1, 4), np.uint8)
    image = np.array([[0, 8, 16, 200]], np.uint8)
    shown = pixels(encode_error_map(image, reference))[0]
    colours = [rgb(colour) for colour in ramp(256)]
    assert [tuple(pixel) for pixel in shown.tolist()] == [
        colours[0],
        colours[128],
        colours[255],
        colours[255],
    ]


def test_error_maps_are_equal_in_8_and_16_bit(rng):
    image, reference = rng.integers(0, 256, (2, 9, 7, 3), np.uint8)
    deep = encode_error_map(image.astype(np.uint16) * 257, reference.astype(np.uint16) * 257)
    assert (
        np.abs(pixels(deep).astype(int) - pixels(encode_error_map(image, reference))).max() <= 40
    )  # grey is rounded


def test_large_images_are_reduced(monkeypatch):
    monkeypatch.setattr(pictures, "MAX_SIDE", 10)
    blocks = np.arange(35).reshape(5, 7)
    labels = np.kron(blocks % 2, np.ones((3, 3), int))
    image = np.kron(blocks * 7, np.ones((3, 3), int)).astype(np.uint8)
    shown = [encode_photo(image), encode_label_map(labels, 2), encode_error_map(image, image)]
    assert {(picture.width, picture.height) for picture in shown} == {(7, 5)}
    np.testing.assert_allclose(pixels(shown[0])[..., 0], blocks * 7, atol=12)
