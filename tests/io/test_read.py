import io
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageOps

import panfocus as pf
from panfocus.errors import FileError, InputError
from panfocus.io.encode import write_image
from panfocus.io.file_errors import add_path_to_errors
from panfocus.io.headers import read_headers
from panfocus.io.input_files import find_inputs
from panfocus.io.read_stack import read_image, read_stack
from panfocus.preprocess.frame_checks import BadFrames
from rejections import rejected


@pytest.fixture
def photo(rng):
    """Smooth 64 x 48 colour picture: JPEG keeps it, and its coded data is long enough to cut."""
    coarse = Image.fromarray(rng.integers(0, 256, (8, 6, 3), dtype=np.uint8))
    return np.asarray(coarse.resize((48, 64), Image.Resampling.BICUBIC))


def save(path, image, **options):
    Image.fromarray(image).save(path, **options)
    return path


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


# --- what is found -----------------------------------------------------------------------------------------


def test_a_folder_gives_its_visible_images_in_natural_order(tmp_path):
    for name in ("f10.png", "f2.png", "F1.PNG", ".hidden.png", "notes.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in find_inputs([tmp_path])] == ["F1.PNG", "f2.png", "f10.png"]


def test_pattern_is_expanded_in_natural_order(tmp_path):
    for name in ("f10.png", "f2.png", "g1.png", "f3.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in find_inputs([str(tmp_path / "f*")])] == ["f2.png", "f10.png"]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path):
    path = tmp_path / "frame[1].png"
    path.touch()
    assert find_inputs([path]) == [path]


def test_a_folder_whose_name_looks_like_a_pattern_may_begin_one(tmp_path):
    for folder in ("s [1]", "s 1"):
        (tmp_path / folder / "deep").mkdir(parents=True)
        (tmp_path / folder / "a.png").touch()
        (tmp_path / folder / "deep" / "b.png").touch()
    assert find_inputs([tmp_path / "s [1]" / "*.png"]) == [tmp_path / "s [1]" / "a.png"]
    assert find_inputs([tmp_path / "s [1]" / "d*" / "?.png"]) == [tmp_path / "s [1]" / "deep" / "b.png"]
    assert find_inputs([tmp_path / "s [0-9]" / "**" / "b.png"]) == [tmp_path / "s 1" / "deep" / "b.png"]


@pytest.mark.parametrize("given", ["", "*.png"])
def test_a_folder_that_may_not_be_searched_is_rejected_by_name(tmp_path, monkeypatch, given):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_dir", refuse)  # the tests may run as an administrator, whom nothing stops
    with rejected(tmp_path / given, problem="Permission denied"):
        find_inputs([tmp_path / given])


def test_a_name_that_is_too_long_is_rejected_by_name(tmp_path):
    path = tmp_path / f"{'x' * 300}.png"
    with rejected(path, problem="File name too long"):
        find_inputs([path])


def test_files_keep_the_order_in_which_they_were_given(tmp_path):
    given = [tmp_path / "b.png", tmp_path / "a.png"]
    assert find_inputs(given) == given


@pytest.mark.parametrize("given", ["", "*.png"])
def test_a_folder_or_pattern_without_images_is_rejected_by_name(tmp_path, given):
    with rejected(tmp_path / given, problem="no image", unsupported=0):
        find_inputs([tmp_path / given])


def test_every_usual_name_of_a_jpeg_is_found(tmp_path):
    for name in ("1.jpe", "2.JFIF", "3.jif"):
        (tmp_path / name).touch()
    assert [path.name for path in find_inputs([tmp_path])] == ["1.jpe", "2.JFIF", "3.jif"]


@pytest.mark.parametrize("given", ["", "*"])
def test_pictures_that_are_not_read_are_named_in_one_line(tmp_path, given):
    for name in ("f1.png", "f2.bmp", "f3.HEIC", "notes.txt", ".hidden.bmp", "empty"):
        (tmp_path / name).touch()
    (tmp_path / "photo").write_bytes(b"\xff\xd8\xff\xe0 by its content a JPEG")
    (tmp_path / "folder.bmp").mkdir()
    os.mkfifo(tmp_path / "pipe")
    notices = []
    assert find_inputs([tmp_path / given], warn=notices.append) == [tmp_path / "f1.png"]
    (notice,) = notices
    assert str(tmp_path / given) in notice
    assert "(f2.bmp, f3.HEIC, photo)" in notice


def test_folder_of_unsupported_images_is_rejected(tmp_path):
    for k in range(7):
        (tmp_path / f"{k}.bmp").touch()
    with rejected(tmp_path, problem="no image", unsupported=7) as caught:
        find_inputs([tmp_path])
    assert "0.bmp, 1.bmp, 2.bmp, 3.bmp, 4.bmp, ..." in str(caught.value)


@pytest.mark.parametrize("given", ["", "*.png"])
@pytest.mark.parametrize("target", ["gone.png", "f2.png"], ids=["dangling", "circular"])
def test_broken_links_are_rejected_or_skipped(tmp_path, rng, given, target):
    for name in ("f1.png", "f3.png"):
        write_image(tmp_path / name, rng.integers(0, 256, (5, 7), dtype=np.uint8))
    (tmp_path / "f2.png").symlink_to(tmp_path / target)
    found = find_inputs([tmp_path / given])
    assert [path.name for path in found] == ["f1.png", "f2.png", "f3.png"]
    with rejected(tmp_path / "f2.png", problem="link"):
        read_headers(found)
    bad = BadFrames(skip=True)
    headers = read_headers(found, bad)
    assert [header.path.name for header in headers] == ["f1.png", "f3.png"]
    assert [name for name, _ in bad.dropped] == [str(tmp_path / "f2.png")]


# --- what is read ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".png", ".tif"])
@pytest.mark.parametrize("channels", [(), (2,), (3,), (4,)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_every_bit_survives_reading(tmp_path, rng, suffix, channels, dtype):
    image = rng.integers(0, np.iinfo(dtype).max, (13, 17, *channels), dtype=dtype, endpoint=True)
    path = tmp_path / f"image{suffix}"
    write_image(path, image)
    read = read_image(path)
    assert read.dtype == dtype
    np.testing.assert_array_equal(read, image)


@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_tiffs_keep_their_values(tmp_path, rng, channels, dtype):
    image = rng.normal(size=(13, 17, *channels)).astype(dtype)
    path = tmp_path / "image.tif"
    write_image(path, image)
    np.testing.assert_array_equal(read_image(path), image)


def test_jpeg_and_webp_are_read_as_pillow_reads_them(tmp_path, photo):
    for name in ("image.jpg", "image.webp"):
        path = save(tmp_path / name, photo, quality=90)
        np.testing.assert_array_equal(read_image(path), np.asarray(Image.open(path)))


def test_the_content_decides_not_the_name(tmp_path, photo):
    path = save(tmp_path / "in-truth-a-jpeg.png", photo, format="JPEG")
    assert read_image(path).shape == photo.shape


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_palettes_are_expanded_to_their_colours(tmp_path, rng, bits):
    picture = Image.fromarray(rng.integers(0, 2**bits, (6, 9), dtype=np.uint8))
    picture.putpalette(rng.integers(0, 256, 3 * 2**bits, dtype=np.uint8).tobytes())
    picture.save(tmp_path / "palette.png", bits=bits)
    expected = np.asarray(Image.open(tmp_path / "palette.png").convert("RGB"))
    np.testing.assert_array_equal(read_image(tmp_path / "palette.png"), expected)


def test_one_bit_is_expanded_to_black_and_white(tmp_path):
    Image.fromarray(np.array([[0, 255, 0]], np.uint8)).convert("1").save(tmp_path / "bits.png")
    np.testing.assert_array_equal(read_image(tmp_path / "bits.png"), [[0, 255, 0]])


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".tif"])
def test_pictures_are_turned_upright(tmp_path, photo, orientation, suffix):
    path = tmp_path / f"turned{suffix}"
    if suffix == ".tif":
        tifffile.imwrite(path, photo, extratags=[(0x0112, "H", 1, orientation, True)], metadata=None)
    else:
        exif = Image.Exif()
        exif[0x0112] = orientation
        save(path, photo, exif=exif)
    np.testing.assert_array_equal(read_image(path), np.asarray(ImageOps.exif_transpose(Image.open(path))))


def test_planar_tiffs_come_out_with_channels_last(tmp_path, rng):
    planes = rng.integers(0, 65536, (3, 13, 17), dtype=np.uint16)
    tifffile.imwrite(tmp_path / "planar.tif", planes, photometric="rgb", planarconfig="separate")
    np.testing.assert_array_equal(read_image(tmp_path / "planar.tif"), np.moveaxis(planes, 0, 2))


def test_the_pages_of_a_tiff_are_frames_and_thumbnails_are_not(tmp_path, rng):
    path = tmp_path / "stack.tif"
    frames = rng.integers(0, 65536, (3, 13, 17), dtype=np.uint16)
    with tifffile.TiffWriter(path) as tiff:
        for frame in frames:
            tiff.write(frame, photometric="minisblack", metadata=None)
            tiff.write(frame[::4, ::4], photometric="minisblack", subfiletype=1, metadata=None)
    assert len(read_headers([path])) == 3
    stack = read_stack([path])
    np.testing.assert_array_equal(stack.frames, frames)
    assert "page 2" in stack.names[1]


@pytest.mark.parametrize("options", [{"imagej": True}, {"ome": True, "photometric": "minisblack"}])
@pytest.mark.parametrize(
    ("axes", "shape"),
    [("ZYX", (3,)), ("TYX", (3,)), ("TZYX", (2, 3))],
)
def test_slices_are_frames_and_time_points_are_not(tmp_path, options, axes, shape):
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, np.zeros((*shape, 13, 17), np.uint16), metadata={"axes": axes}, **options)
    if "T" not in axes:
        assert len(read_headers([path])) == 3
    else:
        with pytest.raises(FileError) as caught:
            read_stack([path])
        assert (caught.value.facts["file"], caught.value.hint) == (str(path), "choose_time")


def test_colour_slices_of_ome_are_frames(tmp_path, rng):
    frames = rng.integers(0, 256, (2, 13, 17, 3), dtype=np.uint8)
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, frames, photometric="rgb", ome=True, metadata={"axes": "ZYXS"})
    np.testing.assert_array_equal(read_stack([path]).frames, frames)


