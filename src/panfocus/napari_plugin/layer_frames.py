"""What is fused: the frames that image layers hold, read only when they are asked for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import blank, check_kind
from panfocus.errors import FileError, InputError
from panfocus.napari_plugin.snapshot import Snapshot, unit_sign
from panfocus.stack import Acquisition, LazyFrames, beside_each_other, last_is_alpha, n_beside

if TYPE_CHECKING:
    from napari.layers import Image


@dataclass(frozen=True)
class Channel:
    """One picture that comes out: the layer it is like, and its number on that layer's channel axis."""

    layer: Snapshot
    number: int | None = None


@dataclass(frozen=True, eq=False)
class Source:
    """Frames of layers.

    Attributes
    ----------
    frames : LazyFrames
        The frames (n, h, w) or (n, h, w, c); of several channels there may be a blank one more.
    names : tuple of str
        What each frame is called in messages.
    channels : tuple of Channel
        The pictures that come out.
    focus_axis : int, optional
        Axis of the layers along which the focus changes; None if each frame is a layer.
    positions : tuple of tuple of int
        Where the slices of each channel lie on the axes before the last two; 0 on the focus axis.
    place : dict of str to int
        Which time point this is, or place on another axis, by the axis' name; of axes with more than one.
    in_memory : bool
        Whether all layers are NumPy arrays.
    notices : tuple of str
        Where the frames lie, as far as their user may not expect it.
    """

    frames: LazyFrames
    names: tuple[str, ...]
    channels: tuple[Channel, ...]
    focus_axis: int | None
    positions: tuple[tuple[int, ...], ...]
    place: dict[str, int]
    in_memory: bool
    notices: tuple[str, ...] = ()

    @property
    def acquisition(self) -> Acquisition:
        """What the layers say of their channels and pixels, as a microscope's file would."""
        layer = self.channels[0].layer
        height, width = layer.scale[-2:]
        names = tuple(channel.layer.name for channel in self.channels)
        return Acquisition(names, width, height, unit=unit_sign(layer.units[-1]))


@dataclass(frozen=True, eq=False)
class Plane:
    """A slice of a layer."""

    name: str
    data: Any
    index: tuple[int, ...]  # on the axes before the picture's

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the picture, with its colours."""
        return tuple(self.data.shape[len(self.index) :])

    @property
    def like(self) -> NDArray[Any]:
        """Something of its shape and type, in this machine's order of bytes."""
        return blank(self.shape, np.dtype(self.data.dtype).newbyteorder("="))

    def read(self, place: tuple[Any, ...]) -> NDArray[Any]:
        """Return a rectangle; what a lazy layer cannot read is named."""
        try:
            return np.asarray(self.data[(*self.index, *place)]).astype(self.like.dtype, copy=False)
        except Exception as error:  # whatever made the layer may raise anything
            raise FileError(f"{self.name} cannot be read: {in_one_line(error)}") from error


class LayerFrames(LazyFrames):
    """Frames whose channels (n, c) are slices of layers; several lie beside each other as a store's do."""

    def __init__(self, planes: Sequence[Sequence[Plane]], *, alpha: bool = False) -> None:
        first = planes[0][0]
        for plane in (plane for frame in planes for plane in frame):
            check_kind(plane.like, plane.name, first.like, first.name)
        n_channels = len(planes[0])
        self._planes = planes
        self._alpha = alpha
        channels = (n_beside(n_channels, alpha=alpha),) if n_channels > 1 else ()
        super().__init__((len(planes), *first.shape, *channels), first.like.dtype)

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        read = [plane.read(place) for plane in self._planes[k]]
        return read[0] if len(read) == 1 else beside_each_other(read, alpha=self._alpha)


