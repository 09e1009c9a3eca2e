"""Routes to look at what a job has made: tiles for deep zoom, one place in all frames, depth as a relief."""

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from panfocus.app.responses import Answer, Refusal, path_number, small_file
from panfocus.app.result_layers import PYRAMIDS, STACKED, Display, display_of, level_name
from panfocus.app.tasks.fuse import ARRAYS, LIVE
from panfocus.io.disk_array import ArrayFolder, DiskArray
from panfocus.show.pyramid import TILE, halved, halved_length, n_levels

DRAWN_AT_ONCE = 3  # tiles and the like; others wait: each takes some megabytes and a core
TILE_QUALITY = 90  # of JPEG
SMALLEST_CROP, LARGEST_CROP = 16, 512
MOST_RELIEF = 1024

_PICTURES = ("fused", "frames", "retouched")
_KEPT_BY_BROWSERS = {"Cache-Control": "private, max-age=86400"}
_DRAWING = ThreadPoolExecutor(DRAWN_AT_ONCE, thread_name_prefix="draw")

Made = TypeVar("Made")


class Layer(NamedTuple):
    """What the page calls a layer: an array, or one frame of it."""

    name: str
    frame: tuple[int, ...] = ()

    @property
    def is_picture(self) -> bool:
        """Tell whether it is one, and not a map."""
        return self.name in _PICTURES


async def _tile(request: Request) -> Response:
    layer, level = _layer(request), path_number(request, "level")
    col, row = (int(number) for number in _matched(r"(\d{1,6})_(\d{1,6})", request.path_params["place"]))
    kept = _kept(request, layer)

    def draw() -> Response:
        with _level(kept, layer, level) as array:
            height, width = _size(array, layer)
            if row * TILE >= height or col * TILE >= width:
                raise Refusal(404, f"there is no tile {col}_{row} at level {level}")
            rows, cols = (
                slice(at * TILE, min(at * TILE + TILE, n)) for at, n in ((row, height), (col, width))
            )
            part = array[*layer.frame, rows, cols]
        return _image(part, layer, display_of(kept), jpeg=layer.is_picture)

    answer = await _drawn(draw)
    if "v" in request.query_params:
        answer.headers.update(_KEPT_BY_BROWSERS)
    return answer


async def _crop(request: Request) -> Response:
    layer = _layer(request)
    kept = _kept(request, layer)
    size = _number(request, "size", SMALLEST_CROP, LARGEST_CROP)

    def draw() -> Response:
        with _level(kept, layer, 0) as array:
            height, width = _size(array, layer)
            (rows, down), (cols, across) = (
                _clamped(_number(request, name, 0, length - 1), size, length)
                for name, length in (("row", height), ("col", width))
            )
            part = array[*layer.frame, rows, cols][np.ix_(down, across)]
        return _image(part, layer, display_of(kept), jpeg=False)

    return await _drawn(draw)


async def _place(request: Request) -> Response:
    kept = _kept(request, Layer("frames"))
    names = (request.app.state.app.store.jobs.get(request.path_params["job"]).get("result") or {}).get(
        "names"
    )

    def look() -> Response:
        from panfocus.show.evidence import sharpness_at, weights_at

        with kept.array("frames") as frames:
            row = _number(request, "row", 0, frames.shape[1] - 1)
            col = _number(request, "col", 0, frames.shape[2] - 1)
            sharpness = sharpness_at(frames, row, col)
        weights: list[float | None] = [None] * len(sharpness)
        if "votes" in kept:
            with kept.array("votes") as votes:
                weights = weights_at(votes, row, col)
        of_each = zip(names or map(str, range(len(sharpness))), weights, sharpness, strict=True)
        return Answer(
            {
                "row": row,
                "col": col,
                "label": _value(kept, "labels", row, col),
                **{name: _value(kept, name, row, col) for name in ("depth", "confidence", "never_in_focus")},
                "frames": [{"name": name, "weight": w, "sharpness": s} for name, w, s in of_each],
            }
        )

    return await _drawn(look)


async def _relief(request: Request) -> Response:
    layer = Layer("depth")
    kept = _kept(request, layer)
    side = _number(request, "side", 2, MOST_RELIEF)

    def look() -> Response:
        with kept.array("depth") as depth:
            height, width = depth.shape
        level = 0
        while halved_length(max(height, width), level) > side and level < n_levels(height, width) - 1:
            level += 1
        with _level(kept, layer, level) as array:
            grid = array[...]
        while max(grid.shape) > side:
            grid = halved(grid, "mean")
        return Response(
            np.ascontiguousarray(grid, "<f4").tobytes(),
            media_type="application/octet-stream",
            headers={"X-Width": str(grid.shape[1]), "X-Height": str(grid.shape[0])},
        )

    return await _drawn(look)


