"""`panfocus fuse --bits`: bit depth of the fused image."""

import numpy as np
import pytest
from cli_errors import assert_error_line
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image
from panfocus.job.write_outputs import convert_bits
from panfocus.stack import Stack


@pytest.fixture
def deep(folder, scene):
    """16-bit frames that use the lower bits too."""
    lower = np.random.default_rng(5).integers(0, 257, scene.shape)
    for name, frame in zip(("p.tif", "q.tif"), (scene * 256.0 + lower).clip(0, 65535), strict=True):
        write_image(folder / name, frame.astype(np.uint16))
    return folder


def test_16_bits_are_rounded_to_8(deep, run):
    assert run("fuse", "p.tif", "q.tif", "-o", "16.tif").code == 0
    ran = run("fuse", "p.tif", "q.tif", "-o", "8.png", "--bits", 8)
    assert ran.code == 0
    assert any("8 bits" in line and "uint16" in line for line in ran.out.splitlines())
    whole, rounded = read_image("16.tif"), read_image("8.png")
    assert rounded.dtype == np.uint8
    # 65535 = 255 * 257: value / 257 rounded to the nearest integer; a tie is impossible.
    np.testing.assert_array_equal(rounded, (whole.astype(np.uint32) + 128) // 257)


def test_jpeg_of_16_bit_frames_needs_bits_8(deep, run):
    refused = run("fuse", "p.tif", "q.tif", "-o", "a.jpg")
    assert refused.code == 1
    assert_error_line(refused.err, "a.jpg", "8")
    assert run("fuse", "p.tif", "q.tif", "-o", "a.jpg", "--bits", 8).code == 0
    assert read_image("a.jpg").dtype == np.uint8


def test_8_bit_values_are_exact_in_16_bits(folder, run):
    assert run("fuse", "a.png", "b.png", "-o", "8.png").code == 0
    ran = run("fuse", "a.png", "b.png", "-o", "16.png", "--bits", 16)
    assert ran.code == 0
    np.testing.assert_array_equal(read_image("16.png"), read_image("8.png").astype(np.uint16) * 257)


def test_every_16_bit_value_is_rounded_correctly():
    values = np.arange(1 << 16, dtype=np.uint16).reshape(256, 256)
    rounded, _ = convert_bits(values, Stack(frames=values[None], names=("a",)), 8)
    np.testing.assert_array_equal(rounded, (values.astype(np.uint32) + 128) // 257)


def test_floats_are_clipped_with_a_notice(folder, scene, run):
    for name, frame in zip(("f.tif", "g.tif"), scene, strict=True):
        write_image(folder / name, (frame / np.float32(200)).astype(np.float32))
    ran = run("fuse", "f.tif", "g.tif", "-o", "8.png", "--bits", 8)
    assert ran.code == 0
    assert any("8 bits" in line and "float32" in line for line in ran.out.splitlines())
    assert read_image("8.png").max() == 255


def test_significant_bits_of_16_are_not_written_with_8(folder, scene, run):
    for name, frame in zip(("s.png", "t.png"), scene[..., 0].astype(np.uint16) * 16, strict=True):
        info = PngInfo()
        info.add(b"sBIT", b"\x0c")
        Image.fromarray(frame).save(folder / name, pnginfo=info)
    assert run("fuse", "s.png", "t.png", "-o", "16.png").code == 0
    assert run("fuse", "s.png", "t.png", "-o", "8.png", "--bits", 8).code == 0
    assert b"sBIT" in (folder / "16.png").read_bytes()
    assert b"sBIT" not in (folder / "8.png").read_bytes()
