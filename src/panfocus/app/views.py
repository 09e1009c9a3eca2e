"""Views of a result: tiles for deep zoom, crops, one pixel in all frames, and the depth map as a relief."""

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from panfocus.app.responses import CACHE_FOR_A_DAY, JsonAnswer, RequestError, file_answer, path_number
from panfocus.app.result_layers import PYRAMIDS, STACKED, Display, level_name, read_display
from panfocus.app.state import ARRAYS, LIVE
from panfocus.io.disk_array import ArrayFolder, DiskArray
from panfocus.show.pyramid import TILE, halve, halved_length, n_levels

if TYPE_CHECKING:
    from panfocus.app.server import App

_MAX_THREADS = 3  # each needs some megabytes and a core
TILE_QUALITY = 90  # of JPEG
MIN_CROP, MAX_CROP = 16, 512  # pixels
MAX_RELIEF = 1024  # pixels

_PICTURES = ("fused", "frames", "retouched")
_THREADS = ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="draw")

Drawn = TypeVar("Drawn")


class ViewLayer(NamedTuple):
    """A layer of the page: an array, or one frame of it."""

    name: str
    frame: tuple[int, ...] = ()


async def _tile(request: Request) -> Response:
    layer, level = _layer(request), path_number(request, "level")
    place = request.path_params["place"]
    match = re.fullmatch(r"(\d{1,6})_(\d{1,6})", place)
    if not match:
        raise RequestError(404, f"There is no tile {place[:40]}.", got=place)
    col, row = map(int, match.groups())
    arrays = _open_arrays(request, layer)

    def draw() -> Response:
        with _level(arrays, layer, level) as array:
            rows, cols = (slice(at * TILE, at * TILE + TILE) for at in (row, col))
            part = array[*layer.frame, rows, cols]
        if part.size == 0:
            message = f"There is no tile {place} at level {level}."
            raise RequestError(404, message, got=place, level=level)
        return _image(part, layer, read_display(arrays), jpeg=True)

    answer = await _in_thread(draw)
    if "v" in request.query_params:
        answer.headers.update(CACHE_FOR_A_DAY)
    return answer


async def _crop(request: Request) -> Response:
    layer = _layer(request)
    arrays = _open_arrays(request, layer)
    size = _number(request, "size", MIN_CROP, MAX_CROP)

    def draw() -> Response:
        with _level(arrays, layer, 0) as array:
            height, width = array.shape[len(layer.frame) :][:2]
            (rows, down), (cols, across) = (
                _clamped(_number(request, name, 0, length - 1), size, length)
                for name, length in (("row", height), ("col", width))
            )
            part = array[*layer.frame, rows, cols][np.ix_(down, across)]
        return _image(part, layer, read_display(arrays), jpeg=False)

    return await _in_thread(draw)


async def _place(request: Request) -> Response:
    arrays = _open_arrays(request, ViewLayer("frames"))
    app: App = request.app.state.app
    fusion = app.store.jobs.get(request.path_params["job"]).fusion

    def read() -> Response:
        from panfocus.show.evidence import sharpness_at, weights_at

        with arrays.array("frames") as frames:
            row = _number(request, "row", 0, frames.shape[1] - 1)
            col = _number(request, "col", 0, frames.shape[2] - 1)
            sharpness = sharpness_at(frames, row, col)
        weights: list[float | None] = [None] * len(sharpness)
        if "votes" in arrays:
            with arrays.array("votes") as votes:
                weights = weights_at(votes, row, col)
        names = fusion["names"] if fusion else map(str, range(len(sharpness)))
        return JsonAnswer(
            {
                "row": row,
                "col": col,
                "label": _value(arrays, "labels", row, col),
                "depth": _value(arrays, "depth", row, col),
                "confidence": _value(arrays, "confidence", row, col),
                "never_in_focus": _value(arrays, "never_in_focus", row, col),
                "frames": [
                    {"name": name, "weight": weight, "sharpness": value}
                    for name, weight, value in zip(names, weights, sharpness, strict=True)
                ],
            }
        )

    return await _in_thread(read)


async def _relief(request: Request) -> Response:
    layer = ViewLayer("depth")
    arrays = _open_arrays(request, layer)
    side = _number(request, "side", 2, MAX_RELIEF)

    def read() -> Response:
        with arrays.array("depth") as depth:
            height, width = depth.shape
        level = 0
        while halved_length(max(height, width), level) > side and level < n_levels(height, width) - 1:
            level += 1
        with _level(arrays, layer, level) as array:
            grid = array[...]
        while max(grid.shape) > side:
            grid = halve(grid, "mean")
        return Response(
            np.ascontiguousarray(grid, "<f4").tobytes(),
            media_type="application/octet-stream",
            headers={"X-Width": str(grid.shape[1]), "X-Height": str(grid.shape[0])},
        )

    return await _in_thread(read)