def test_different_profiles_are_reported(tmp_path, photo):
    exif = Image.Exif()
    exif[0x010F] = "a camera"
    paths = [
        save(tmp_path / "a.jpg", photo, exif=exif, icc_profile=b"first profile"),
        save(tmp_path / "b.jpg", photo, icc_profile=b"second profile"),
    ]
    stack = read_stack(paths)
    assert stack.icc_profile == b"first profile"
    (notice,) = stack.notices
    assert str(paths[0]) in notice


@pytest.mark.parametrize("suffix", [".png", ".tif", ".webp"])
def test_profiles_are_read_from_every_format(tmp_path, photo, suffix):
    path = save(tmp_path / f"a{suffix}", photo, icc_profile=b"profile")
    stack = read_stack([path, path])
    assert stack.icc_profile == b"profile"
    assert stack.notices == ()


def test_a_photograph_of_100_megapixels_is_read_without_a_warning(tmp_path, recwarn):
    path = save(tmp_path / "large.jpg", np.zeros((10_000, 10_000), np.uint8))
    assert read_image(path).shape == (10_000, 10_000)
    assert not recwarn.list


# --- what is refused ---------------------------------------------------------------------------------------


def cuts(data):
    return [len(data) * tenth // 10 for tenth in range(1, 10)] + [len(data) - n for n in (40, 12, 6, 2, 1)]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("baseline.jpg", {"quality": 90}),
        ("progressive.jpg", {"quality": 90, "progressive": True}),
        ("restarts.jpg", {"quality": 90, "restart_marker_rows": 1}),
        ("image.png", {}),
        ("lossy.webp", {}),
        ("lossless.webp", {"lossless": True}),
        ("raw.tif", {}),
        ("lzw.tif", {"compression": "tiff_lzw"}),
        ("deflate.tif", {"compression": "tiff_adobe_deflate"}),
    ],
)
def test_truncated_file_is_rejected(tmp_path, photo, name, options):
    path = save(tmp_path / name, photo, **options)
    data = path.read_bytes()
    for length in cuts(data):
        path.write_bytes(data[:length])
        if name.endswith(".tif") and length > len(data) - 12 and _decodes_fully(path, photo):
            continue  # the last bytes of a TIFF may be those of a tag that says nothing about the pixels
        with rejected(path):
            read_image(path)


