"""Discrete wavelet transform: fuse the frames' coefficients, transform back.

The classical rule takes the mean of the approximations and, of the details, the coefficient of largest size.
The rule `window` is that of H. Li, B. S. Manjunath, S. K. Mitra, "Multisensor image fusion using the wavelet
transform", Graphical Models and Image Processing 57 (1995) 235-245: the largest size in a window, then a
majority vote of neighbours.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pywt
from numpy.typing import NDArray
from scipy.ndimage import correlate, maximum_filter

from panfocus._checks import one_of, whole_number
from panfocus._intensity import FloatArray, IntensityScale
from panfocus.decide.compose import sum_in_any_order
from panfocus.decide.gray import to_gray
from panfocus.errors import InputError
from panfocus.methods._tile import Tile
from panfocus.result import FusionResult

Rule = Literal["mean", "choose-max", "window"]
Bands = list[FloatArray]  # approximation, then horizontal, vertical, diagonal details from coarse to fine

WINDOW = np.ones((3, 3), np.uint8)
MAX_LEVELS = 16  # one coefficient then stands for 65,536 pixels a side
WINDOW_REACH = 2  # coefficients to each side: one for the largest size, one more for the neighbours' votes
RULE_HELP = "mean; choose-max: largest size; window: largest size in 3 x 3, then majority of 3 x 3"


@dataclass(frozen=True, kw_only=True)
class DWT:
    """Fuse wavelet coefficients. What is chosen on the grey plane is taken from every channel."""

    maps: ClassVar[tuple[str, ...]] = ()
    uses_all_threads: ClassVar[bool] = False

    wavelet: str = field(
        default="db1",
        metadata={"help": "a discrete wavelet by PyWavelets' name; db1 (Haar) is the paper's"},
    )
    levels: int = field(
        default=3,
        metadata={"help": "how often the picture is halved; more levels choose coarser structures too"},
    )
    details: Rule = field(default="choose-max", metadata={"help": f"rule for the details: {RULE_HELP}"})
    approximation: Rule = field(default="mean", metadata={"help": "rule for what is left of the picture"})

    def __post_init__(self) -> None:
        if self.wavelet not in pywt.wavelist(kind="discrete"):
            raise InputError(
                f"wavelet must be a discrete one of PyWavelets (db1, sym4, ...), got {self.wavelet!r}"
            )
        whole_number("levels", self.levels, at_least=1, at_most=MAX_LEVELS)
        for name in ("details", "approximation"):
            one_of(name, getattr(self, name), get_args(Rule))

    @property
    def halo(self) -> int:
        """Reach of the coefficients that make up a block of pixels, and the rest of that block."""
        return self._reach + self._block - 1

    @property
    def _block(self) -> int:
        return int(2**self.levels)

    @property
    def _reach(self) -> int:
        """Pixels beyond a block of 2^levels that decide what is in it.

        A coefficient is made from its pair of samples and f - 2 more before it, for a filter of length f, and
        goes into as many before its pair. Over all levels, each twice as wide as the one before, that is less
        than f - 2 blocks to either side. The two taps of db1 do not leave the pair.
        """
        blocks = int(pywt.Wavelet(self.wavelet).dec_len) - 2
        if "window" in (self.details, self.approximation):
            blocks += WINDOW_REACH
        return blocks * self._block

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Coefficients of every frame, for grey and for each channel, and what merging them takes."""
        planes = 1 if n_channels == 1 else 1 + n_channels
        return (14 + 7 * n_frames) * planes * tile.pixels

    def fuse(self, frames: NDArray[Any], tile: Tile) -> FusionResult:
        """Fuse a tile, on the part around it that begins and ends with a block of the whole image."""
        (rows, top), (cols, left) = (
            self._whole_blocks(inner, outer, length)
            for inner, outer, length in zip(tile.inner, tile.outer, tile.shape, strict=True)
        )
        part = frames[:, rows, cols]
        decomposed = [self._decompose(_planes(frame)) for frame in part]
        n_channels = frames.shape[3] if frames.ndim == 4 else 1
        fused = [
            _merge([bands[i] for bands in decomposed], self.details if i else self.approximation, n_channels)
            for i in range(len(decomposed[0]))
        ]
        planes = self._compose(fused)[:, : part.shape[1], : part.shape[2]]
        height, width = (span.stop - span.start for span in tile.inner)
        unit = planes[:, top : top + height, left : left + width]
        image = IntensityScale.of(frames.dtype).from_unit(unit)
        return FusionResult(np.ascontiguousarray(np.moveaxis(image, 0, -1)) if frames.ndim == 4 else image[0])

    def _whole_blocks(self, inner: slice, outer: slice, length: int) -> tuple[slice, int]:
        """Return the part of `outer`, counted from its start, to transform, and where `inner` lies in it."""
        start = max(0, (inner.start - self._reach) // self._block * self._block)
        stop = min(length, -(-(inner.stop + self._reach) // self._block) * self._block)
        return slice(start - outer.start, stop - outer.start), inner.start - start

    def _decompose(self, planes: FloatArray) -> Bands:
        details: Bands = []
        for _ in range(self.levels):
            planes, finer = pywt.dwt2(planes, self.wavelet, mode="symmetric", axes=(1, 2))
            details = [*finer, *details]
        return [planes, *details]

    def _compose(self, bands: Bands) -> FloatArray:
        planes, details = bands[0], bands[1:]
        for i in range(0, len(details), 3):
            height, width = details[i].shape[1:]
            coefficients = (planes[:, :height, :width], tuple(details[i : i + 3]))
            planes = pywt.idwt2(coefficients, self.wavelet, mode="symmetric", axes=(1, 2))
        return planes


def _planes(frame: NDArray[Any]) -> FloatArray:
    """Grey, to choose by, then the channels: (1 + c, h, w); of a grey frame the one plane it has."""
    gray = to_gray(frame)[None]
    if frame.ndim == 2:
        return gray
    return np.concatenate([gray, np.moveaxis(IntensityScale.of(frame.dtype).to_unit(frame), -1, 0)])


def _merge(bands: Bands, rule: Rule, n_channels: int) -> FloatArray:
    """Fuse one band of all frames, each (planes, h, w) with grey first, to that of the channels.

    A coefficient is that of the frame that scores best, in all channels. Frames that tie, with the rule
    `mean` all of them, are averaged: so their order does not matter.
    """
    channels = np.stack([band[-n_channels:] for band in bands])
    scores = np.stack(_scores([band[0] for band in bands], rule))
    best = scores == scores.max(axis=0)
    total = sum_in_any_order(np.where(best[:, None], channels, 0))
    return np.asarray(total / best.sum(axis=0, dtype=total.dtype))


def _scores(bands: Bands, rule: Rule) -> list[NDArray[Any]]:
    """Return what the frames are judged by at each place of a band of their grey planes."""
    if rule == "mean":
        return [np.zeros(band.shape, np.uint8) for band in bands]
    sizes = [np.abs(band) for band in bands]
    return sizes if rule == "choose-max" else _votes([maximum_filter(size, 3) for size in sizes])


def _votes(activities: list[FloatArray]) -> list[NDArray[np.uint8]]:
    """Count, for each frame and place, the neighbours where no frame is more active."""
    largest = np.max(activities, axis=0)
    return [correlate((activity == largest).astype(np.uint8), WINDOW) for activity in activities]