async def _live(request: Request) -> Response:
    app: App = request.app.state.app
    path = app.store.jobs.folder(request.path_params["job"]) / LIVE
    return await file_answer(path, "image/png", missing="There is no live picture yet.")


async def _in_thread(draw: Callable[[], Drawn]) -> Drawn:
    """Run a function in one of a few threads."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, draw)


def _layer(request: Request) -> ViewLayer:
    name = request.path_params["layer"]
    if number := re.fullmatch(r"frame-(\d{1,6})", name):
        return ViewLayer("frames", (int(number[1]),))
    if name not in PYRAMIDS or name in STACKED:
        raise RequestError(404, f"There is no layer {name[:40]}.", layer=name)
    return ViewLayer(name)


def _open_arrays(request: Request, layer: ViewLayer) -> ArrayFolder:
    """Return the arrays of a job that has this layer."""
    app: App = request.app.state.app
    job = app.store.jobs.get(request.path_params["job"])
    arrays = ArrayFolder(app.store.jobs.folder(job.id) / ARRAYS)
    if layer.name not in arrays:
        raise RequestError(404, f"This job has no layer {layer.name}.", layer=layer.name)
    return arrays


def _level(arrays: ArrayFolder, layer: ViewLayer, level: int) -> DiskArray:
    if level_name(layer.name, level) not in arrays:
        message = f"The layer {layer.name} has no level {level}."
        raise RequestError(404, message, layer=layer.name, level=level)
    array = arrays.array(level_name(layer.name, level))
    if layer.frame and layer.frame[0] >= len(array):
        array.close()
        message = f"This job has frames 0 to {len(array) - 1}, got {layer.frame[0]}."
        raise RequestError(404, message, layer=layer.name, got=layer.frame[0])
    return array


def _image(part: NDArray[Any], layer: ViewLayer, display: Display, *, jpeg: bool) -> Response:
    """Return a part of a layer as PNG, or a part of a picture as JPEG."""
    from panfocus.io.jpeg_webp import encode_jpeg
    from panfocus.io.png import encode_indexed_png, encode_png
    from panfocus.show.colormap import MASK_COLOURS, picture, ramp, ramp_shades, to_bytes

    if layer.name in _PICTURES:
        pixels = picture(part, display.white)
        if jpeg:
            data = encode_jpeg(pixels, display.icc_profile, quality=TILE_QUALITY)
            return Response(data, media_type="image/jpeg")
        data = encode_png(pixels, display.icc_profile)
    elif layer.name == "confidence":
        data = encode_png(to_bytes(part))
    elif layer.name == "never_in_focus":
        data = encode_indexed_png(part.astype(np.uint8), MASK_COLOURS)
    else:
        data = encode_indexed_png(ramp_shades(part, display.n_frames), ramp())
    return Response(data, media_type="image/png")


def _value(arrays: ArrayFolder, name: str, row: int, col: int) -> int | float | bool | None:
    """Return the value of a map at a pixel; None if there is no such map, or the value is not finite."""
    if name not in arrays:
        return None
    with arrays.array(name) as array:
        value: int | float | bool = array[row, col].item()
    return value if np.isfinite(value) else None


def _clamped(centre: int, size: int, length: int) -> tuple[slice, NDArray[np.intp]]:
    """Return the span to read along an axis, and the index in it of each pixel; edges are repeated."""
    shown = np.clip(np.arange(size) + centre - size // 2, 0, length - 1)
    return slice(int(shown[0]), int(shown[-1]) + 1), shown - shown[0]


def _number(request: Request, name: str, minimum: int, maximum: int) -> int:
    text = request.query_params.get(name, "")
    if not re.fullmatch(r"[0-9]{1,9}", text) or not minimum <= int(text) <= maximum:
        message = f"`{name}` must be an integer from {minimum} to {maximum}, got {text[:40]!r}."
        raise RequestError(400, message, setting=name, got=text)
    return int(text)


routes = [
    Route("/api/jobs/{job}/tiles/{layer}/{level}/{place}", _tile),
    Route("/api/jobs/{job}/crop/{layer}", _crop),
    Route("/api/jobs/{job}/place", _place),
    Route("/api/jobs/{job}/relief", _relief),
    Route("/api/jobs/{job}/live.png", _live),
]