def _decodes_fully(path, photo):
    try:
        return np.array_equal(tifffile.imread(path), photo)
    except Exception:
        return False


def test_a_png_whose_pixels_are_missing_is_rejected(tmp_path):
    header = struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)
    half = zlib.compress(bytes(9 * 4))
    path = tmp_path / "half.png"
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", half) + chunk(b"IEND", b"")
    )
    with rejected(path, problem="damaged"):
        read_image(path)


@pytest.mark.parametrize("layout", [{}, {"compression": "zlib"}])
def test_a_stack_that_lost_pages_is_rejected(tmp_path, rng, layout):
    path = tmp_path / "stack.tif"
    frames = rng.integers(0, 65536, (4, 33, 37), dtype=np.uint16)
    tifffile.imwrite(path, frames, photometric="minisblack", **layout)
    data = path.read_bytes()
    for tenth in range(1, 10):
        path.write_bytes(data[: len(data) * tenth // 10])
        with rejected(path, problem="truncated"):
            read_stack([path])


def test_circular_pages_are_rejected(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((2, 8, 8), np.uint8), photometric="minisblack", metadata=None)
    with tifffile.TiffFile(path) as tiff:
        first, last = tiff.pages[0].offset, tiff.pages[1].offset
        end = last + 2 + 12 * len(tiff.pages[1].tags)
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, end, first)
    path.write_bytes(data)
    with rejected(path, problem="circle"):
        read_headers([path])


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.tif", "a.webp"])
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "empty"),
        (b"just text\n", "format"),
        (b"\xff\xd8\xff", "damaged"),
        (b"\x89PNG\r\n\x1a\n", "truncated"),
        (b"II*\0", "format"),
        (b"II*\0\0\0\0\0", "no page"),
        (b"MM\0+\0\x08\0\0", "truncated"),
    ],
)
def test_file_without_an_image_is_rejected(tmp_path, name, content, problem):
    (tmp_path / name).write_bytes(content)
    with rejected(tmp_path / name, problem=problem):
        read_image(tmp_path / name)


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (TypeError("subscript"), None),
        (struct.error("unpack"), None),
        (zlib.error("incorrect header"), "incorrect header"),
        (zlib.error(b"in bytes"), "in bytes"),
        (OSError("broken data"), "broken data"),
        (OSError(5, "Input/output error"), "Input/output error"),
    ],
)
def test_error_repeats_messages_of_decoders_but_not_of_python(error, detail):
    with pytest.raises(FileError) as caught, add_path_to_errors(Path("a.tif")):
        raise error
    assert caught.value.facts["file"] == "a.tif"
    assert (detail or "") in str(caught.value)
    assert detail or str(error) not in str(caught.value)


