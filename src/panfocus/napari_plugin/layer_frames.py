"""Frames in image layers, read on demand, and the position and appearance of these layers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import blank, check_kind
from panfocus._threads import check_cancelled
from panfocus.errors import FileError, InputError
from panfocus.stack import Acquisition, LazyFrames, join_channels, joined_channel_count, last_is_alpha

if TYPE_CHECKING:
    from napari.layers import Image


LOOKS = (
    "rgb",
    "blending",
    "opacity",
    "interpolation2d",
    "interpolation3d",
    "custom_interpolation_kernel_2d",
)
LOOKS_OF_GREY = ("colormap", "contrast_limits", "gamma")
MICROSCOPY_UNITS = ("µm", "nm")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Name, position and appearance of a layer when a fusion starts; it may change meanwhile."""

    name: str
    ndim: int  # without the colours of RGB
    scale: NDArray[Any]
    translate: NDArray[Any]
    linear: NDArray[Any]  # from data to world: scale, rotation, shear
    affine: NDArray[Any]  # matrix applied after `linear`
    units: tuple[Any, ...]
    axis_labels: tuple[str, ...]
    looks: dict[str, Any]  # settings for a layer of the same appearance

    @classmethod
    def of(cls, layer: "Image") -> "Snapshot":
        """Return the snapshot of a layer."""
        from napari.utils.transforms import Affine

        own = Affine(scale=layer.scale, translate=layer.translate, rotate=layer.rotate, shear=layer.shear)
        looks = LOOKS if layer.rgb else (*LOOKS, *LOOKS_OF_GREY)
        return cls(
            layer.name,
            layer.ndim,
            np.array(layer.scale),
            np.array(layer.translate),
            np.array(own.linear_matrix),
            np.array(layer.affine.affine_matrix),
            tuple(layer.units),
            tuple(layer.axis_labels),
            {look: getattr(layer, look) for look in looks},
        )

    def position(self, axes: Sequence[int]) -> dict[str, Any]:
        """Return the position in the world of data along some axes of the layer.

        Rotation and shear become part of the affine matrix: napari cannot set them for every number of axes.
        """
        chosen = list(axes)
        scale, translate = self.scale[chosen], self.translate[chosen]
        turned = np.eye(len(chosen) + 1)
        turned[:-1, :-1] = self.linear[np.ix_(chosen, chosen)] / scale
        turned[:-1, -1] = translate - turned[:-1, :-1] @ translate
        with_offset = [*chosen, self.ndim]
        return {
            "scale": scale,
            "translate": translate,
            "affine": self.affine[np.ix_(with_offset, with_offset)] @ turned,
            "units": tuple(self.units[axis] for axis in chosen),
            "axis_labels": tuple(self.axis_labels[axis] for axis in chosen),
        }


def unit_sign(unit: Any) -> str:
    """Return the symbol of a unit; µm for a micron, which pint writes as µ."""

    def is_one(sign: str) -> bool:
        return bool(unit.is_compatible_with(sign) and (1 * unit).m_as(sign) == 1)

    return next(filter(is_one, MICROSCOPY_UNITS), f"{unit:~}")


@dataclass(frozen=True)
class Channel:
    """One fused image: the layer it belongs to, and its place in that layer."""

    layer: Snapshot
    number: int | None = None  # on the channel axis
    position: tuple[int, ...] = ()  # on the axes before the last two; 0 on the focus axis


@dataclass(frozen=True, eq=False)
class Source:
    """Frames of layers, and how to name and place their fusion.

    Attributes
    ----------
    frames : LazyFrames
        The frames (n, h, w) or (n, h, w, c). Several channels may be followed by a blank one.
    names : tuple of str
        Names of the frames for messages.
    channels : tuple of Channel
        The fused images.
    focus_axis : int, optional
        Axis of the layers along which the focus changes; None if each frame is a layer.
    place : dict of str to int
        Index on other axes, such as time, by the name of the axis.
    in_memory : bool
        Whether all layers are NumPy arrays.
    notices : tuple of str
        What users may not expect, such as which time point is fused.
    """

    frames: LazyFrames
    names: tuple[str, ...]
    channels: tuple[Channel, ...]
    focus_axis: int | None
    place: dict[str, int]
    in_memory: bool
    notices: tuple[str, ...] = ()

    @property
    def acquisition(self) -> Acquisition:
        """Channel names and pixel size of the layers, as in a microscopy file."""
        layer = self.channels[0].layer
        height, width = layer.scale[-2:]
        names = tuple(channel.layer.name for channel in self.channels)
        return Acquisition(names, width, height, unit=unit_sign(layer.units[-1]))


