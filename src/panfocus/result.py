"""FusionResult: a fused image with its maps, and how to save and show it."""

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntArray
from panfocus.errors import missing_extra
from panfocus.stack import Frames, Stack

MAPS = ("labels", "confidence", "depth", "never_in_focus")  # one plane each
LAYERS = ("votes", "log_odds")  # one plane per frame, returned only on request


@dataclass(frozen=True, eq=False, repr=False)
class FusionResult:
    """A fused image and its maps; a map is None where the method does not compute it.

    Attributes
    ----------
    image : ndarray (h, w) or (h, w, c)
        The fused image, in the dtype and range of the frames.
    labels : ndarray of int (h, w), optional
        The sharpest frame at each pixel, counted from 0. Where frames are blended, another may weigh more.
    confidence : ndarray of float32 (h, w), optional
        Certainty of the label, 0 to 1. Each method documents what it measures.
    depth : ndarray of float32 (h, w), optional
        Position of best focus in the stack, in frames, with fractions.
    never_in_focus : ndarray of bool (h, w), optional
        True where no frame is sharp.
    votes : ndarray of int (n, h, w), or planes on disk, optional
        Weights of the frames in the image, as whole votes. Only on request.
    log_odds : ndarray of float16 (n - 1, h, w), or planes on disk, optional
        Log odds of each frame against the frame before it. Only on request.
    slabs : ndarray (m, h, w) or (m, h, w, c), or images on disk, optional
        The fused image of each slab, if the stack was fused in slabs.
    report : dict
        Settings, versions and measurements of the run, as plain data.
    source : Stack, optional
        Names, colour profile and metadata of the fused frames, without their pixels; used by `save`.
    """

    image: NDArray[Any]
    labels: IntArray | None = None
    confidence: FloatArray | None = None
    depth: FloatArray | None = None
    never_in_focus: NDArray[np.bool_] | None = None
    votes: Frames | None = None
    log_odds: Frames | None = None
    slabs: Frames | None = None
    report: dict[str, Any] = field(default_factory=dict)
    source: Stack | None = None

    def __eq__(self, other: object) -> bool:
        """Compare the image, maps and slabs. The report does not count: it contains times."""
        if not isinstance(other, FusionResult):
            return NotImplemented
        arrays = ("image", *MAPS, *LAYERS, "slabs")
        return all(_equal(getattr(self, name), getattr(other, name)) for name in arrays)

    __hash__ = None  # type: ignore[assignment]  # arrays can change
    __array_ufunc__ = None  # a result compared with an array is False, not an array

    def __repr__(self) -> str:
        arrays = ("image", *MAPS, *LAYERS, "slabs")
        names = [name for name in arrays if getattr(self, name) is not None]
        return f"FusionResult({self.image.shape}, {self.image.dtype.name}: {', '.join(names)})"

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the image in the format of the file name, with the metadata that the command would keep.

        Parameters
        ----------
        path : str or Path
            A PNG, TIFF, JPEG or WebP file.
        force : bool
            Overwrite an existing file.
        """
        from panfocus.io.encode import write_image

        write_image(path, np.asarray(self.image), like=self.source, force=force)

    def show(self) -> Any:
        """Show the image and its maps in a matplotlib figure, and return the figure."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise missing_extra("show()", "matplotlib", "reproduce") from error
        planes = {"fused image": _displayable(np.asarray(self.image))}
        planes |= {name.replace("_", " "): getattr(self, name) for name in MAPS}
        shown = {name: np.asarray(plane) for name, plane in planes.items() if plane is not None}
        height, width = self.image.shape[:2]
        size = 4 * len(shown), 4 * height / width + 0.5  # inches, with room for titles
        figure, axes = plt.subplots(1, len(shown), figsize=size, squeeze=False, layout="constrained")
        for axis, (name, plane) in zip(axes[0], shown.items(), strict=True):
            axis.imshow(plane, cmap="gray" if name == "fused image" else "viridis")
            axis.set_title(name)
            axis.set_axis_off()
        plt.show()
        return figure


def without_pixels(stack: Stack) -> Stack:
    """Return a stack that describes the same frames but holds no memory for them."""
    zero = np.zeros((), stack.frames.dtype)
    return dataclasses.replace(stack, frames=np.broadcast_to(zero, stack.frames.shape))


def _equal(first: Any, second: Any) -> bool:
    if first is None or second is None:
        return first is second
    return first is second or np.array_equal(np.asarray(first[:]), np.asarray(second[:]))


def _displayable(image: NDArray[Any]) -> NDArray[Any]:
    """Return an image that matplotlib can draw: grey, or 8-bit colour."""
    from panfocus._intensity import IntensityScale

    if image.ndim == 2 or image.dtype == np.uint8:
        return image[..., :3] if image.ndim == 3 and image.shape[2] > 3 else image
    unit = np.clip(IntensityScale.of(image.dtype).to_unit(image[..., :3]), 0, 1)
    return unit if unit.shape[2] == 3 else unit[..., 0]
