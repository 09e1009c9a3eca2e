"""Checks of what users hand over, and the wording of their errors."""

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus._intensity import SUPPORTED_DTYPES
from panfocus.errors import InputError
from panfocus.stack import Chosen, Frames, in_native_order

BAND_VALUES = 1 << 22  # of a frame that are looked at at once
FLOAT_LIMIT = 1e15  # squares of such values, and of their inverse, still fit into float32


def whole_number(name: str, value: object, *, at_least: int, at_most: int | None = None) -> None:
    """Refuse what is not a whole number in its range."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InputError(f"{name} must be a whole number, got {value!r}")
    if value < at_least:
        raise InputError(f"{name} must be at least {at_least}, got {value}")
    if at_most is not None and int(value) > at_most:
        raise InputError(f"{name} must be at most {at_most}, got {value}")


def real_number(name: str, value: object) -> None:
    """Refuse what is not a number; its range is the caller's to check."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InputError(f"{name} must be a number, got {value!r}")


def one_of(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse what is none of the choices."""
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def frames_array(
    frames: ArrayLike | Sequence[ArrayLike] | Frames, names: Sequence[str] | None = None
) -> Frames:
    """Return the frames as one array (n, h, w) or (n, h, w, c), or say what keeps them from being a stack.

    It has the byte order of this machine.
    What has a shape and a type is an array already, in memory or not; it is looked through frame by frame.
    In messages frames have their names, by default frame 0, frame 1, ...
    """

    def name(i: int) -> str:
        return names[i] if names else f"frame {i}"

    if is_lazy(frames):
        raise InputError(
            "arrays of Dask and Zarr are taken by `fuse` alone; give frames in memory: np.asarray(frames)"
        )
    if isinstance(frames, Frames):
        if frames.ndim not in (3, 4):
            raise InputError(f"frames have shape {frames.shape}; needed: (n, h, w) or (n, h, w, c)")
        _check_count(len(frames))
        if not frames.dtype.isnative:  # what lies on disk is not held in memory for that
            in_memory = isinstance(frames, np.ndarray) and not isinstance(frames, np.memmap)
            frames = in_native_order(np.asarray(frames)) if in_memory else Chosen(frames, range(len(frames)))
        alike = blank(frames.shape[1:], frames.dtype)
        check_kind(alike, name(0), alike, name(0))
        if frames.dtype.kind == "f":
            for i in range(len(frames)):
                check_range(name(i), largest_magnitude(frames, i))
        return frames
    if not isinstance(frames, Iterable):
        raise InputError(f"frames are {frames!r}; needed: an array or a sequence of arrays")
    arrays = [in_native_order(np.asarray(frame)) for frame in frames]
    _check_count(len(arrays))
    for i, array in enumerate(arrays):
        check_like(array, name(i), arrays[0], name(0))
    return np.stack(arrays)


def is_lazy(frames: object) -> bool:
    """Tell whether frames are an array of Dask or of Zarr; neither is imported for that."""
    return type(frames).__module__.partition(".")[0] in ("dask", "zarr") and hasattr(frames, "chunks")


def blank(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array of zeros that takes no memory: something of this kind, for checks."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def _check_count(n_frames: int) -> None:
    if n_frames < 2:
        raise InputError(f"fusion needs at least two frames, got {n_frames or 'none'}")


def check_like(array: NDArray[Any], name: str, first: NDArray[Any], first_name: str) -> None:
    """Refuse a frame that cannot be used, or that does not match the first one."""
    check_kind(array, name, first, first_name)
    if array.dtype.kind == "f":
        check_range(name, largest_magnitude(array[None], 0))


def check_kind(array: NDArray[Any], name: str, first: NDArray[Any], first_name: str) -> None:
    """Refuse a frame by its shape and type; its values, which may not be there yet, are not looked at."""
    if array.ndim not in (2, 3) or array.size == 0:
        raise InputError(f"{name} has shape {array.shape}; needed: (h, w) or (h, w, c)")
    if array.dtype.name not in SUPPORTED_DTYPES:
        raise InputError(f"{name} is {array.dtype.name}; supported: {', '.join(SUPPORTED_DTYPES)}")
    if array.dtype != first.dtype:
        raise InputError(
            f"{name} is {array.dtype.name}, {first_name} is {first.dtype.name}; "
            f"all frames need one bit depth ({', '.join(SUPPORTED_DTYPES)})"
        )
    if array.shape[2:] != first.shape[2:]:
        raise InputError(
            f"{name} is {_colour_model(array)}, {first_name} is {_colour_model(first)}; "
            "convert them to one colour model"
        )
    if array.shape[:2] != first.shape[:2]:
        raise InputError(
            f"{name} is {_size(array)} pixels, {first_name} is {_size(first)}; "
            "all frames need one size: crop them"
        )


def largest_magnitude(frames: Frames, k: int) -> float:
    """Return the largest value of a frame of floats, of either sign; NaN if one is none."""
    height, width = frames.shape[1:3]
    rows = max(1, BAND_VALUES // math.prod(frames.shape[2:]))
    bands = (
        np.asarray(frames[k, slice(top, min(top + rows, height)), slice(0, width)])
        for top in range(0, height, rows)
    )
    return float(np.max([max(abs(float(band.min())), abs(float(band.max()))) for band in bands]))


def check_range(name: str, largest: float) -> None:
    """Refuse a frame of floats whose largest value is this."""
    if not math.isfinite(largest):
        raise InputError(f"{name} holds NaN or infinite values; replace them first")
    if largest != 0 and not 1 / FLOAT_LIMIT <= largest <= FLOAT_LIMIT:
        raise InputError(f"{name} holds values up to {largest:g}; rescale them to about 0 to 1")


def _size(array: NDArray[Any]) -> str:
    return f"{array.shape[1]} x {array.shape[0]}"


def _colour_model(array: NDArray[Any]) -> str:
    channels = array.shape[2] if array.ndim == 3 else 1
    return {1: "grey", 2: "grey with alpha", 3: "colour", 4: "colour with alpha"}.get(
        channels, f"of {channels} channels"
    )
