"""Damaged JPEGs are rejected; intact JPEGs decode to the same bits as with Pillow."""

import io
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from panfocus.errors import FileError
from panfocus.io.jpeg_webp import decode_jpeg
from panfocus.io.read_stack import read_image
from rejections import rejected

FORMS = [
    {"progressive": progressive, "subsampling": subsampling, **restarts}
    for progressive in (False, True)
    for subsampling in ("4:4:4", "4:2:0")
    for restarts in ({}, {"restart_marker_blocks": 4})
]
N_PLACES = 12  # in each file


@pytest.fixture(scope="module")
def picture():
    coarse = np.random.default_rng(4).integers(0, 256, (24, 30, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((121, 97), Image.Resampling.BICUBIC)


def encode(picture, **options):
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", **{"quality": 90, **options})
    return buffer.getvalue()


def damage(data):
    """Yield the kind of damage and the damaged file."""
    rng = np.random.default_rng(7)
    start = data.index(b"\xff\xda") + 14  # the scan follows its header
    for place in np.linspace(start, len(data) - 16, N_PLACES).astype(int):
        before, after = data[:place], data[place:]
        yield "truncated", before
        yield "truncated, end marker added", before + b"\xff\xd9"
        yield "flipped bit", before + bytes([after[0] ^ 1 << rng.integers(8)]) + after[1:]
        yield "removed byte", before + after[1:]
        yield "repeated byte", before + after[:1] + after
        yield "zeros", before + bytes(12) + after[12:]
        yield "removed 100 bytes", before + after[min(100, len(after) - 2) :]


def is_rejected(data):
    try:
        decode_jpeg(data)
    except (FileError, OSError):
        return True
    return False


def test_damaged_jpegs_are_rejected(picture):
    """A JPEG has no checksum: every truncation is found, and a known share of other damage."""
    found, total = Counter(), Counter()
    for options in FORMS:
        for kind, data in damage(encode(picture, **options)):
            total[kind] += 1
            found[kind] += is_rejected(data)
    assert set(total.values()) == {len(FORMS) * N_PLACES}
    for kind in ("truncated", "truncated, end marker added"):
        assert found[kind] == total[kind]
    assert found["removed 100 bytes"] > 0.7 * total["removed 100 bytes"]
    assert found["zeros"] > 0.4 * total["zeros"]
    assert sum(found.values()) > 0.55 * sum(total.values())


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("size", [(121, 97), (8, 8), (1, 1), (17, 33)])
def test_intact_jpegs_decode_as_with_pillow(picture, mode, size):
    image = picture.resize(size).convert(mode)
    for options in (
        *FORMS,
        {"optimize": True},
        {"quality": 100},
        {"subsampling": "4:1:1"},
        {"keep_rgb": True},
    ):
        if mode == "L" and "keep_rgb" in options:
            continue
        data = encode(image, **options)
        with Image.open(io.BytesIO(data)) as expected:
            np.testing.assert_array_equal(decode_jpeg(data).image, np.asarray(expected))


def test_padding_before_a_marker_is_accepted(picture):
    data = encode(picture)
    scan = data.index(b"\xff\xda")
    padded = data[:scan] + bytes(2) + data[scan:]
    np.testing.assert_array_equal(decode_jpeg(padded).image, decode_jpeg(data).image)


def test_photographs_decode_as_with_pillow(data_dir):
    paths = sorted(data_dir.rglob("*.jpg"))[::25]
    assert len(paths) > 8
    for path in paths:
        data = path.read_bytes()
        with Image.open(io.BytesIO(data)) as expected:
            np.testing.assert_array_equal(decode_jpeg(data).image, np.asarray(expected))


def test_error_names_the_damaged_file(picture, tmp_path):
    data = encode(picture)
    path = tmp_path / "damaged.jpg"
    path.write_bytes(data[: len(data) // 2] + b"\xff\xd9")
    with rejected(path, problem="damaged"):
        read_image(path)