async def _live(request: Request) -> Response:
    path = request.app.state.app.store.jobs.folder(request.path_params["job"]) / LIVE
    return await small_file(path, "image/png", missing="nothing is decided yet")


async def _drawn(work: Callable[[], Made]) -> Made:
    """Do what takes a while in a thread, a few at once."""
    return await asyncio.get_running_loop().run_in_executor(_DRAWING, work)


def _layer(request: Request) -> Layer:
    name = request.path_params["layer"]
    if number := re.fullmatch(r"frame-(\d{1,6})", name):
        return Layer("frames", (int(number[1]),))
    if name not in PYRAMIDS or name in STACKED:
        raise Refusal(404, f"there is no layer {name[:40]}")
    return Layer(name)


def _kept(request: Request, layer: Layer) -> ArrayFolder:
    """Return the arrays of a job that has this layer."""
    jobs, job = request.app.state.app.store.jobs, request.path_params["job"]
    jobs.get(job)
    kept = ArrayFolder(jobs.folder(job) / ARRAYS)
    if layer.name not in kept:
        raise Refusal(404, f"this job has no layer {layer.name}")
    return kept


def _level(kept: ArrayFolder, layer: Layer, level: int) -> DiskArray:
    if level_name(layer.name, level) not in kept:
        raise Refusal(404, f"{layer.name} has no level {level}")
    array = kept.array(level_name(layer.name, level))
    if layer.frame and layer.frame[0] >= len(array):
        array.close()
        raise Refusal(404, f"this job has {len(array)} frames; there is no frame {layer.frame[0]}, from 0")
    return array


def _size(array: DiskArray, layer: Layer) -> tuple[int, int]:
    height, width = array.shape[len(layer.frame) :][:2]
    return height, width


def _image(part: NDArray[Any], layer: Layer, display: Display, *, jpeg: bool) -> Response:
    from panfocus.io.jpeg_webp import encode_jpeg
    from panfocus.io.png import encode_png
    from panfocus.show.map_colors import picture

    if not layer.is_picture:
        return Response(_map(part, layer.name, display.n_frames), media_type="image/png")
    pixels = picture(part, display.white)
    if jpeg:
        data = encode_jpeg(pixels, display.icc_profile, quality=TILE_QUALITY)
        return Response(data, media_type="image/jpeg")
    return Response(encode_png(pixels, display.icc_profile), media_type="image/png")


def _map(part: NDArray[Any], name: str, n_frames: int) -> bytes:
    from panfocus.io.png import encode_indexed_png, encode_png
    from panfocus.show.colormap import ramp
    from panfocus.show.map_colors import MASK_COLOURS, confidence_grey, ramp_shades

    if name == "confidence":
        return encode_png(confidence_grey(part))
    if name == "never_in_focus":
        return encode_indexed_png(part.astype(np.uint8), MASK_COLOURS)
    return encode_indexed_png(ramp_shades(part, n_frames), ramp())


def _value(kept: ArrayFolder, name: str, row: int, col: int) -> int | float | bool | None:
    """Return what a map says of a pixel; None if there is no such map or it does not know."""
    if name not in kept:
        return None
    with kept.array(name) as array:
        value: int | float | bool = array[row, col].item()
    return value if np.isfinite(value) else None


def _clamped(centre: int, size: int, length: int) -> tuple[slice, NDArray[np.intp]]:
    """Return what is read of a side, and which of it each pixel shows; beyond the edge that is the last."""
    shown = np.clip(np.arange(size) + centre - size // 2, 0, length - 1)
    return slice(int(shown[0]), int(shown[-1]) + 1), shown - shown[0]


def _number(request: Request, name: str, least: int, most: int) -> int:
    text = request.query_params.get(name, "")
    if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
        raise Refusal(400, f"{name} must be a whole number from {least} to {most}, got {text[:40]!r}")
    return int(text)


def _matched(pattern: str, text: str) -> tuple[str, ...]:
    found = re.fullmatch(pattern, text)
    if not found:
        raise Refusal(404, f"there is no tile {text[:40]}")
    return found.groups()


routes = [
    Route("/api/jobs/{job}/tiles/{layer}/{level}/{place}", _tile),
    Route("/api/jobs/{job}/crop/{layer}", _crop),
    Route("/api/jobs/{job}/place", _place),
    Route("/api/jobs/{job}/relief", _relief),
    Route("/api/jobs/{job}/live.png", _live),
]