def from_stacks(
    layers: Sequence["Image"],
    focus_axis: int,
    channel_axis: int | None = None,
    position: Sequence[int] | None = None,
) -> Source:
    """Take the frames of a stack; several layers of one shape are its channels.

    Parameters
    ----------
    layers : sequence of napari Image layers
        A picture lies in the last two axes, before the colours of RGB.
    focus_axis : int
        Axis along which the focus changes.
    channel_axis : int, optional
        Axis of channels, which are fused by one decision.
    position : sequence of int, optional
        Where to take the slices on the axes that are neither; by default at 0.
    """
    first = layers[0]
    _check_picture_axes(first)
    n_leading = first.ndim - 2
    if not 0 <= focus_axis < n_leading:
        raise InputError(f"{first.name} has no axis {focus_axis} that slices could lie along; choose another")
    if channel_axis == focus_axis:
        raise InputError(
            f"{axis_name(first, focus_axis)} is chosen for focus and for channels; choose two axes"
        )
    shapes = {_shape(layer) for layer in layers}
    if len(shapes) > 1:
        raise InputError(
            f"the selected stacks have the shapes {' and '.join(map(str, sorted(shapes)))}; "
            "channels of one stack have the same shape"
        )
    n_channels = 1 if channel_axis is None else _shape(first)[channel_axis]
    if (n_channels > 1 or len(layers) > 1) and any(layer.rgb for layer in layers):
        raise InputError(f"{first.name} is RGB, and cannot be a channel beside others; fuse it alone")
    at = position or [0] * n_leading
    numbers: list[int | None] = [None] if channel_axis is None else list(range(n_channels))
    channels = tuple(Channel(Snapshot.of(layer), number) for layer in layers for number in numbers)
    arrays = [_array(layer) for layer in layers for _ in numbers]

    def index(k: int, channel: Channel) -> tuple[int, ...]:
        chosen = {focus_axis: k}
        if channel_axis is not None and channel.number is not None:
            chosen[channel_axis] = channel.number
        return tuple(chosen.get(axis, place) for axis, place in enumerate(at))

    def plane(k: int, channel: Channel, array: Any) -> Plane:
        return Plane(f"slice {k} of {channel.layer.name}", array, index(k, channel))

    others = {
        axis: length
        for axis, length in enumerate(_shape(first)[:n_leading])
        if length > 1 and axis not in (focus_axis, channel_axis)
    }
    n_frames = _shape(first)[focus_axis]
    if n_frames < 2:
        raise InputError(f"{first.name} has one slice along this axis; fusion needs two or more")
    planes = [[plane(k, *of) for of in zip(channels, arrays, strict=True)] for k in range(n_frames)]
    return Source(
        LayerFrames(planes, alpha=channel_axis is None and last_is_alpha([layer.name for layer in layers])),
        tuple(f"slice {k} of {' and '.join(layer.name for layer in layers)}" for k in range(n_frames)),
        channels,
        focus_axis,
        tuple(index(0, channel) for channel in channels),
        {axis_name(first, axis): at[axis] for axis in others},
        _in_memory(layers),
        (
            *_elsewhere(layers),
            *(
                f"only {axis_name(first, axis)} = {at[axis]} (of 0 to {length - 1}), where its slider stands"
                for axis, length in others.items()
            ),
        ),
    )


def from_list(layers: Sequence["Image"]) -> Source:
    """Take flat layers as frames, in their order."""
    if len(layers) < 2:
        raise InputError("select the layers to fuse, two or more, or choose a stack above")
    planes = [[Plane(layer.name, _array(layer), ())] for layer in layers]
    names = tuple(layer.name for layer in layers)
    frames = LayerFrames(planes)
    channels = (Channel(Snapshot.of(layers[0])),)
    return Source(frames, names, channels, None, ((),), {}, _in_memory(layers), tuple(_elsewhere(layers)))


def _check_picture_axes(layer: "Image") -> None:
    """Refuse a stack whose pictures do not lie in its last two axes, if their names tell so."""
    *leading, row, col = (label.lower() for label in layer.axis_labels)
    if {row, col} & {"c", "t", "z"} or {"x", "y"} & {*leading}:
        raise InputError(
            f"{layer.name} has the axes {', '.join(layer.axis_labels)}; those of the picture have to be "
            "the last two: add the array with its other axes moved to the front, or channels by channel_axis"
        )


def in_one_line(error: Exception) -> str:
    """Return what an error says, else what it is called."""
    return " ".join(str(error).split()) or type(error).__name__


def _elsewhere(layers: Sequence["Image"]) -> Iterator[str]:
    """Name layers that do not lie on the first in the viewer, by half a pixel: their pixels still do here."""
    first = layers[0]
    height, width = _shape(first)[first.ndim - 2 : first.ndim]
    corners = np.zeros((3, first.ndim))
    corners[1, -2], corners[2, -1] = height, width

    def placed(layer: "Image") -> NDArray[Any]:
        return np.array([layer.data_to_world(corner)[-2:] for corner in corners])

    def units(layer: "Image") -> list[str]:
        return [unit_sign(unit) for unit in layer.units[-2:]]

    half_a_pixel = 0.5 * np.abs(first.scale[-2:])
    for layer in layers[1:]:
        apart = np.abs(placed(layer) - placed(first)) > half_a_pixel
        if apart.any() or units(layer) != units(first):
            yield (
                f"{layer.name} lies elsewhere than {first.name} in the viewer: "
                "fused pixel by pixel all the same"
            )


def axis_name(layer: "Image", axis: int) -> str:
    """Return what an axis is called; those that nobody named are -1, -2, ..., as at napari's sliders."""
    label = str(layer.axis_labels[axis])
    return f"axis {label}" if label.startswith("-") else label


def _array(layer: "Image") -> Any:
    return layer.data[0] if layer.multiscale else layer.data


def _shape(layer: "Image") -> tuple[int, ...]:
    return tuple(_array(layer).shape)


def _in_memory(layers: Sequence["Image"]) -> bool:
    return all(isinstance(_array(layer), np.ndarray) for layer in layers)