@dataclass(frozen=True, eq=False)
class Plane:
    """A slice of a layer."""

    name: str
    data: Any
    index: tuple[int, ...]  # on the axes before the image axes

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the image, with its colours."""
        return tuple(self.data.shape[len(self.index) :])

    @property
    def like(self) -> NDArray[Any]:
        """A blank array of its shape and type, in native byte order."""
        return blank(self.shape, np.dtype(self.data.dtype).newbyteorder("="))

    def read(self, place: tuple[Any, ...]) -> NDArray[Any]:
        """Return a rectangle of the slice."""
        try:
            return np.asarray(self.data[(*self.index, *place)]).astype(self.like.dtype, copy=False)
        except Exception as error:  # the source of a lazy layer may raise anything
            raise FileError(f"{self.name}: cannot read it: {in_one_line(error)}", file=self.name) from error


class LayerFrames(LazyFrames):
    """Frames whose channels are slices of layers; `planes` is a list of frames, each a list of channels."""

    def __init__(self, planes: Sequence[Sequence[Plane]], *, alpha: bool = False) -> None:
        first = planes[0][0]
        for plane in (plane for frame in planes for plane in frame):
            check_kind(plane.like, plane.name, first.like, first.name)
        n_channels = len(planes[0])
        self._planes = planes
        self._alpha = alpha
        channels = (joined_channel_count(n_channels, alpha=alpha),) if n_channels > 1 else ()
        super().__init__((len(planes), *first.shape, *channels), first.like.dtype)

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        check_cancelled()
        read = [plane.read(place) for plane in self._planes[k]]
        return read[0] if len(read) == 1 else join_channels(read, alpha=self._alpha)


def from_stacks(
    layers: Sequence["Image"],
    focus_axis: int,
    channel_axis: int | None = None,
    position: Sequence[int] | None = None,
) -> Source:
    """Return the frames of a stack; several layers of one shape are its channels.

    Parameters
    ----------
    layers : sequence of napari Image layers
        The image axes are the last two, before the colours of RGB.
    focus_axis : int
        Axis along which the focus changes.
    channel_axis : int, optional
        Axis of channels.
    position : sequence of int, optional
        Index on the other axes; by default 0.
    """
    first = layers[0]
    _check_picture_axes(first)
    n_leading = first.ndim - 2
    if not 0 <= focus_axis < n_leading:
        raise InputError(
            f"{first.name}: axis {focus_axis} cannot be the focus axis.", layer=first.name, got=focus_axis
        )
    if channel_axis == focus_axis:
        raise InputError(
            f"{axis_name(first, focus_axis)} is both the focus axis and the channel axis. Choose two axes.",
            setting="channel_axis",
        )
    shapes = {_shape(layer) for layer in layers}
    if len(shapes) > 1:
        raise InputError(
            f"Channels of a stack must have one shape, got {' and '.join(map(str, sorted(shapes)))}.",
            got=sorted(shapes),
        )
    n_channels = 1 if channel_axis is None else _shape(first)[channel_axis]
    if (n_channels > 1 or len(layers) > 1) and any(layer.rgb for layer in layers):
        raise InputError(f"{first.name}: an RGB layer cannot be a channel. Fuse it alone.", layer=first.name)
    n_frames = _shape(first)[focus_axis]
    if n_frames < 2:
        raise InputError(f"{first.name}: fusion needs at least two slices, got 1.", layer=first.name, got=1)
    at = list(position or [0] * n_leading)
    at[focus_axis] = 0
    channels: list[Channel] = []
    planes: list[list[Plane]] = [[] for _ in range(n_frames)]
    for layer in layers:
        snapshot, array = Snapshot.of(layer), _array(layer)
        for number in [None] if channel_axis is None else range(n_channels):
            if channel_axis is not None and number is not None:
                at[channel_axis] = number
            channels.append(Channel(snapshot, number, tuple(at)))
            for k, frame in enumerate(planes):
                index = (*at[:focus_axis], k, *at[focus_axis + 1 :])
                frame.append(Plane(f"slice {k} of {layer.name}", array, index))
    others = {
        axis: length
        for axis, length in enumerate(_shape(first)[:n_leading])
        if length > 1 and axis not in (focus_axis, channel_axis)
    }
    return Source(
        LayerFrames(planes, alpha=channel_axis is None and last_is_alpha([layer.name for layer in layers])),
        tuple(f"slice {k} of {' and '.join(layer.name for layer in layers)}" for k in range(n_frames)),
        tuple(channels),
        focus_axis,
        {axis_name(first, axis): at[axis] for axis in others},
        _in_memory(layers),
        (
            *_position_notices(layers),
            *(
                f"Fused only {axis_name(first, axis)} = {at[axis]} (of 0 to {length - 1}), set by its slider."
                for axis, length in others.items()
            ),
        ),
    )


def from_list(layers: Sequence["Image"]) -> Source:
    """Return 2-D layers as frames, in their order."""
    if len(layers) < 2:
        raise InputError("Select two or more layers to fuse, or choose a stack.", got=len(layers))
    return Source(
        LayerFrames([[Plane(layer.name, _array(layer), ())] for layer in layers]),
        tuple(layer.name for layer in layers),
        (Channel(Snapshot.of(layers[0])),),
        None,
        {},
        _in_memory(layers),
        tuple(_position_notices(layers)),
    )


def _check_picture_axes(layer: "Image") -> None:
    """Raise if the names of the axes say that the image axes are not the last two."""
    *leading, row, col = (label.lower() for label in layer.axis_labels)
    if {row, col} & {"c", "t", "z"} or {"x", "y"} & {*leading}:
        raise InputError(
            f"{layer.name}: the axes are {', '.join(layer.axis_labels)}, but y and x must be the last two. "
            "Move the other axes of the array to the front, or add it with napari's channel_axis.",
            layer=layer.name,
        )


def in_one_line(error: Exception) -> str:
    """Return the message of an error as one line, or its class if it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def _position_notices(layers: Sequence["Image"]) -> Iterator[str]:
    """Return a notice for each layer that the viewer shows half a pixel or more away from the first."""
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
                f"{layer.name} and {first.name} have different positions in the viewer, which fusion ignores."
            )


def axis_name(layer: "Image", axis: int) -> str:
    """Return the name of an axis; unnamed axes are -1, -2, ..., as at the sliders of napari."""
    label = str(layer.axis_labels[axis])
    return f"axis {label}" if label.startswith("-") else label


def _array(layer: "Image") -> Any:
    return layer.data[0] if layer.multiscale else layer.data


def _shape(layer: "Image") -> tuple[int, ...]:
    return tuple(_array(layer).shape)


def _in_memory(layers: Sequence["Image"]) -> bool:
    return all(isinstance(_array(layer), np.ndarray) for layer in layers)
