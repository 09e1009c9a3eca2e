"""Frames of one scene, in memory or read on demand, and their metadata."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from panfocus.errors import Notice

SAMPLED, STRIP = 1 << 20, 16  # pixels of a frame used for statistics, and rows of each strip of them
WITH_ALPHA = (2, 4)  # numbers of channels of which the last is alpha


@runtime_checkable
class Frames(Protocol):
    """An array of frames (n, h, w) or (n, h, w, c), or an object on disk that is indexed like one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        ...

    @property
    def ndim(self) -> int:
        """Number of axes, 3 or 4."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, key: Any, /) -> NDArray[Any]: ...


Allocate = Callable[[tuple[int, ...], np.dtype[Any]], Any]  # returns an array that is filled plane by plane


def in_native_order(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array in native byte order, which compiled code needs."""
    return values.astype(values.dtype.newbyteorder("="), copy=False)


class LazyFrames(ABC):
    """Frames that are read or computed when they are indexed.

    They are indexed by a frame or a slice of frames, and optionally by a rectangle. Values are in native byte
    order.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype.newbyteorder("=")
        self.ndim = len(shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any, /) -> NDArray[Any]:
        selection, *place = key if isinstance(key, tuple) else (key,)
        if not isinstance(selection, slice):
            return in_native_order(self._frame(range(len(self))[selection], tuple(place)))
        numbers = range(len(self))[selection]
        frame_shape = np.broadcast_to(np.empty((), self.dtype), self.shape[1:])[tuple(place)].shape
        frames = np.empty((len(numbers), *frame_shape), self.dtype)
        self._read_into(frames, numbers, tuple(place))
        return frames

    def _read_into(self, frames: NDArray[Any], numbers: range, place: tuple[Any, ...]) -> None:
        """Fill an array with several frames, or a rectangle of each; subclasses may do this faster."""
        for target, k in zip(frames, numbers, strict=True):
            target[...] = self._frame(k, place)

    @abstractmethod
    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        """Return frame k, or a rectangle of it."""


class Part(LazyFrames):
    """A rectangle of frames."""

    def __init__(self, frames: Frames, rows: slice, cols: slice) -> None:
        n, _, _, *channels = frames.shape
        super().__init__((n, rows.stop - rows.start, cols.stop - cols.start, *channels), frames.dtype)
        self._frames = frames
        self._corner = rows.start, cols.start

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        spans = (
            slice(first + at.start, first + at.stop) for first, at in zip(self._corner, place, strict=True)
        )
        return np.asarray(self._frames[k, *spans])


def part_of(frames: Frames, rows: slice, cols: slice) -> Frames:
    """Return a rectangle of frames: a view of an array, or lazy frames."""
    return frames[:, rows, cols] if isinstance(frames, np.ndarray) else Part(frames, rows, cols)


@dataclass(frozen=True)
class Resolution:
    """Pixels per unit of length. Units as in EXIF: 1 none (only the ratio counts), 2 inch, 3 centimetre."""

    x: Fraction
    y: Fraction
    unit: int


@dataclass(frozen=True)
class Acquisition:
    """Axes of a microscopy file."""

    channels: tuple[str, ...] = ("",)  # names
    pixel_width: float | None = None
    pixel_height: float | None = None
    step: float | None = None  # distance of slices
    unit: str = "µm"  # of all three
    name: str = ""  # of the image
    channel_details: tuple[dict[str, str], ...] = ()  # OME attributes of each channel: Color, Fluor, ...

    def of_channels(self, numbers: Sequence[int]) -> "Acquisition":
        """Return the acquisition of some channels, by their numbers from 0."""
        details = self.channel_details
        return replace(
            self,
            channels=tuple(self.channels[c] for c in numbers),
            channel_details=tuple(details[c] for c in numbers) if details else (),
        )

    @property
    def has_display(self) -> bool:
        """Whether there is an image name, a channel name, or any OME attribute of a channel."""
        return bool(self.name) or any(self.channels) or any(self.channel_details)

    @property
    def is_of_microscope(self) -> bool:
        """Whether the file is from a microscope: several channels, or pixel sizes in µm or nm."""
        return len(self.channels) > 1 or (self.pixel_width is not None and self.unit in ("µm", "nm"))


@dataclass(frozen=True)
class Metadata:
    """Metadata of a file, besides the colour profile, to be copied to the fused image."""

    exif: bytes | None = None  # as JPEG, PNG and WebP hold it
    xmp: bytes | None = None
    resolution: Resolution | None = None
    png_colour: tuple[tuple[bytes, bytes], ...] = ()  # PNG chunks on colours and significant bits
    premultiplied: bool = False  # colours are multiplied by alpha
    acquisition: Acquisition | None = None
    left_behind: tuple[str, ...] = ()  # other content of the file, as text


NO_METADATA = Metadata()


class OneChannel(LazyFrames):
    """One channel of frames (n, h, w, c), as grey frames."""

    def __init__(self, frames: Frames, channel: int) -> None:
        super().__init__(frames.shape[:3], frames.dtype)
        self._frames = frames
        self._channel = channel

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        return np.ascontiguousarray(self._frames[k, *place][..., self._channel])


class ReplacedChannels(LazyFrames):
    """Frames (n, h, w, c), some channels of which are replaced by grey frames, given by channel number."""

    def __init__(self, frames: Frames, channels: Mapping[int, Frames]) -> None:
        super().__init__(frames.shape, frames.dtype)
        self.source = frames
        self.channels = channels

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        frame = np.array(self.source[k, *place])
        for number, channel in self.channels.items():
            frame[..., number] = channel[k, *place]
        return frame


def channel_of(frames: Frames, channel: int) -> Frames:
    """Return one channel of frames as grey frames."""
    if not isinstance(frames, ReplacedChannels):
        return OneChannel(frames, channel)
    return frames.channels[channel] if channel in frames.channels else channel_of(frames.source, channel)


class Chosen(LazyFrames):
    """Selected frames of a stack, by their numbers."""

    def __init__(self, frames: Frames, numbers: Sequence[int]) -> None:
        super().__init__((len(numbers), *frames.shape[1:]), frames.dtype)
        self._frames = frames
        self._numbers = numbers

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        return np.asarray(self._frames[self._numbers[k], *place])


def slab_of(frames: Frames, span: range) -> Frames:
    """Return consecutive frames: a view of an array, or lazy frames."""
    return frames[span.start : span.stop] if isinstance(frames, np.ndarray) else Chosen(frames, span)


def colours(frame: NDArray[Any]) -> NDArray[Any]:
    """Return the channels (h, w, c) of a frame (h, w) or (h, w, c) without alpha, the last of 2 or 4."""
    if frame.ndim == 2:
        return frame[..., None]
    return frame[..., :-1] if frame.shape[2] in WITH_ALPHA else frame


def join_channels(planes: Sequence[NDArray[Any]], *, alpha: bool = False) -> NDArray[Any]:
    """Return channels (h, w) as a frame (h, w, c), padded as `joined_channel_count` says."""
    frame = np.zeros((*planes[0].shape, joined_channel_count(len(planes), alpha=alpha)), planes[0].dtype)
    for channel, plane in enumerate(planes):
        frame[..., channel] = plane
    return frame


def joined_channel_count(n_channels: int, *, alpha: bool = False) -> int:
    """Return the number of channels of a frame: one more than 2 or 4, unless the last one is alpha."""
    return n_channels + (n_channels in WITH_ALPHA and not alpha)


def last_is_alpha(names: Sequence[str]) -> bool:
    """Return whether the last of two or four channels is alpha, by their names."""
    plain = [name.strip().lower() for name in names]
    return len(plain) in WITH_ALPHA and (plain[-1] == "alpha" or plain == ["r", "g", "b", "a"])


def are_colours(names: Sequence[str]) -> bool:
    """Return whether the names of channels are those of a colour image: R, G, B or red, green, blue."""
    plain = [name.strip().lower() for name in names]
    return plain[:3] in (["r", "g", "b"], ["red", "green", "blue"]) and plain[3:] in ([], ["a"], ["alpha"])


def count_and_size(shape: tuple[int, ...]) -> str:
    """Return number and size of frames (n, h, w, ...) as a text."""
    return f"{shape[0]} frames of {shape[2]} x {shape[1]}"


def sampled_strips(frames: Frames, k: int) -> Iterator[NDArray[Any]]:
    """Yield a whole frame, or evenly spaced strips of a large one, for statistics."""
    height, width = frames.shape[1:3]
    n_strips = max(1, SAMPLED // (STRIP * width))
    rows = min(STRIP, height) if n_strips * STRIP < height else height
    for start in np.linspace(0, height - rows, n_strips if rows < height else 1).astype(np.intp):
        yield frames[k, slice(start, start + rows), slice(0, width)]


@dataclass(frozen=True, eq=False, repr=False)
class Stack:
    """Frames of one size and dtype, in the given order.

    Attributes
    ----------
    frames : ndarray (n, h, w) or (n, h, w, c), or frames in a scratch file
        The frames in the dtype of their files.
    names : tuple of str
        Name of each frame in messages: its file, and its page if the file has several.
    icc_profile : bytes, optional
        Colour profile of the first frame, or of the chosen reference; copied to the fused image.
    notices : tuple of Notice or str
        What users should know about reading, such as content that is not kept.
    metadata : Metadata
        Metadata of the same frame; copied to the fused image.
    """

    frames: Frames
    names: tuple[str, ...]
    icc_profile: bytes | None = None
    notices: tuple[Notice | str, ...] = ()
    metadata: Metadata = NO_METADATA

    def __repr__(self) -> str:
        return f"Stack({count_and_size(self.frames.shape)}, {self.frames.dtype.name})"