def test_a_missing_file_and_a_folder_are_rejected_by_name(tmp_path):
    with rejected(tmp_path / "none.png", problem="No such file or directory"):
        read_image(tmp_path / "none.png")
    with rejected(tmp_path, problem="Is a directory"):
        read_image(tmp_path)


def test_a_tiff_of_nothing_but_a_thumbnail_is_rejected(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((8, 8), np.uint8), subfiletype=1, metadata=None)
    with rejected(tmp_path / "a.tif", problem="no page"):
        read_image(tmp_path / "a.tif")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no mkfifo")
def test_a_pipe_is_rejected_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.png")
    for read in (read_image, lambda path: read_stack([path])):
        with rejected(tmp_path / "a.png", problem="pipe"):
            read(tmp_path / "a.png")


@pytest.mark.parametrize(
    ("mode", "name", "found"),
    [
        ("CMYK", "a.jpg", "CMYK"),
        ("CMYK", "a.tif", "SEPARATED"),
        ("P", "a.tif", "PALETTE"),
        ("LAB", "a.tif", "CIELAB"),
        ("1", "a.tif", 1),
    ],
)
def test_images_that_need_a_conversion_are_rejected(tmp_path, mode, name, found):
    Image.new(mode, (8, 8)).save(tmp_path / name)
    with rejected(tmp_path / name, got=found):
        read_image(tmp_path / name)


@pytest.mark.parametrize("suffix", [".png", ".webp"])
def test_animations_are_rejected(tmp_path, photo, suffix):
    other = Image.fromarray(photo[::-1].copy())
    save(tmp_path / f"a{suffix}", photo, save_all=True, append_images=[other], duration=100)
    with rejected(tmp_path / f"a{suffix}", problem="animated"):
        read_image(tmp_path / f"a{suffix}")


def test_a_decompression_bomb_is_rejected_before_it_is_unpacked(tmp_path):
    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)
    path = tmp_path / "bomb.png"
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b""))
        + chunk(b"IEND", b"")
    )
    with rejected(path, got=100_000**2):
        read_image(path)


def test_a_tiff_is_as_large_as_its_file_says(tmp_path):
    """600 megapixels, more than are read of what is packed; here they are a hole in the file."""
    path = tmp_path / "large.tif"
    tifffile.imwrite(path, shape=(20_000, 30_000), dtype=np.uint8, metadata=None)
    (header,) = read_headers([path])
    assert header.frame.image.shape == (20_000, 30_000)
    path = tmp_path / "bomb.tif"
    tifffile.imwrite(path, np.zeros((64, 64), np.uint8), compression="zlib", metadata=None)
    with tifffile.TiffFile(path, mode="r+") as tiff:
        for name, size in (("ImageWidth", 20_000), ("ImageLength", 30_000), ("RowsPerStrip", 30_000)):
            tiff.pages[0].tags[name].overwrite(size)
    with rejected(path, got=20_000 * 30_000):
        read_headers([path])


