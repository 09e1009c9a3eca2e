"""Small valid files of every supported format, from which mutants are made."""

import io
import struct
import zlib
from functools import cache
from importlib.util import find_spec
from typing import Any

import imagecodecs
import numpy as np
import tifffile
from numpy.typing import NDArray
from PIL import Image, ImageCms

PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


@cache
def seed_files() -> dict[str, bytes]:
    """Return the contents of files by name."""
    rng = np.random.default_rng(1)
    grey = rng.integers(0, 256, (13, 17), np.uint8)
    colour = rng.integers(0, 256, (13, 17, 3), np.uint8)
    alpha = rng.integers(0, 256, (13, 17, 4), np.uint8)
    deep = rng.integers(0, 65536, (13, 17, 3), np.uint16)
    exif = Image.Exif()
    exif[0x0112], exif[0x010F], exif[0x0132] = 6, "maker", "2026:01:02 03:04:05"
    exif.get_ifd(0x8769)[0x9003] = "2026:01:02 03:04:05"
    noted = {"exif": exif, "icc_profile": PROFILE}
    raw = {"mosaic.dng": _dng(np.tile(deep[..., 0], (4, 4)))} if find_spec("rawpy") else {}
    return raw | {
        "grey.png": imagecodecs.png_encode(grey),
        "deep.png": imagecodecs.png_encode(deep),
        "alpha.png": imagecodecs.png_encode(alpha),
        "noted.png": _pillow(colour, "PNG", **noted),
        "palette.png": _pillow(Image.fromarray(colour).quantize(16), "PNG", transparency=3),
        "bits.png": _pillow(Image.fromarray(grey).convert("1"), "PNG"),
        "text.png": _with_chunk(imagecodecs.png_encode(grey), b"zTXt", b"k\0\0" + zlib.compress(b"t" * 999)),
        "grey.jpg": _pillow(grey, "JPEG"),
        "colour.jpg": _pillow(colour, "JPEG", **noted),
        "progressive.jpg": _pillow(colour, "JPEG", progressive=True, subsampling=2),
        "restarts.jpg": _pillow(colour, "JPEG", restart_marker_blocks=1, comment=b"note"),
        "lossy.webp": _pillow(colour, "WEBP", **noted),
        "lossless.webp": _pillow(alpha, "WEBP", lossless=True),
        "grey.tif": _tiff(grey),
        "deep.tif": _tiff(deep, photometric="rgb", iccprofile=PROFILE),
        "float.tif": _tiff(colour.astype(np.float32) / 255, photometric="rgb", compression="deflate"),
        "predicted.tif": _tiff(deep, photometric="rgb", compression="lzw", predictor=True),
        "tiles.tif": _tiff(np.tile(colour, (3, 3, 1)), photometric="rgb", tile=(16, 16), compression="zlib"),
        "planar.tif": _tiff(np.moveaxis(colour, 2, 0), photometric="rgb", planarconfig="separate"),
        "jpeg.tif": _tiff(colour, photometric="ycbcr", compression="jpeg"),
        "big.tif": _tiff(grey, bigtiff=True, byteorder=">"),
        "pages.tif": _tiff(np.stack([grey, 255 - grey, grey // 2]), photometric="minisblack", metadata=None),
        "imagej.tif": _tiff(np.stack([grey, 255 - grey]), imagej=True, metadata={"axes": "ZYX"}),
        "slices.ome.tif": _tiff(np.stack([grey, 255 - grey]), ome=True, metadata={"axes": "ZYX"}),
    }


def _pillow(picture: Any, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image = Image.fromarray(picture) if isinstance(picture, np.ndarray) else picture
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def _tiff(image: NDArray[Any], **options: Any) -> bytes:
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, image, **options)
    return buffer.getvalue()


def _dng(mosaic: NDArray[np.uint16]) -> bytes:
    """Encode a raw file with the tags that LibRaw needs."""
    unity = [number for row in np.eye(3, dtype=int) for n in row for number in (int(n), 1)]
    tags = [
        *((33421, 3, 2, (2, 2), True), (33422, 1, 4, bytes([0, 1, 1, 2]), True)),  # red, green; green, blue
        *((50706, 1, 4, bytes([1, 4, 0, 0]), True), (271, 2, 0, "a maker", True)),
        *((50721, 10, 9, unity, True), (50728, 5, 3, [1, 2, 1, 1, 2, 3], True), (50778, 3, 1, 21, True)),
    ]
    return _tiff(mosaic, photometric=32803, extratags=tags, metadata=None)


def _with_chunk(png: bytes, name: bytes, content: bytes) -> bytes:
    """Insert a chunk after the header of a PNG."""
    chunk = struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    return png[:33] + chunk + png[33:]
