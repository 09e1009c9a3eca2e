"""Scan a file: decode it, measure its sharpness, and make its thumbnail; make a large picture of it."""

import hashlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import check_like
from panfocus.app.tasks import Send
from panfocus.decide.focus_measure import laplacian_energy
from panfocus.decide.gray import to_gray
from panfocus.io.atomic_files import write_files
from panfocus.io.encode import write_image
from panfocus.io.headers import Header, read_headers
from panfocus.io.jpeg_webp import encode_jpeg
from panfocus.io.read_stack import read_frame
from panfocus.show.colormap import make_thumbnail
from panfocus.stack import sampled_strips

THUMBNAIL_SIDE = 320  # pixels, at most
_PREVIEW_SIDE = 2400  # pixels, about a screen
_QUALITY = 85  # of JPEG


def run(send: Send, *, path: str, thumbnail: str) -> dict[str, Any]:
    """Decode all pages of a file, and write a thumbnail of the first.

    Returns the size and type of its pages, the `sharpness` of the sharpest, and a `digest` of the pixels.
    """
    headers = read_headers([Path(path)])
    digest = hashlib.sha256()
    sharpness = 0.0
    for number, header in enumerate(headers):
        image = read_frame(header)
        check_like(image, header.name, image, header.name)
        if number == 0:
            _write_picture(Path(thumbnail), image, header, THUMBNAIL_SIDE)
        digest.update(np.ascontiguousarray(image).data)
        sharpness = max(sharpness, _measure_sharpness(image))
    first = headers[0].frame.image
    return {
        "width": first.shape[1],
        "height": first.shape[0],
        "pages": len(headers),
        "dtype": first.dtype.name,
        "channels": first.shape[2] if first.ndim == 3 else 1,
        "sharpness": sharpness,
        "digest": digest.hexdigest(),
    }


def preview(send: Send, *, path: str, picture: str) -> None:
    """Write a large picture of the first page of a file."""
    header = read_headers([Path(path)])[0]
    _write_picture(Path(picture), read_frame(header), header, _PREVIEW_SIDE)


def _write_picture(path: Path, image: NDArray[Any], header: Header, max_side: int) -> None:
    """Write a JPEG of an image, reduced to `max_side` pixels."""
    pixels = make_thumbnail(image, max_side)
    write_files({path: encode_jpeg(pixels, header.frame.icc_profile, quality=_QUALITY)}, force=True)


def _measure_sharpness(image: NDArray[Any]) -> float:
    """Return the mean energy of the Laplacian on strips of an image."""
    strips = [laplacian_energy(to_gray(strip)) for strip in sampled_strips(image[np.newaxis], 0)]
    return float(np.mean([strip.mean() for strip in strips]))


def warm_up() -> None:
    """Import and compile everything that a scan needs, by scanning tiny files."""
    deep = np.arange(32 * 32 * 3, dtype=np.uint16).reshape(32, 32, 3)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.tif", "b.tif", "c.jpg", "d.png"):
            path = Path(folder) / name
            write_image(path, deep if name == "a.tif" else deep.astype(np.uint8))
            run(lambda event: None, path=str(path), thumbnail=f"{path}.jpg")
