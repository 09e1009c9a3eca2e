"""Metadata that is damaged, too long, or not supported by the output format."""

import io
import struct
import zlib
from fractions import Fraction

import numpy as np
import pytest
import tifffile
from PIL import Image

from panfocus.io._tiff_ifd import Value, integer_value, text_value
from panfocus.io.encode import describe_losses, write_image
from panfocus.io.exif import Exif, parse_exif
from panfocus.io.headers import read_headers, read_metadata
from panfocus.io.metadata import collect_metadata, scale_metadata, update_xmp, xmp_orientation
from panfocus.io.read_stack import read_image, read_stack
from panfocus.stack import Metadata, Stack
from rejections import rejected

COLOUR = np.arange(13 * 17 * 3, dtype=np.uint16).reshape(13, 17, 3).astype(np.uint8)
MAKE, NOTE, CAMERA, ORIENTATION = 0x010F, 0x927C, 0x8769, 0x0112


def stack_with(**metadata):
    return Stack(np.stack([COLOUR, COLOUR]), ("a", "b"), metadata=Metadata(**metadata))


def exif_with(main=(), camera=(), order="<"):
    return Exif(order, {MAKE: text_value("a maker"), **dict(main)}, {CAMERA: dict(camera)} if camera else {})


def written(tmp_path, name, stack, image=COLOUR):
    write_image(tmp_path / name, image, like=stack)
    return read_metadata(read_headers([tmp_path / name])[0])


@pytest.mark.parametrize("order", ["<", ">"])
def test_metadata_survives_writing_and_reading(order):
    camera = {0x829A: Value(5, 1, struct.pack(order + "II", 1, 250)), 0x9286: Value(7, 3, b"abc")}
    exif = parse_exif(exif_with({0x0132: text_value("2026:01:02 03:04:05")}, camera, order).to_bytes())
    assert exif.complete
    assert exif.main[MAKE].text() == "a maker"
    assert exif.parts[CAMERA][0x829A].ratio(order) == (1, 250)
    assert exif.parts[CAMERA][0x9286].data == b"abc"
    assert (exif.taken.year, exif.taken.second) == (2026, 5)
    pillow = Image.Exif()  # an independent reader
    pillow.load(exif.to_bytes())
    assert pillow[MAKE] == "a maker"
    assert pillow.get_ifd(CAMERA)[0x829A] == 1 / 250


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp"])
@pytest.mark.parametrize("damage", ["cut", "offset", "nonsense"])
def test_damaged_exif_does_not_keep_a_picture_from_being_read(tmp_path, suffix, damage, message):
    data = exif_with({0x013B: text_value("x" * 20)}).to_bytes()
    data = {
        "cut": data[:-40],
        "offset": data[:4] + struct.pack("<I", 1 << 30) + data[8:],
        "nonsense": b"no EXIF at all",
    }[damage]
    path = tmp_path / f"a{suffix}"
    Image.fromarray(COLOUR).save(path, exif=b"Exif\0\0" + data)
    stack = read_stack([path, path])
    assert stack.frames[0].shape == COLOUR.shape
    message("metadata-damaged-exif", describe_losses(tmp_path / "b.jpg", stack)[0])


def test_exif_that_is_too_long_for_a_jpeg_loses_the_makers_notes_first(tmp_path, message):
    note = {NOTE: Value(7, 70_000, bytes(70_000))}
    stack = stack_with(exif=exif_with(camera=note).to_bytes())
    found = parse_exif(written(tmp_path, "a.jpg", stack).exif)
    assert found.main[MAKE].text() == "a maker"
    assert not found.has_maker_note
    assert "maker's notes" in describe_losses(tmp_path / "a.jpg", stack)[0]
    assert parse_exif(written(tmp_path, "a.tif", stack).exif).has_maker_note
    assert describe_losses(tmp_path / "a.tif", stack) == []
    stack = stack_with(exif=exif_with({0x010E: text_value("x" * 70_000)}).to_bytes(), xmp=b"x" * 70_000)
    found = written(tmp_path, "b.jpg", stack)
    assert (found.exif, found.xmp) == (None, None)
    message("metadata-too-long-for-jpeg", describe_losses(tmp_path / "b.jpg", stack)[0])


