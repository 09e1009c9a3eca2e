"""Headers match the decoded frames, without decoding."""

import numpy as np
import pytest
import tifffile
from PIL import Image

from panfocus.errors import InputError
from panfocus.io.encode import write_image
from panfocus.io.headers import check_headers, read_headers
from panfocus.io.read_stack import read_image
from rejections import rejected

GREY = np.arange(13 * 17, dtype=np.uint8).reshape(13, 17)
COLOUR = np.stack([GREY, GREY[::-1], GREY[:, ::-1]], axis=2)


def save(path, image, **options):
    Image.fromarray(image).save(path, **options)


def save_palette(path, **options):
    Image.fromarray(COLOUR).quantize(16).save(path, **options)


def turned(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


FILES = {
    "grey.png": lambda path: write_image(path, GREY),
    "deep.png": lambda path: write_image(path, COLOUR.astype(np.uint16) * 257),
    "alpha.png": lambda path: write_image(path, np.dstack([COLOUR, GREY])),
    "grey-alpha.png": lambda path: write_image(path, np.dstack([GREY, GREY])),
    "palette.png": save_palette,
    "see-through-palette.png": lambda path: save_palette(path, transparency=3),
    "see-through-grey.png": lambda path: save(path, GREY, transparency=5),
    "see-through-colour.png": lambda path: save(path, COLOUR, transparency=(1, 2, 3)),
    "bits.png": lambda path: Image.fromarray(GREY > 99).save(path),
    "turned.png": lambda path: save(path, COLOUR, exif=turned(6)),
    "grey.jpg": lambda path: save(path, GREY),
    "turned.jpg": lambda path: save(path, COLOUR, exif=turned(8)),
    "colour.webp": lambda path: save(path, COLOUR),
    "alpha.webp": lambda path: save(path, np.dstack([COLOUR, GREY]), lossless=True),
    "float.tif": lambda path: write_image(path, COLOUR / np.float32(255)),
    "turned.tif": lambda path: tifffile.imwrite(path, COLOUR, extratags=[(0x0112, 3, 1, 5, True)]),
    "planes.tif": lambda path: tifffile.imwrite(
        path, np.moveaxis(COLOUR, 2, 0), photometric="rgb", planarconfig="separate"
    ),
    "big-endian.tif": lambda path: tifffile.imwrite(path, GREY.astype(">u2"), byteorder=">"),
}


@pytest.mark.parametrize("name", FILES)
def test_header_matches_the_decoded_frame(tmp_path, name):
    FILES[name](tmp_path / name)
    (header,) = read_headers([tmp_path / name])
    image = read_image(tmp_path / name)
    promised = header.frame.image
    assert (promised.shape, promised.dtype) == (image.shape, image.dtype)


def test_a_header_takes_neither_memory_nor_pixels(tmp_path):
    """The pixels of this file are nonsense, which decoding finds."""
    path = tmp_path / "large.tif"
    tifffile.imwrite(path, np.zeros((40, 30, 3), np.uint8), compression="zlib", photometric="rgb")
    with tifffile.TiffFile(path) as tiff:
        (start, *_), (length, *_) = tiff.pages[0].dataoffsets, tiff.pages[0].databytecounts
    data = bytearray(path.read_bytes())
    data[start : start + length] = b"\xff" * length
    path.write_bytes(data)
    (header,) = read_headers([path])
    assert header.frame.image.shape == (40, 30, 3)
    assert header.frame.image.strides == (0, 0, 0)
    with rejected(path, problem="damaged"):
        read_image(path)


def test_pages_are_frames_without_the_reduced_ones(tmp_path):
    with tifffile.TiffWriter(tmp_path / "pages.tif") as tiff:
        tiff.write(GREY)
        tiff.write(GREY[::2, ::2], subfiletype=1)
        tiff.write(GREY + 1)
    headers = read_headers([tmp_path / "pages.tif"])
    assert [header.name[-7:] for header in headers] == ["page 1)", "page 2)"]
    assert [header.pages for header in headers] == [(0,), (2,)]
    check_headers(headers)


def test_frames_that_differ_are_rejected_by_their_headers(tmp_path):
    write_image(tmp_path / "a.png", GREY)
    write_image(tmp_path / "b.png", GREY[:, 1:])
    with rejected(tmp_path / "b.png", InputError, needed=GREY.shape):
        check_headers(read_headers([tmp_path / "a.png", tmp_path / "b.png"]))
    with pytest.raises(InputError) as caught:
        check_headers(read_headers([tmp_path / "a.png"]))
    assert caught.value.facts["frames"] == 1
