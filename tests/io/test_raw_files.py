"""RAW files, on DNGs made here from a Bayer mosaic of a known scene."""

import os

import numpy as np
import pytest
import tifffile

from panfocus.io.headers import read_headers
from panfocus.io.input_files import find_inputs
from panfocus.io.read_stack import read_image, read_stack
from rejections import rejected

FROM_XYZ = (3.2406, -1.5372, -0.4986, -0.9689, 1.8758, 0.0415, 0.0557, -0.2040, 1.0570)  # to linear sRGB
BLACK, WHITE = 64, 4095
DAYLIGHT = (0.5, 1.0, 0.7)  # what the camera gives for grey


def ratios(numbers):
    return [part for number in numbers for part in (round(number * 10_000), 10_000)]


def write_dng(path, scene, *, neutral=DAYLIGHT, lit_by=DAYLIGHT, orientation=1):
    """Write what a camera with sRGB's own primaries would of a scene (h, w, 3) in linear light, 0 to 1."""
    mosaic = np.empty(scene.shape[:2], np.uint16)
    for channel, y, x in ((0, 0, 0), (1, 0, 1), (1, 1, 0), (2, 1, 1)):
        light = scene[y::2, x::2, channel] * lit_by[channel]
        mosaic[y::2, x::2] = np.rint(light * (WHITE - BLACK) + BLACK)
    tags = [
        *(
            (33421, 3, 2, (2, 2), True),
            (33422, 1, 4, bytes([0, 1, 1, 2]), True),
            (274, 3, 1, orientation, True),
        ),
        *((50706, 1, 4, bytes([1, 4, 0, 0]), True), (50708, 2, 0, "panfocus test", True)),
        *((50714, 3, 1, BLACK, True), (50717, 3, 1, WHITE, True), (50721, 10, 9, ratios(FROM_XYZ), True)),
        *((50728, 5, 3, ratios(neutral), True), (50778, 3, 1, 21, True), (271, 2, 0, "a maker", True)),
    ]
    tifffile.imwrite(path, mosaic, photometric=32803, extratags=tags, metadata=None)
    return path


def srgb(linear):
    """Return what IEC 61966-2-1 codes linear light as, in 16 bit."""
    linear = np.asarray(linear)
    return 65535 * np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


@pytest.fixture
def scene():
    """Four even greys: demosaicing changes nothing inside them."""
    levels = np.full((48, 64), 0.2)
    levels[:24] *= 2
    levels[:, :32] /= 4
    return np.repeat(levels[..., None], 3, axis=2)


def test_a_raw_file_is_developed_to_srgb(tmp_path, scene):
    pytest.importorskip("rawpy")
    image = read_image(write_dng(tmp_path / "a.dng", scene))
    assert (image.dtype, image.shape) == (np.uint16, (48, 64, 3))
    for y, x in ((10, 14), (10, 48), (38, 14), (38, 48)):
        np.testing.assert_allclose(image[y, x], srgb(scene[y, x]), rtol=0.01)


def test_all_frames_are_developed_alike(tmp_path, scene):
    """The second frame says another white balance, and is darker: neither is to change its development."""
    pytest.importorskip("rawpy")
    first = write_dng(tmp_path / "f1.dng", scene)
    other = write_dng(tmp_path / "f2.dng", scene / 2, neutral=(0.9, 1.0, 0.4))
    frames = read_stack([first, other]).frames
    np.testing.assert_allclose(frames[0][10, 48], srgb(0.4), rtol=0.01)
    np.testing.assert_allclose(frames[1][10, 48], srgb(0.2), rtol=0.01)


def test_raw_files_are_found_turned_upright_and_keep_exif(tmp_path, scene):
    pytest.importorskip("rawpy")
    for name in ("f10.DNG", "f9.dng"):
        write_dng(tmp_path / name, scene, orientation=6)
    paths = find_inputs([tmp_path])
    assert [path.name for path in paths] == ["f9.dng", "f10.DNG"]
    stack = read_stack(paths)
    assert stack.frames.shape == (2, 64, 48, 3)
    assert read_headers(paths)[0].frame.image.shape == (64, 48, 3)
    assert b"a maker" in stack.metadata.exif


def test_a_damaged_raw_file_is_rejected_by_name(tmp_path, scene, capfd):
    pytest.importorskip("rawpy")
    path = write_dng(tmp_path / "cut.dng", scene)
    data = path.read_bytes()
    for length in (0, 100, len(data) // 2, len(data) - 2000):
        path.write_bytes(data[:length])
        with rejected(path):
            read_image(path)
    assert capfd.readouterr().err == ""  # LibRaw's own line


def test_damage_that_libraw_only_prints_is_an_error(tmp_path, scene, monkeypatch):
    """As it does of packed values: no such file can be written here, so the library is stood in for."""
    rawpy = pytest.importorskip("rawpy")
    path = write_dng(tmp_path / "a.dng", scene)

    class Complaining(rawpy.RawPy):
        def unpack(self):
            os.write(2, f"{path}: corrupted\n".encode())
            super().unpack()

    def imread(name):
        raw = Complaining()
        raw.open_file(name)
        return raw

    monkeypatch.setattr(rawpy, "imread", imread)
    with rejected(path, problem="damaged"):
        read_image(path)


def test_missing_rawpy_names_the_extra(tmp_path, scene, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rawpy", None)
    path = write_dng(tmp_path / "a.dng", scene)
    with rejected(path, extra="raw"):
        read_headers([path])
