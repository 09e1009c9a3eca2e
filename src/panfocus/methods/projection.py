"""Maximum and minimum projection: the largest or smallest value of each pixel over the stack."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from panfocus.decide.gray import to_gray
from panfocus.decide.labels import label_dtype
from panfocus.methods._method import FusionMethod
from panfocus.methods._tile import Tile
from panfocus.result import FusionResult
from panfocus.stack import WITH_ALPHA


class Projection(FusionMethod):
    """Take one extreme of each channel over the frames.

    The label is the frame with the extreme grey value; on a tie, the earlier frame. Depth is the label,
    without fractions. Alpha is always the largest, so that premultiplied colours never exceed it.
    """

    maps: ClassVar[tuple[str, ...]] = ("labels", "depth")
    _extreme: ClassVar[np.ufunc]  # of two values
    _is_beyond: ClassVar[np.ufunc]  # whether the first value is more extreme than the second

    @property
    def halo(self) -> int:
        """Zero: pixels are independent."""
        return 0

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Return the bytes of the result and of the grey planes of two frames."""
        return (36 + 10 * n_channels) * tile.pixels

    def fuse(self, frames: NDArray[Any], tile: Tile) -> FusionResult:
        """Project a tile."""
        frames = frames[:, *tile.core]
        image = self._extreme.reduce(frames, axis=0)
        if frames.ndim == 4 and frames.shape[3] in WITH_ALPHA:
            image[..., -1] = frames[..., -1].max(axis=0)
        labels = np.zeros(frames.shape[1:3], label_dtype(len(frames)))
        extreme = to_gray(frames[0])
        for k in range(1, len(frames)):
            gray = to_gray(frames[k])
            labels[self._is_beyond(gray, extreme)] = k
            self._extreme(gray, extreme, out=extreme)
        return FusionResult(image, labels, depth=labels.astype(np.float32))


@dataclass(frozen=True, kw_only=True)
class MaxProjection(Projection):
    """Take the largest value of each channel; for confocal, dark-field and sparse fluorescence stacks."""

    _extreme: ClassVar[np.ufunc] = np.maximum
    _is_beyond: ClassVar[np.ufunc] = np.greater


@dataclass(frozen=True, kw_only=True)
class MinProjection(Projection):
    """Take the smallest value of each channel; for dark objects on a bright background."""

    _extreme: ClassVar[np.ufunc] = np.minimum
    _is_beyond: ClassVar[np.ufunc] = np.less