@pytest.mark.parametrize("suffix", [".tif", ".jpg", ".png", ".webp"])
def test_a_reduced_image_has_a_reduced_resolution(tmp_path, suffix):
    inches, sideways = integer_value("<", 2, kind=3), integer_value("<", 6, kind=3)
    dots = {tag: Value(5, 1, struct.pack("<II", n, 1)) for tag, n in ((0x011A, 300), (0x011B, 200))}
    exif = exif_with({**dots, 0x0128: inches, ORIENTATION: sideways})
    metadata, *_ = collect_metadata(exif.to_bytes(), None)
    stack = stack_with(**vars(scale_metadata(metadata, 4)))
    found = written(tmp_path, f"a{suffix}", stack)
    main = parse_exif(found.exif).main
    assert [Fraction(*main[tag].ratio("<")) for tag in (0x011A, 0x011B)] == [50, 75]
    assert main[0x0128].number("<") == 2
    per_inch = Fraction(254, 100) if found.resolution.unit == 3 else 1
    assert [float(n * per_inch) for n in (found.resolution.x, found.resolution.y)] == pytest.approx(
        [50, 75], abs=0.02
    )  # PNG counts whole pixels per metre


def test_maker_note_far_inside_a_tiff_is_reported_as_lost(tmp_path):
    """They point to places of their file; so far behind its beginning they cannot stay where they were."""
    path = tmp_path / "a.tif"
    pixels = np.zeros((1200, 1000), np.uint8)
    tifffile.imwrite(path, pixels, extratags=[(65_000, 4, 1, 1, True)], metadata=None)
    data = bytearray(path.read_bytes())
    with tifffile.TiffFile(path) as tiff:
        tag = tiff.pages[0].tags[65_000]
    note_at = len(data)
    camera_at = note_at + 100
    struct.pack_into("<HHII", data, tag.offset, CAMERA, 4, 1, camera_at)  # which tifffile does not write
    data += bytes(100) + struct.pack("<HHHIII", 1, NOTE, 7, 100, note_at, 0)
    path.write_bytes(data)
    stack = read_stack([path, path])
    assert "maker's notes" in describe_losses(tmp_path / "b.tif", stack)[0]


def test_unknown_tag_is_reported_as_lost(tmp_path):
    tifffile.imwrite(
        tmp_path / "a.tif", COLOUR, photometric="rgb", extratags=[(65_001, 3, 1, 7, True)], metadata=None
    )
    stack = read_stack([tmp_path / "a.tif"] * 2)
    assert "0xfde9" in describe_losses(tmp_path / "b.tif", stack)[0]


def test_description_of_the_file_layout_is_not_copied(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((2, 13, 17), np.uint8), photometric="minisblack")
    stack = read_stack([tmp_path / "a.tif"])
    write_image(tmp_path / "b.tif", stack.frames[0], like=stack)
    with tifffile.TiffFile(tmp_path / "b.tif") as tiff:
        assert tiff.pages[0].description == ""


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png_with(*chunks, image=COLOUR):
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    data = buffer.getvalue()
    return data[:33] + b"".join(chunks) + data[33:]


def test_colour_and_significant_bits_of_png_stay_in_png(tmp_path):
    """Twelve of sixteen bits: the values stay, and so does what they mean."""
    deep = np.arange(13 * 17, dtype=np.uint16).reshape(13, 17) * 16
    path = tmp_path / "a.png"
    path.write_bytes(
        png_with(chunk(b"gAMA", struct.pack(">I", 100_000)), chunk(b"sBIT", b"\x0c"), image=deep)
    )
    stack = read_stack([path, path])
    write_image(tmp_path / "b.png", stack.frames[0], like=stack)
    data = (tmp_path / "b.png").read_bytes()
    assert chunk(b"sBIT", b"\x0c") in data
    assert chunk(b"gAMA", struct.pack(">I", 100_000)) in data
    np.testing.assert_array_equal(read_image(tmp_path / "b.png"), deep)
    assert describe_losses(tmp_path / "b.png", stack) == []
    (lost,) = describe_losses(tmp_path / "b.tif", stack)
    assert "gAMA" in lost and "sBIT" in lost


def test_a_chunk_whose_check_sum_is_wrong_is_rejected(tmp_path):
    broken = bytearray(chunk(b"eXIf", exif_with().to_bytes()))
    broken[12] ^= 1
    path = tmp_path / "a.png"
    path.write_bytes(png_with(bytes(broken)))
    with rejected(path, problem="checksum"):
        read_image(path)


def test_packed_xmp_is_unpacked_and_endless_xmp_is_left_behind(tmp_path):
    key = b"XML:com.adobe.xmp\0\1\0\0\0"
    path = tmp_path / "a.png"
    path.write_bytes(png_with(chunk(b"iTXt", key + zlib.compress(b"<x:xmpmeta/>")), chunk(b"tEXt", b"a\0b")))
    stack = read_stack([path, path])
    assert stack.metadata.xmp == b"<x:xmpmeta/>"
    assert "texts" in describe_losses(tmp_path / "b.png", stack)[0]
    path.write_bytes(png_with(chunk(b"iTXt", key + zlib.compress(bytes(1 << 25)))))
    stack = read_stack([path, path])
    assert stack.metadata.xmp is None
    assert "4 MB" in describe_losses(tmp_path / "b.png", stack)[0]


