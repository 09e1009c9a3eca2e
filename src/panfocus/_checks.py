"""Checks of arguments and frames."""

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus._intensity import SUPPORTED_DTYPES
from panfocus.errors import InputError
from panfocus.stack import Chosen, Frames, Stack, in_native_order

BAND_VALUES = 1 << 22  # values of a frame that are checked at once
FLOAT_LIMIT = 1e15  # squares of such values, and of their inverse, fit into float32
MOST_CHANNELS = 64  # more are not channels but an image axis in the wrong place


def check_integer(name: str, value: object, *, at_least: int, at_most: int | None = None) -> None:
    """Raise unless the value is an integer in its range."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        problem = "be a whole number"
    elif value < at_least:
        problem = f"be at least {at_least}"
    elif at_most is not None and int(value) > at_most:
        problem = f"be at most {at_most}"
    else:
        return
    raise InputError(f"{_label(name)} must {problem}, got {value!r}.", setting=name, got=value)


def check_number(name: str, value: object) -> None:
    """Raise unless the value is a number; callers check its range."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InputError(f"{_label(name)} must be a number, got {value!r}.", setting=name, got=value)


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise unless the value is one of the choices."""
    if value not in choices:
        raise InputError(
            f"{_label(name)} must be one of {', '.join(choices)}, got {value!r}.", setting=name, got=value
        )


def _label(name: str) -> str:
    """Return a setting's name in backticks; other names, such as "stroke 3: radius", stay as they are."""
    return f"`{name}`" if name.isidentifier() else _capitalize(name)


def _capitalize(name: str) -> str:
    """Return a name for the start of a sentence; names of files keep their case."""
    return name.capitalize() if name.startswith(("frame ", "stroke ", "the ")) else name


def frames_array(
    frames: ArrayLike | Sequence[ArrayLike] | Frames | Stack, names: Sequence[str] | None = None
) -> Frames:
    """Return frames as one array (n, h, w) or (n, h, w, c) in native byte order; raise if they are no stack.

    Anything with a shape and a dtype counts as an array, in memory or not, and is checked frame by frame.
    `names` are used in messages instead of "frame 0", "frame 1", ...
    """

    def name(i: int) -> str:
        return names[i] if names else f"frame {i}"

    if is_lazy(frames):
        raise InputError(
            "Dask and Zarr arrays are supported only by `fuse`. Load them first with np.asarray(frames).",
            setting="frames",
        )
    if isinstance(frames, Stack):
        frames = frames.frames
    if isinstance(frames, str | Path):
        raise InputError("`frames` is a path. Read it with pf.read_stack(path).", setting="frames")
    if isinstance(frames, Frames):
        if frames.ndim not in (3, 4):
            raise InputError(
                f"`frames` must have shape (n, h, w) or (n, h, w, c), got {frames.shape}.",
                setting="frames",
                got=frames.shape,
            )
        check_count(len(frames))
        if frames.shape[2] <= 4 < min(frames.shape[:2]):
            raise InputError(
                f"`frames` has shape {frames.shape}: the frames would be {frames.shape[2]} pixels wide. The "
                "first axis must count the frames; a single image is no stack.",
                setting="frames",
                got=frames.shape,
            )
        if isinstance(frames, np.ma.MaskedArray):
            frames = _unmask(frames, "`frames`")
        if not frames.dtype.isnative:  # arrays on disk are converted as they are read
            in_memory = isinstance(frames, np.ndarray) and not isinstance(frames, np.memmap)
            frames = in_native_order(np.asarray(frames)) if in_memory else Chosen(frames, range(len(frames)))
        like = blank(frames.shape[1:], frames.dtype)
        check_kind(like, name(0), like, name(0))
        if frames.dtype.kind == "f":
            for i in range(len(frames)):
                check_range(name(i), largest_magnitude(frames, i))
        return frames
    if not isinstance(frames, Iterable):
        raise InputError(
            f"`frames` must be an array or a sequence of arrays, got {type(frames).__name__}.",
            setting="frames",
        )
    arrays = [
        in_native_order(np.asarray(_unmask(frame, name(i)) if np.ma.isMaskedArray(frame) else frame))
        for i, frame in enumerate(frames)
    ]
    check_count(len(arrays))
    for i, array in enumerate(arrays):
        check_like(array, name(i), arrays[0], name(0))
    return np.stack(arrays)


def is_lazy(frames: object) -> bool:
    """Return whether frames are a Dask or Zarr array, without importing either library."""
    return type(frames).__module__.partition(".")[0] in ("dask", "zarr") and hasattr(frames, "chunks")