def test_ycck_is_rejected_by_name(tmp_path):
    path = tmp_path / "ycck.jpg"
    path.write_bytes(_as_ycck(tmp_path))
    with rejected(path, got="CMYK"):
        read_stack([path, path])


def _as_ycck(tmp_path):
    """Return a JPEG of four colours whose mark of Adobe says that they are coded as YCCK."""
    Image.new("CMYK", (8, 8)).save(tmp_path / "cmyk.jpg")
    data = bytearray((tmp_path / "cmyk.jpg").read_bytes())
    mark = data.index(b"Adobe")
    data[mark + 11] = 2
    return bytes(data)


def test_frames_that_do_not_match_are_rejected_by_name(tmp_path, photo):
    first = save(tmp_path / "first.png", photo)
    for name, image, needed in (
        ("smaller.png", photo[:-1], photo.shape),
        ("grey.png", photo[..., 0], photo.shape),
        ("deep.png", photo.astype(np.uint16), "uint8"),
    ):
        write_image(tmp_path / name, image)
        with rejected(tmp_path / name, InputError, needed=needed):
            read_stack([first, tmp_path / name])


def test_nan_is_rejected_by_name(tmp_path):
    good, bad = np.zeros((9, 9), np.float32), np.full((9, 9), np.nan, np.float32)
    for name, image in (("good.tif", good), ("bad.tif", bad)):
        write_image(tmp_path / name, image)
    with rejected(tmp_path / "bad.tif", InputError) as caught:
        read_stack([tmp_path / "good.tif", tmp_path / "bad.tif"])
    assert np.isnan(caught.value.facts["got"])


def test_one_frame_is_rejected(tmp_path, photo):
    with pytest.raises(InputError) as caught:
        read_stack([save(tmp_path / "only.png", photo)])
    assert caught.value.facts["frames"] == 1


def test_unsupported_samples_are_rejected_by_name(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((8, 8), np.int32))
    with rejected(tmp_path / "a.tif", InputError, got="int32"):
        read_stack([tmp_path / "a.tif"] * 2)


def test_16_bit_colour_keeps_its_depth(data_dir):
    stack = read_stack(find_inputs([data_dir / "stacks" / "algae-16bit-derived" / "*rgb16_*.tif"]))
    assert stack.frames.dtype == np.uint16
    assert stack.frames.shape == (5, 456, 680, 3)
    assert len(np.unique(stack.frames[0])) > 5000


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_every_16_bit_level_survives(tmp_path, suffix):
    """All 65536 levels, and 12-bit data in 16 bits: a program that goes through 8 bits would leave 256."""
    ramp = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    for levels in (ramp, ramp >> 4):
        path = tmp_path / f"{levels.max()}{suffix}"
        write_image(path, levels)
        np.testing.assert_array_equal(read_image(path), levels)


def test_fused_image_has_as_many_levels_as_its_frames(data_dir, tmp_path):
    """Pixels are chosen, not computed: every value is one of theirs, and there are not fewer."""
    stack = read_stack(find_inputs([data_dir / "stacks" / "algae-16bit-derived" / "*rgb16_*.tif"]))
    fused = pf.fuse(stack.frames, composition="labels", hot_pixels="off").image
    assert np.isin(np.unique(fused), np.unique(stack.frames)).all()
    fewest = min(len(np.unique(frame[..., 0])) for frame in stack.frames)
    assert len(np.unique(fused[..., 0])) >= fewest > 2000
    for name in ("fused.png", "fused.tif"):
        write_image(tmp_path / name, fused, like=stack)
        np.testing.assert_array_equal(read_image(tmp_path / name), fused)


def test_truncated_photograph_is_rejected(data_dir, tmp_path):
    source = min((data_dir / "lytro").glob("*.jpg"))
    baseline = source.read_bytes()
    buffer = io.BytesIO()
    Image.open(source).save(buffer, "JPEG", progressive=True, quality=90)
    for data in (baseline, buffer.getvalue()):
        for length in cuts(data):
            (tmp_path / "cut.jpg").write_bytes(data[:length])
            with rejected(tmp_path / "cut.jpg"):
                read_image(tmp_path / "cut.jpg")
