"""Stack: the frames of one scene as they were read, and what came with them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from panfocus.errors import Notice

SAMPLED, STRIP = 1 << 20, 16  # pixels of a frame that are measured, in strips of so many rows
WITH_ALPHA = (2, 4)  # channels, of which the last is taken for alpha


@runtime_checkable
class Frames(Protocol):
    """An array of frames (n, h, w) or (n, h, w, c), or what can be indexed like one but is not in memory."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of its axes."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of its values."""
        ...

    @property
    def ndim(self) -> int:
        """3 or 4: number of its axes."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, key: Any, /) -> NDArray[Any]: ...


def in_native_order(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array in this machine's byte order, the only one that compiled code takes."""
    return values.astype(values.dtype.newbyteorder("="), copy=False)


class LazyFrames(ABC):
    """Frames that are not in memory: what is asked of them is read, or made, then.

    They are indexed like an array, by a frame or a slice of frames, and by a rectangle of these or none.
    Their values come in this machine's byte order, whatever that of their source is.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype.newbyteorder("=")
        self.ndim = len(shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any, /) -> NDArray[Any]:
        chosen, *place = key if isinstance(key, tuple) else (key,)
        if not isinstance(chosen, slice):
            return in_native_order(self._frame(range(len(self))[chosen], tuple(place)))
        numbers = range(len(self))[chosen]
        of_each = np.broadcast_to(np.empty((), self.dtype), self.shape[1:])[tuple(place)].shape
        frames = np.empty((len(numbers), *of_each), self.dtype)
        self._read_into(frames, numbers, tuple(place))
        return frames

    def _read_into(self, frames: NDArray[Any], numbers: range, place: tuple[Any, ...]) -> None:
        """Fill an array with several frames, or a rectangle of each: one by one, unless one knows better."""
        for room, k in zip(frames, numbers, strict=True):
            room[...] = self._frame(k, place)

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
    """Return a rectangle of frames: a view of an array, or what is read when it is indexed."""
    return frames[:, rows, cols] if isinstance(frames, np.ndarray) else Part(frames, rows, cols)


@dataclass(frozen=True)
class Resolution:
    """Pixels per unit of length; units as in EXIF: 1 none, only the ratio counts; 2 inch; 3 centimetre."""

    x: Fraction
    y: Fraction
    unit: int


@dataclass(frozen=True)
class Acquisition:
    """What a microscope's file says of its axes."""

    channels: tuple[str, ...] = ("",)  # their names; several are fused by one decision
    pixel_width: float | None = None
    pixel_height: float | None = None
    step: float | None = None  # from slice to slice
    unit: str = "µm"  # of all three
    name: str = ""  # of the image
    channel_details: tuple[dict[str, str], ...] = ()  # OME attributes of each channel: Color, Fluor, ...

    @property
    def has_display(self) -> bool:
        """Whether there is an image name, a channel name, or any OME attribute of a channel."""
        return bool(self.name) or any(self.channels) or any(self.channel_details)

    @property
    def is_of_microscope(self) -> bool:
        """Whether the file says so: by several channels, or by sizes that are not those of a print."""
        return len(self.channels) > 1 or (self.pixel_width is not None and self.unit in ("µm", "nm"))


@dataclass(frozen=True)
class Metadata:
    """What a file says about its picture, beside the colour profile; to be carried over to the fused one."""

    exif: bytes | None = None  # as JPEG, PNG and WebP hold it
    xmp: bytes | None = None
    resolution: Resolution | None = None
    png_colour: tuple[tuple[bytes, bytes], ...] = ()  # chunks of a PNG on its colours and significant bits
    premultiplied: bool = False  # colours are multiplied by alpha
    acquisition: Acquisition | None = None
    left_behind: tuple[str, ...] = ()  # what else the file has, in words


NO_METADATA = Metadata()


class Chosen(LazyFrames):
    """Some frames of a stack, by their numbers."""

    def __init__(self, frames: Frames, numbers: Sequence[int]) -> None:
        super().__init__((len(numbers), *frames.shape[1:]), frames.dtype)
        self._frames = frames
        self._numbers = numbers

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        return np.asarray(self._frames[self._numbers[k], *place])


def slab_of(frames: Frames, span: range) -> Frames:
    """Return consecutive frames: a view of an array, or what is read when it is indexed."""
    return frames[span.start : span.stop] if isinstance(frames, np.ndarray) else Chosen(frames, span)


def colours(frame: NDArray[Any]) -> NDArray[Any]:
    """Return the channels (h, w, c) of a frame (h, w) or (h, w, c) without alpha, the last of 2 or 4."""
    if frame.ndim == 2:
        return frame[..., None]
    return frame[..., :-1] if frame.shape[2] in WITH_ALPHA else frame


def beside_each_other(planes: Sequence[NDArray[Any]], *, alpha: bool = False) -> NDArray[Any]:
    """Make a frame (h, w, c) of channels (h, w), as many as `n_beside` says; a blank one may be the last."""
    frame = np.zeros((*planes[0].shape, n_beside(len(planes), alpha=alpha)), planes[0].dtype)
    for channel, plane in enumerate(planes):
        frame[..., channel] = plane
    return frame


def n_beside(n_channels: int, *, alpha: bool = False) -> int:
    """Return how many channels such a frame has: one more than 2 or 4, unless the last of these is alpha."""
    return n_channels + (n_channels in WITH_ALPHA and not alpha)


def last_is_alpha(names: Sequence[str]) -> bool:
    """Tell whether the last of two or four channels is alpha, by their names."""
    plain = [name.strip().lower() for name in names]
    return len(plain) in WITH_ALPHA and (plain[-1] == "alpha" or plain == ["r", "g", "b", "a"])


def sampled_strips(frames: Frames, k: int) -> Iterator[NDArray[Any]]:
    """All of a frame, or strips of a large one, evenly spread: enough for its statistics."""
    height, width = frames.shape[1:3]
    n_strips = max(1, SAMPLED // (STRIP * width))
    rows = min(STRIP, height) if n_strips * STRIP < height else height
    for start in np.linspace(0, height - rows, n_strips if rows < height else 1).astype(np.intp):
        yield frames[k, slice(start, start + rows), slice(0, width)]


@dataclass(frozen=True, eq=False)
class Stack:
    """Frames of one size and type, in the order in which they were given.

    Attributes
    ----------
    frames : ndarray (n, h, w) or (n, h, w, c), or frames in a scratch file
        The frames in the dtype of their files.
    names : tuple of str
        What each frame is called in messages: its file, and its page where the file has several.
    icc_profile : bytes, optional
        Colour profile of the first frame, or of the reference that was named; the fused image's, too.
    notices : tuple of str
        Sentences on what reading left behind.
    metadata : Metadata
        What that frame's file says beside; the fused image's file says it too.
    """

    frames: Frames
    names: tuple[str, ...]
    icc_profile: bytes | None = None
    notices: tuple[Notice | str, ...] = ()
    metadata: Metadata = NO_METADATA
