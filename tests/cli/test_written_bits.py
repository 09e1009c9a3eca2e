"""`panfocus fuse --bits`: the same picture, less or more deep."""

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image
from panfocus.job.write_outputs import convert_bits
from panfocus.stack import Stack


@pytest.fixture
def deep(folder, scene):
    """Frames of 16 bits whose lower bits say something too."""
    lower = np.random.default_rng(5).integers(0, 257, scene.shape)
    for name, frame in zip(("p.tif", "q.tif"), (scene * 256.0 + lower).clip(0, 65535), strict=True):
        write_image(folder / name, frame.astype(np.uint16))
    return folder


def test_16_bits_are_rounded_to_8_and_that_is_said(deep, run):
    assert run("fuse", "p.tif", "q.tif", "-o", "16.tif").code == 0
    ran = run("fuse", "p.tif", "q.tif", "-o", "8.png", "--bits", 8)
    assert ran.code == 0
    assert "Values are rounded to 8 bits; the frames are uint16." in ran.out
    whole, rounded = read_image("16.tif"), read_image("8.png")
    assert rounded.dtype == np.uint8
    # 65535 = 255 * 257: in whole numbers the nearest of value / 257, which is never in the middle of two.
    np.testing.assert_array_equal(rounded, (whole.astype(np.uint32) + 128) // 257)


def test_a_jpeg_of_16_bit_frames_is_written_if_8_bits_are_asked_for(deep, run):
    refused = run("fuse", "p.tif", "q.tif", "-o", "a.jpg")
    assert refused.code != 0
    assert "JPEG holds 8 bits" in refused.err
    assert run("fuse", "p.tif", "q.tif", "-o", "a.jpg", "--bits", 8).code == 0
    assert read_image("a.jpg").dtype == np.uint8


def test_8_bits_in_16_keep_every_value(folder, run):
    assert run("fuse", "a.png", "b.png", "-o", "8.png").code == 0
    ran = run("fuse", "a.png", "b.png", "-o", "16.png", "--bits", 16)
    assert ran.code == 0
    assert "rounded" not in ran.out
    np.testing.assert_array_equal(read_image("16.png"), read_image("8.png").astype(np.uint16) * 257)


def test_every_value_of_16_bits_is_rounded_right():
    values = np.arange(1 << 16, dtype=np.uint16).reshape(256, 256)
    rounded, _ = convert_bits(values, Stack(frames=values[None], names=("a",)), 8)
    np.testing.assert_array_equal(rounded, (values.astype(np.uint32) + 128) // 257)


def test_floats_are_clipped_aloud(folder, scene, run):
    for name, frame in zip(("f.tif", "g.tif"), scene, strict=True):
        write_image(folder / name, (frame / np.float32(200)).astype(np.float32))
    ran = run("fuse", "f.tif", "g.tif", "-o", "8.png", "--bits", 8)
    assert ran.code == 0
    assert "rounded to 8 bits, those outside of 0 to 1 clipped; the frames are float32" in ran.out
    assert read_image("8.png").max() == 255


def test_other_depths_are_refused(folder, run):
    ran = run("fuse", "a.png", "b.png", "-o", "c.png", "--bits", 12)
    assert ran.code == 2
    assert "--bits must be 8 or 16, got 12" in ran.err


def test_significant_bits_of_16_are_not_said_of_8(folder, scene, run):
    for name, frame in zip(("s.png", "t.png"), scene[..., 0].astype(np.uint16) * 16, strict=True):
        info = PngInfo()
        info.add(b"sBIT", b"\x0c")
        Image.fromarray(frame).save(folder / name, pnginfo=info)
    assert run("fuse", "s.png", "t.png", "-o", "16.png").code == 0
    assert run("fuse", "s.png", "t.png", "-o", "8.png", "--bits", 8).code == 0
    assert b"sBIT" in (folder / "16.png").read_bytes()
    assert b"sBIT" not in (folder / "8.png").read_bytes()
