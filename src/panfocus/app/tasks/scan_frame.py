"""A first look at a file: is it whole, what does it hold, how sharp is it, what does it look like."""

import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import check_like
from panfocus.decide.focus_measure import laplacian_energy
from panfocus.decide.gray import to_gray
from panfocus.io.atomic_files import write_files
from panfocus.io.encode import write_image
from panfocus.io.headers import read_headers
from panfocus.io.jpeg_webp import encode_jpeg
from panfocus.io.read_stack import read_frame
from panfocus.show.thumbnail import shown
from panfocus.stack import sampled_strips

THUMBNAIL_SIDE = 320  # pixels, at most
_QUALITY = 85


def run(task: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Decode all of the file `path`, and write a picture of its first page to `thumbnail`.

    Returns what the file holds, its `sharpness` (of its sharpest page), and a `digest` of its pixels.
    """
    path, thumbnail = Path(task["path"]), Path(task["thumbnail"])
    headers = read_headers([path])
    digest = hashlib.sha256()
    sharpest = 0.0
    for number, header in enumerate(headers):
        image = read_frame(header)
        check_like(image, header.name, image, header.name)
        if number == 0:
            picture = encode_jpeg(shown(image, THUMBNAIL_SIDE), header.frame.icc_profile, quality=_QUALITY)
            write_files({thumbnail: picture}, force=True)
            tell({"event": "thumbnail"})
        digest.update(np.ascontiguousarray(image).data)
        sharpest = max(sharpest, _sharpness(image))
    first = headers[0].frame.image
    return {
        "width": first.shape[1],
        "height": first.shape[0],
        "pages": len(headers),
        "dtype": first.dtype.name,
        "channels": first.shape[2] if first.ndim == 3 else 1,
        "sharpness": sharpest,
        "digest": digest.hexdigest(),
    }


def _sharpness(image: NDArray[Any]) -> float:
    """Mean energy of the Laplacian on strips of the picture."""
    strips = [laplacian_energy(to_gray(strip)) for strip in sampled_strips(image[np.newaxis], 0)]
    return float(np.mean([strip.mean() for strip in strips]))


def warm_up() -> None:
    """Do once, on next to nothing, what would take its time the first time: imports, compiled code."""
    deep = np.arange(32 * 32 * 3, dtype=np.uint16).reshape(32, 32, 3)
    plain = deep.astype(np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.tif", "b.tif", "c.jpg", "d.png"):
            path = Path(folder) / name
            write_image(path, deep if name == "a.tif" else plain)
            run({"path": str(path), "thumbnail": f"{path}.jpg"}, lambda event: None)