def blank(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array of zeros that takes no memory, for checks of shape and dtype."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def check_count(n_frames: int) -> None:
    """Raise for fewer than two frames."""
    if n_frames < 2:
        raise InputError(f"Fusion needs at least two frames, got {n_frames}.", frames=n_frames, needed=2)


def _unmask(array: np.ma.MaskedArray[Any, Any], name: str) -> NDArray[Any]:
    """Return the data of a masked array; raise if any value is masked."""
    if np.ma.is_masked(array):
        raise InputError(
            f"{_capitalize(name)} has masked values, which are not supported. Fill them first, for example "
            "with array.filled(0).",
            file=name,
        )
    return np.asarray(array.data)


def check_like(array: NDArray[Any], name: str, first: NDArray[Any], first_name: str) -> None:
    """Raise if a frame is not supported or differs from the first one in kind."""
    check_kind(array, name, first, first_name)
    if array.dtype.kind == "f":
        check_range(name, largest_magnitude(array[None], 0))


def check_kind(array: NDArray[Any], name: str, first: NDArray[Any], first_name: str) -> None:
    """Raise if the shape or dtype of a frame is not supported or differs from the first; ignore values."""
    start = _capitalize(name)
    if array.size == 0:
        raise InputError(f"{start} is empty: its shape is {array.shape}.", file=name, got=array.shape)
    if array.ndim not in (2, 3):
        raise InputError(
            f"{start} has shape {array.shape}, expected (h, w) or (h, w, c).", file=name, got=array.shape
        )
    if array.ndim == 3 and (array.shape[2] > MOST_CHANNELS or (array.shape[0] <= 4 < array.shape[2])):
        raise InputError(
            f"{start} has shape {array.shape}: {array.shape[2]} channels. Channels must be the last axis; "
            "move them with np.moveaxis(frames, 1, -1).",
            file=name,
            got=array.shape,
            limit=MOST_CHANNELS,
        )
    if array.dtype.name not in SUPPORTED_DTYPES:
        raise InputError(
            f"{start} has dtype {array.dtype.name}, supported are {', '.join(SUPPORTED_DTYPES)}.",
            file=name,
            got=array.dtype.name,
        )
    if array.dtype != first.dtype:
        raise InputError(
            f"{start} is {array.dtype.name}, but {first_name} is {first.dtype.name}. "
            "All frames must have the same bit depth.",
            file=name,
            got=array.dtype.name,
            needed=first.dtype.name,
        )
    if array.shape[2:] != first.shape[2:]:
        raise InputError(
            f"{start} is {_colour_model(array)}, but {first_name} is {_colour_model(first)}. "
            "Convert them to the same colour model.",
            file=name,
            got=array.shape,
            needed=first.shape,
        )
    if array.shape[:2] != first.shape[:2]:
        raise InputError(
            f"{start} has {_size(array)} pixels, but {first_name} has {_size(first)}. "
            "All frames must have the same size.",
            file=name,
            got=array.shape,
            needed=first.shape,
        )


def largest_magnitude(frames: Frames, k: int) -> float:
    """Return the largest absolute value of a float frame, read in bands; NaN if it contains NaN."""
    height, width = frames.shape[1:3]
    rows = max(1, BAND_VALUES // math.prod(frames.shape[2:]))
    bands = (
        np.asarray(frames[k, slice(top, min(top + rows, height)), slice(0, width)])
        for top in range(0, height, rows)
    )
    return float(np.max([max(abs(float(band.min())), abs(float(band.max()))) for band in bands]))


def check_range(name: str, largest: float) -> None:
    """Raise if the largest absolute value of a float frame is not finite, too large or too small."""
    if not math.isfinite(largest):
        raise InputError(
            f"{_capitalize(name)} contains NaN or infinite values. Replace them first.",
            file=name,
            got=largest,
        )
    if largest != 0 and not 1 / FLOAT_LIMIT <= largest <= FLOAT_LIMIT:
        raise InputError(
            f"{_capitalize(name)} has values up to {largest:g}. Rescale them to about 0 to 1.",
            file=name,
            got=largest,
        )


def _size(array: NDArray[Any]) -> str:
    return f"{array.shape[1]} x {array.shape[0]}"


def _colour_model(array: NDArray[Any]) -> str:
    channels = array.shape[2] if array.ndim == 3 else 1
    return {1: "grey", 2: "grey with alpha", 3: "colour", 4: "colour with alpha"}.get(
        channels, f"an image of {channels} channels"
    )
