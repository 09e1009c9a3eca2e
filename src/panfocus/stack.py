"""Stack: the frames of one scene as they were read, and what came with them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

SAMPLED, STRIP = 1 << 20, 16  # pixels of a frame that are measured, in strips of so many rows


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


@dataclass(frozen=True, eq=False)
class Part:
    """A rectangle of frames that are not in memory; what is asked of it is read then."""

    frames: Frames
    rows: slice
    cols: slice

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of its axes."""
        n, _, _, *channels = self.frames.shape
        return (n, self.rows.stop - self.rows.start, self.cols.stop - self.cols.start, *channels)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of its values."""
        return self.frames.dtype

    @property
    def ndim(self) -> int:
        """3 or 4: number of its axes."""
        return self.frames.ndim

    def __len__(self) -> int:
        return len(self.frames)

    def __getitem__(self, key: tuple[int | slice, slice, slice], /) -> NDArray[Any]:
        chosen, rows, cols = key
        top, left = self.rows.start, self.cols.start
        return np.asarray(
            self.frames[
                chosen,
                slice(top + rows.start, top + rows.stop),
                slice(left + cols.start, left + cols.stop),
            ]
        )


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


@dataclass(frozen=True, eq=False)
class Chosen:
    """Some frames of a stack, by their numbers; what is asked of them is read then."""

    frames: Frames
    numbers: Sequence[int]

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of its axes."""
        return (len(self.numbers), *self.frames.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of its values."""
        return self.frames.dtype

    @property
    def ndim(self) -> int:
        """3 or 4: number of its axes."""
        return self.frames.ndim

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, key: Any, /) -> NDArray[Any]:
        chosen, *part = key if isinstance(key, tuple) else (key,)
        if isinstance(chosen, slice):
            return np.stack([self.frames[k, *part] for k in self.numbers[chosen]])
        return np.asarray(self.frames[self.numbers[chosen], *part])


def slab_of(frames: Frames, span: range) -> Frames:
    """Return consecutive frames: a view of an array, or what is read when it is indexed."""
    return frames[span.start : span.stop] if isinstance(frames, np.ndarray) else Chosen(frames, span)


def colours(frame: NDArray[Any]) -> NDArray[Any]:
    """Return the channels (h, w, c) of a frame (h, w) or (h, w, c) without alpha, the last of 2 or 4."""
    if frame.ndim == 2:
        return frame[..., None]
    return frame[..., :-1] if frame.shape[2] in (2, 4) else frame


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
        Colour profile of the first frame; the fused image is in its colour space.
    notices : tuple of str
        Sentences on what reading left behind.
    metadata : Metadata
        What the reference frame's file says beside that; the fused image's file says it too.
    """

    frames: Frames
    names: tuple[str, ...]
    icc_profile: bytes | None = None
    notices: tuple[str, ...] = ()
    metadata: Metadata = NO_METADATA
