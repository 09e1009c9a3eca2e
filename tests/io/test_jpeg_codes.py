"""JPEGs that are damaged inside. The oracle is libjpeg's warnings, which OpenCV prints."""

import io

import cv2
import numpy as np
import pytest
from PIL import Image

from panfocus.errors import FileError
from panfocus.io.jpeg_scan import check_codes
from panfocus.io.jpeg_webp import decode_jpeg


@pytest.fixture(scope="module")
def picture():
    coarse = np.random.default_rng(4).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((161, 119), Image.Resampling.BICUBIC)


def encoded(picture, **options):
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", **options)
    return buffer.getvalue()


def refused(data):
    try:
        check_codes(bytes(data))
    except FileError:
        return True
    return False


@pytest.mark.parametrize("size", [(161, 119), (8, 8), (1, 1), (17, 33)])
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_whole_files_pass_however_they_are_coded(picture, mode, size):
    picture = picture.resize(size).convert(mode)
    for quality in (20, 95, 100):
        for subsampling in (0, 1, 2):
            for more in ({}, {"optimize": True}, {"restart_marker_rows": 1}, {"progressive": True}):
                check_codes(encoded(picture, quality=quality, subsampling=subsampling, **more))


def test_whole_files_of_many_programs_pass(data_dir):
    paths = sorted(data_dir.rglob("*.jpg"))[::5]
    assert len(paths) > 20
    for path in paths:
        check_codes(path.read_bytes())


@pytest.mark.parametrize("options", [{"quality": 95}, {"quality": 85, "restart_marker_rows": 2}])
def test_what_libjpeg_warns_of_is_refused(picture, capfd, options):
    whole = encoded(picture, **options)
    rng = np.random.default_rng(3)
    start = whole.index(b"\xff\xda") + 20
    warned_of = 0
    for i in range(90):
        data = bytearray(whole)
        place = int(rng.integers(start, len(data) - 60))
        match i % 3:
            case 0:
                data[place] ^= int(rng.integers(1, 256))
            case 1:
                data[place : place + 40] = rng.integers(0, 255, 40, dtype=np.uint8).tobytes()
            case 2:
                del data[place : place + 37]
        decoded = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        if decoded is None or capfd.readouterr().err:
            warned_of += 1
            assert refused(data), (i, place)
    assert warned_of > 30


def test_a_lost_stretch_is_named(picture):
    data = encoded(picture, quality=95)
    middle = len(data) // 2
    with pytest.raises(FileError, match="coded pixels"):
        decode_jpeg(data[:middle] + data[middle + 2000 :])
