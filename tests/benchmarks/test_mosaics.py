import numpy as np
import pytest
from benchmarks.mosaics import STRIP_HEIGHT, cut, lay, layout
from PIL import Image

from benchmarks import mosaics


def numbered(height, width):
    """Return an image whose channels encode the pixel number."""
    numbers = np.arange(height * width).reshape(height, width)
    return np.stack([numbers >> 16, numbers >> 8, numbers], axis=-1).astype(np.uint8)


def numbers_of(picture):
    parts = picture.astype(np.int64)
    return parts[..., 0] * 65536 + parts[..., 1] * 256 + parts[..., 2]


@pytest.fixture(scope="module")
def pair(data_dir):
    return mosaics.pair(1)


def test_strips_do_not_overlap():
    height, width = 2 * STRIP_HEIGHT + 30, 2300
    times_used = np.zeros((height, width), int)
    for place in cut(height, width):
        times_used[place] += 1
    assert (times_used[: 2 * STRIP_HEIGHT] == 1).all()
    assert not times_used[2 * STRIP_HEIGHT :].any()


def test_strips_fill_rows_without_repetition():
    scene = numbered(6, 50)
    strips = [np.stack([scene[:, a:b]] * 2) for a, b in ((0, 7), (7, 30), (30, 50))]
    first, second = lay(iter(strips), rows=4, width=10)
    np.testing.assert_array_equal(first, second)
    expected = np.concatenate([scene[:, 10 * row : 10 * row + 10] for row in range(4)])
    np.testing.assert_array_equal(first, expected)
    assert len(np.unique(numbers_of(first))) == first.shape[0] * first.shape[1]


def test_too_few_scenes_are_an_error():
    with pytest.raises(ValueError, match="3 of 20 columns"):
        lay(iter([np.zeros((2, 6, 17, 3), np.uint8)]), rows=2, width=10)


@pytest.mark.parametrize("megapixels", [0.01, 1, 4, 12, 24, 48])
def test_a_mosaic_has_the_requested_size(megapixels):
    rows, width = layout(megapixels)
    assert rows * STRIP_HEIGHT * width == pytest.approx(megapixels * 1e6, rel=0.02)


def test_a_mosaic_of_real_pairs_repeats_nothing(pair):
    assert pair.shape == (2, 840, 1190, 3)
    # Compares a block at every column of a line through each row of strips. Only flat blocks may be equal.
    for frame in pair:
        blocks = [
            frame[y : y + 20, x : x + 20]
            for y in range(200, len(frame), STRIP_HEIGHT)
            for x in range(frame.shape[1] - 19)
        ]
        seen = [block.tobytes() for block in blocks if block.std(axis=(0, 1)).max() > 2]
        assert len(seen) > 0.8 * len(blocks)
        assert len(set(seen)) == len(seen)


def test_both_frames_of_a_pair_match(pair):
    first, second = pair.astype(float)
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] > 0.9
    assert (first != second).any()


def test_sharp_images_cover_24_megapixels(data_dir, monkeypatch):
    def read_size(frames):
        with Image.open(frames[0]) as image:
            return np.zeros((1, image.height, image.width, 3), np.uint8)

    monkeypatch.setattr(mosaics, "_read", read_size)  # sizes are enough here
    picture = mosaics.sharp(24)
    assert picture.shape[0] * picture.shape[1] == pytest.approx(24e6, rel=1e-3)