@pytest.mark.parametrize(
    "form",
    [
        b'<rdf:Description tiff:Orientation="6" exif:PixelXDimension="90" dc:title="tiff:Orientation"/>',
        b"<rdf:Description><tiff:Orientation>6</tiff:Orientation>"
        b"<exif:PixelXDimension>90</exif:PixelXDimension></rdf:Description>",
    ],
    ids=["attributes", "elements"],
)
def test_xmp_is_edited_as_attribute_and_as_element(form):
    assert xmp_orientation(form) == 6
    edited = update_xmp(form, 12, 34, software="panfocus", media="image/png")
    assert edited == form.replace(b"6<", b"1<").replace(b'"6"', b'"1"').replace(b"90", b"12")


@pytest.mark.parametrize(
    "unit",
    [
        b" ",
        b"<xmp:Thumbnails",
        b" xmpNote:HasExtendedXMP=",
        b"<xmpNote:HasExtendedXMP ",
        b" tiff:Orientation=",
    ],
)
def test_editing_xmp_takes_time_by_its_length_only(unit):
    """Text that is made to be looked through again and again; a square of its length would take minutes."""
    packet = unit * (1_000_000 // len(unit))
    assert update_xmp(packet, 1, 1, software="", media="") == packet


def test_thumbnails_in_xmp_are_removed():
    packet = b"<a/><xmp:Thumbnails><rdf:Alt>base64</rdf:Alt></xmp:Thumbnails><b/>"
    assert update_xmp(packet, 1, 1, software="", media="") == b"<a/><b/>"


def test_xmp_orientation_is_used_without_exif_orientation(tmp_path):
    xmp = b'<rdf:Description tiff:Orientation="6"/>'
    Image.fromarray(COLOUR).save(tmp_path / "a.jpg", xmp=xmp)
    stack = read_stack([tmp_path / "a.jpg"] * 2)
    assert stack.frames[0].shape == (17, 13, 3)
    write_image(tmp_path / "b.jpg", stack.frames[0], like=stack)
    assert read_image(tmp_path / "b.jpg").shape == (17, 13, 3)  # not turned once more


def test_an_orientation_that_does_not_exist_is_upright(tmp_path):
    exif = exif_with({ORIENTATION: integer_value("<", 77, kind=3)}).to_bytes()
    Image.fromarray(COLOUR).save(tmp_path / "a.png", exif=exif)
    np.testing.assert_array_equal(read_image(tmp_path / "a.png"), COLOUR)


def test_premultiplied_colours_stay_marked(tmp_path, rng):
    image = rng.integers(0, 256, (13, 17, 4), dtype=np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", image, photometric="rgb", extrasamples=["assocalpha"], metadata=None)
    stack = read_stack([tmp_path / "a.tif"] * 2)
    write_image(tmp_path / "b.tif", stack.frames[0], like=stack)
    with tifffile.TiffFile(tmp_path / "b.tif") as tiff:
        assert tiff.pages[0].extrasamples == (tifffile.EXTRASAMPLE.ASSOCALPHA,)
        np.testing.assert_array_equal(tiff.asarray(), image)
    assert "alpha" in describe_losses(tmp_path / "b.png", stack)[0]


# --- the camera's clock ------------------------------------------------------------------------------------


def frames_taken(tmp_path, seconds):
    paths = []
    for k, second in enumerate(seconds):
        exif = exif_with({0x0132: text_value(f"2026:05:01 10:00:{second:02}")}).to_bytes()
        paths.append(tmp_path / f"f{k}.png")
        Image.fromarray(COLOUR).save(paths[-1], exif=exif)
    return paths


@pytest.mark.parametrize("seconds", [(1, 2, 3), (3, 2, 1), (1, 1, 2), (1, 1, 1)])
def test_frames_in_the_order_of_time_or_against_it_are_in_order(tmp_path, seconds):
    assert read_stack(frames_taken(tmp_path, seconds)).notices == ()


def test_order_against_the_clock_is_reported_and_preserved(tmp_path):
    stack = read_stack(frames_taken(tmp_path, (1, 2, 9, 4, 5)))
    (notice,) = stack.notices
    assert notice.index("f3.png") < notice.index("f2.png")
    assert [name[-6:] for name in stack.names] == ["f0.png", "f1.png", "f2.png", "f3.png", "f4.png"]
