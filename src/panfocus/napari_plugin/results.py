"""Layers of a result, each where the source lies in the world: its scale, units and translation."""

from collections.abc import Iterator, Sequence
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from panfocus.napari_plugin.source import Channel, Source
from panfocus.napari_plugin.work import Outcome

if TYPE_CHECKING:
    from napari.layers import Image

MOST_VERTICES = 1 << 18  # of a surface, that graphics cards turn with ease

LayerData = tuple[Any, dict[str, Any], str]


def layers_of(outcome: Outcome, source: Source) -> list[LayerData]:
    """Return the data, settings and kind of every layer, the fused picture last: it lies on top."""
    return [*_maps(outcome, source), *_pictures(outcome, source)]


def placed(layer: "Image", axes: Sequence[int], corner: Sequence[float]) -> dict[str, Any]:
    """Return the place in the world of data that lie along some axes of a layer and begin at a corner.

    Rotation and shear, which napari cannot set for every number of axes, become part of the affine matrix.
    """
    from napari.utils.transforms import Affine

    own = Affine(scale=layer.scale, translate=layer.translate, rotate=layer.rotate, shear=layer.shear)
    chosen = list(axes)
    scale, start = layer.scale[chosen], np.asarray(corner, float)
    linear = own.linear_matrix[np.ix_(chosen, chosen)]
    translate = layer.translate[chosen] + scale * start
    turned = np.eye(len(chosen) + 1)
    turned[:-1, :-1] = linear / scale
    turned[:-1, -1] = linear @ start + layer.translate[chosen] - turned[:-1, :-1] @ translate
    with_offset = [*chosen, layer.ndim]
    return {
        "scale": scale,
        "translate": translate,
        "affine": layer.affine.affine_matrix[np.ix_(with_offset, with_offset)] @ turned,
        "units": tuple(layer.units[axis] for axis in chosen),
        "axis_labels": tuple(layer.axis_labels[axis] for axis in chosen),
    }


def _flat(layer: "Image", outcome: Outcome) -> dict[str, Any]:
    rows, cols = outcome.area
    return placed(layer, (layer.ndim - 2, layer.ndim - 1), (rows.start, cols.start))


def _pictures(outcome: Outcome, source: Source) -> Iterator[LayerData]:
    for c, channel in enumerate(source.channels):
        layer = channel.layer
        image = outcome.result.image[..., c] if len(source.channels) > 1 else outcome.result.image
        looks: dict[str, Any] = {"rgb": layer.rgb, "blending": layer.blending}
        if not layer.rgb:
            looks |= {
                "colormap": layer.colormap,
                "contrast_limits": layer.contrast_limits,
                "gamma": layer.gamma,
            }
        about = {"name": f"{_name(channel)} fused", "metadata": {"panfocus": outcome.result.report}}
        yield image, _flat(layer, outcome) | looks | about, "image"


def _maps(outcome: Outcome, source: Source) -> Iterator[LayerData]:
    result, layer = outcome.result, source.channels[0].layer
    flat = _flat(layer, outcome) | {"visible": False}
    if result.never_in_focus is not None:
        marked = result.never_in_focus.astype(np.uint8)
        yield marked, flat | {"name": f"{layer.name} never in focus"}, "labels"
    if result.confidence is not None:
        looks = {"contrast_limits": (0.0, 1.0), "colormap": "magma"}
        yield result.confidence, flat | looks | {"name": f"{layer.name} confidence"}, "image"
    if result.labels is not None:  # from 1: napari does not show 0
        frames = result.labels.astype(np.int32) + 1
        yield frames, flat | {"name": f"{layer.name} labels"}, "labels"
    if result.depth is not None:
        depth, unit = _physical(result.depth, source)
        looks = {"colormap": "viridis", "name": f"{layer.name} depth ({unit})"}
        yield depth, flat | looks, "image"
        if source.focus_axis is not None:
            yield _surface(result.depth, depth, outcome, source, f"{layer.name} surface ({unit})")


def _name(channel: Channel) -> str:
    return channel.layer.name if channel.number is None else f"{channel.layer.name} channel {channel.number}"


def _physical(depth: NDArray[Any], source: Source) -> tuple[NDArray[Any], str]:
    """Return distances from the first slice, as in files, and their unit; of a list of layers, frames."""
    layer, axis = source.channels[0].layer, source.focus_axis
    if axis is None:
        return depth, "frames"
    return (layer.scale[axis] * depth).astype(np.float32), f"{layer.units[axis]:~}"


def _surface(
    depth: NDArray[Any], lengths: NDArray[Any], outcome: Outcome, source: Source, name: str
) -> LayerData:
    """Return the depth as a net over the picture's pixels, or over some of those of a large one."""
    layer, focus = source.channels[0].layer, source.focus_axis
    assert focus is not None
    step = max(1, ceil(sqrt(depth.size / MOST_VERTICES)))
    rows, cols = np.mgrid[: depth.shape[0] : step, : depth.shape[1] : step]
    axes = range(focus, layer.ndim)
    vertices = np.zeros((rows.size, len(axes)), np.float32)
    vertices[:, 0] = depth[::step, ::step].ravel()
    vertices[:, 1:-2] = source.position[focus + 1 :]  # the axes between, such as channels
    vertices[:, -2], vertices[:, -1] = rows.ravel(), cols.ravel()
    place = placed(layer, axes, [*[0] * (len(axes) - 2), *(side.start for side in outcome.area)])
    looks = {"name": name, "colormap": "viridis", "shading": "smooth", "visible": False}
    return (vertices, _triangles(*rows.shape), lengths[::step, ::step].ravel()), place | looks, "surface"


def _triangles(height: int, width: int) -> NDArray[np.int32]:
    """Return two triangles for each square of a grid of vertices."""
    number = np.arange(height * width, dtype=np.int32).reshape(height, width)
    here, right, below, across = number[:-1, :-1], number[:-1, 1:], number[1:, :-1], number[1:, 1:]
    both = np.stack([here, below, right, right, below, across], axis=-1)
    return both.reshape(-1, 3)
