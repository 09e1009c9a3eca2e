"""How deep the values of the written picture are, if it is not as deep as the frames."""

import dataclasses
from typing import TYPE_CHECKING, Any

from panfocus.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from panfocus.stack import Stack

BITS = (8, 16)
ROWS = 64  # that are converted at once: floats of the whole picture would take several times its memory


def check_bits(bits: int | None) -> None:
    """Refuse depths that no picture is written with."""
    if bits is not None and bits not in BITS:
        raise InputError(f"--bits must be {' or '.join(map(str, BITS))}, got {bits}")


def written_dtype(bits: int | None, dtype: "np.dtype[Any]") -> "np.dtype[Any]":
    """Return the type of the written values, of frames of a type."""
    import numpy as np

    return dtype if bits is None else np.dtype(f"uint{bits}")


def said_bits(bits: int | None, dtype: "np.dtype[Any]") -> list[str]:
    """Say in a sentence what is lost, if anything is."""
    target = written_dtype(bits, dtype)
    if target == dtype or (dtype.kind == "u" and target.itemsize > dtype.itemsize):
        return []
    clipped = ", those outside of 0 to 1 clipped" if dtype.kind == "f" else ""
    return [f"Values are rounded to {bits} bits{clipped}; the frames are {dtype.name}."]


def in_bits(image: "NDArray[Any]", like: "Stack", bits: int | None) -> "tuple[NDArray[Any], Stack]":
    """Bring a picture to a depth: full scale to full scale, rounded; 8 bits in 16 keep every value.

    Returns also what it is like then: how many bits of the frames' values count is no longer true.
    """
    import numpy as np

    from panfocus._intensity import IntensityScale

    target = written_dtype(bits, image.dtype)
    if target == image.dtype:
        return image, like
    source, scale = IntensityScale.of(image.dtype), IntensityScale.of(target)
    converted = np.empty(image.shape, target)
    for top in range(0, len(image), ROWS):
        converted[top : top + ROWS] = scale.from_unit(source.to_unit(image[top : top + ROWS]))
    chunks = tuple(chunk for chunk in like.metadata.png_colour if chunk[0] != b"sBIT")
    return converted, dataclasses.replace(
        like, metadata=dataclasses.replace(like.metadata, png_colour=chunks)
    )
