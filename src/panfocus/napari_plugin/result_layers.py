"""Layers for a result, at the position of the source in the world: its scale, units and translation."""

from collections.abc import Container, Iterator, Sequence
from itertools import chain, count
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.napari_plugin.layer_frames import Channel, Snapshot, Source, unit_sign
from panfocus.result import FusionResult

MAX_VERTICES = 1 << 18  # of a surface: graphics cards rotate it smoothly

LayerData = tuple[Any, dict[str, Any], str]


def layers_of(result: FusionResult, source: Source) -> list[LayerData]:
    """Return data, settings and kind of every layer. The fused image is last, so that it is on top.

    The metadata of each layer contain the report of the fusion.
    """
    report = {"metadata": {"panfocus": result.report}}
    layers = [*_maps(result, source), *_images(result, source)]
    return [(data, about | report, kind) for data, about, kind in layers]


def number_names(layers: Sequence[LayerData], taken: Container[str]) -> list[LayerData]:
    """Add a number to the names if one is taken, as napari does, but the same number to all layers."""
    endings = chain([""], (f" [{n}]" for n in count(1)))
    names = [about["name"] for _, about, _ in layers]
    ending = next(end for end in endings if not any(name + end in taken for name in names))
    return [(data, about | {"name": about["name"] + ending}, kind) for data, about, kind in layers]


def _image_position(layer: Snapshot) -> dict[str, Any]:
    return layer.position((layer.ndim - 2, layer.ndim - 1))


def _images(result: FusionResult, source: Source) -> Iterator[LayerData]:
    for c, channel in enumerate(source.channels):
        image = result.image
        if len(source.channels) > 1:
            image = np.ascontiguousarray(image[..., c])  # napari reads it often
        name = {"name": f"{_name(source, channel)} fused"}
        yield image, _image_position(channel.layer) | channel.layer.looks | name, "image"


def _maps(result: FusionResult, source: Source) -> Iterator[LayerData]:
    name = _name(source)
    flat = _image_position(source.channels[0].layer) | {"visible": False}
    if result.never_in_focus is not None:
        marked = result.never_in_focus.astype(np.uint8)
        yield marked, flat | {"name": f"{name} never in focus"}, "labels"
    if result.confidence is not None:
        looks = {"contrast_limits": (0.0, 1.0), "colormap": "magma"}
        yield result.confidence, flat | looks | {"name": f"{name} confidence"}, "image"
    if result.labels is not None:  # from 1: napari shows 0 as background
        frames = result.labels.astype(np.int32) + 1
        yield frames, flat | {"name": f"{name} labels"}, "labels"
    if result.depth is not None:
        depth, unit = _physical(result.depth, source)
        looks = {"colormap": "viridis", "name": f"{name} depth ({unit})"}
        yield depth, flat | looks, "image"
        if source.focus_axis is not None:
            yield _surface(result.depth, depth, source, f"{name} surface ({unit})")


def _name(source: Source, channel: Channel | None = None) -> str:
    """Return the name of a channel, or of the first layer for all channels, with the index on other axes."""
    name = source.channels[0].layer.name if channel is None else channel.layer.name
    if channel is not None and channel.number is not None:
        name += f" channel {channel.number}"
    return " ".join([name, *(f"{axis}={at}" for axis, at in source.place.items())])


def _physical(depth: NDArray[Any], source: Source) -> tuple[NDArray[Any], str]:
    """Return distances from the first slice and their unit; for a list of layers, frame numbers."""
    layer, axis = source.channels[0].layer, source.focus_axis
    if axis is None:
        return depth, "frames"
    return (layer.scale[axis] * depth).astype(np.float32), unit_sign(layer.units[axis])


def _surface(depth: NDArray[Any], lengths: NDArray[Any], source: Source, name: str) -> LayerData:
    """Return the depth as a mesh over the pixels, or over a coarser grid if the image is large.

    If channels lie on an axis after the focus axis, each has a mesh; the slider of napari selects it.
    """
    layer, focus = source.channels[0].layer, source.focus_axis
    assert focus is not None
    between = [*dict.fromkeys(channel.position[focus + 1 :] for channel in source.channels)]
    step = max(1, ceil(sqrt(len(between) * depth.size / MAX_VERTICES)))
    rows, cols = np.mgrid[: depth.shape[0] : step, : depth.shape[1] : step]
    axes = range(focus, layer.ndim)
    vertices = np.zeros((len(between), rows.size, len(axes)), np.float32)
    vertices[..., 0] = depth[::step, ::step].ravel()
    vertices[..., 1:-2] = np.array(between)[:, np.newaxis]
    vertices[..., -2], vertices[..., -1] = rows.ravel(), cols.ravel()
    faces = _triangles(*rows.shape) + rows.size * np.arange(len(between))[:, np.newaxis, np.newaxis]
    looks = {"name": name, "colormap": "viridis", "shading": "smooth", "visible": False}
    values = np.tile(lengths[::step, ::step].ravel(), len(between))
    return (
        (vertices.reshape(-1, len(axes)), faces.reshape(-1, 3), values),
        layer.position(axes) | looks,
        "surface",
    )


def _triangles(height: int, width: int) -> NDArray[np.int32]:
    """Return two triangles for each square of a grid of vertices."""
    number = np.arange(height * width, dtype=np.int32).reshape(height, width)
    here, right, below, across = number[:-1, :-1], number[:-1, 1:], number[1:, :-1], number[1:, 1:]
    both = np.stack([here, below, right, right, below, across], axis=-1)
    return both.reshape(-1, 3)
