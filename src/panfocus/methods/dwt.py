"""Discrete wavelet transform: fuse the coefficients of the frames and transform back.

The classical rule averages the approximations and takes the detail coefficient of largest magnitude. The rule
`window` follows H. Li, B. S. Manjunath, S. K. Mitra, "Multisensor image fusion using the wavelet transform",
Graphical Models and Image Processing 57 (1995) 235-245: the largest magnitude in a window, then a majority
vote of neighbours.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import pywt
from numpy.typing import NDArray
from scipy.ndimage import correlate, maximum_filter

from panfocus._checks import check_choice, check_integer
from panfocus._intensity import FloatArray, IntensityScale
from panfocus.decide.compose import sum_in_any_order
from panfocus.decide.gray import to_gray
from panfocus.errors import InputError
from panfocus.methods._method import FusionMethod
from panfocus.methods._tile import Tile
from panfocus.result import FusionResult

Rule = Literal["mean", "choose-max", "window"]
Bands = list[FloatArray]  # approximation, then horizontal, vertical, diagonal details from coarse to fine

WINDOW = np.ones((3, 3), np.uint8)
MAX_LEVELS = 16  # one coefficient then covers 65,536 x 65,536 pixels
WINDOW_REACH = 2  # coefficients to each side: one for the maximum filter, one for the vote
RULE_HELP = (
    "mean: average the frames; choose-max: take the largest magnitude; window: largest magnitude in 3 x 3, "
    "then a majority vote of 3 x 3."
)


@dataclass(frozen=True, kw_only=True)
class DWT(FusionMethod):
    """Wavelet fusion; a fast classical baseline, with halos at depth edges and without label map.

    Coefficients are chosen on the grey plane and applied to every channel.
    """

    wavelet: str = field(
        default="db1",
        metadata={"help": "Name of a discrete wavelet of PyWavelets, such as sym4. Default: db1 (Haar)."},
    )
    levels: int = field(
        default=3,
        metadata={
            "help": "Number of decomposition levels, 1 to 16; more levels also select coarse structures. "
            "Default: 3."
        },
    )
    details: Rule = field(
        default="choose-max",
        metadata={"help": f"Rule for the detail coefficients. {RULE_HELP} Default: choose-max."},
    )
    approximation: Rule = field(
        default="mean",
        metadata={"help": f"Rule for the coarsest approximation. {RULE_HELP} Default: mean."},
    )

    def __post_init__(self) -> None:
        if self.wavelet not in pywt.wavelist(kind="discrete"):
            raise InputError(
                f"`wavelet` must be a discrete wavelet of PyWavelets (db1, sym4, ...), got {self.wavelet!r}.",
                setting="wavelet",
                got=self.wavelet,
            )
        check_integer("levels", self.levels, at_least=1, at_most=MAX_LEVELS)
        for name in ("details", "approximation"):
            check_choice(name, getattr(self, name), get_args(Rule))

    @property
    def halo(self) -> int:
        """Reach of the coefficients of a block of pixels, plus the rest of that block."""
        return self._reach + self._block - 1

    @property
    def _block(self) -> int:
        return int(2**self.levels)

    @property
    def _reach(self) -> int:
        """Number of pixels beyond a block of 2^levels pixels that its result depends on.

        With a filter of length f, a coefficient depends on its pair of samples and f - 2 before it, and
        affects as many. Summed over all levels, this is less than f - 2 blocks to either side (0 for db1).
        """
        blocks = int(pywt.Wavelet(self.wavelet).dec_len) - 2
        if "window" in (self.details, self.approximation):
            blocks += WINDOW_REACH
        return blocks * self._block

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Return the bytes of the coefficients of every frame, grey and each channel, and of merging them."""
        planes = 1 if n_channels == 1 else 1 + n_channels
        return (14 + 7 * n_frames) * planes * tile.pixels

    def fuse(self, frames: NDArray[Any], tile: Tile) -> FusionResult:
        """Fuse a tile, extended to whole blocks of the image."""
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
        """Return the part of `outer` to transform, relative to it, and the offset of `inner` in that part."""
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
    """Return the grey plane and the channels (1 + c, h, w), or the only plane of a grey frame (1, h, w)."""
    gray = to_gray(frame)[None]
    if frame.ndim == 2:
        return gray
    return np.concatenate([gray, np.moveaxis(IntensityScale.of(frame.dtype).to_unit(frame), -1, 0)])


def _merge(bands: Bands, rule: Rule, n_channels: int) -> FloatArray:
    """Fuse one band of all frames (planes, h, w), with the grey plane first; return the fused channels.

    Coefficients come from the frame with the best score, in all channels. Tied frames are averaged, so that
    their order does not matter; with the rule `mean` all frames tie.
    """
    channels = np.stack([band[-n_channels:] for band in bands])
    scores = np.stack(_scores([band[0] for band in bands], rule))
    best = scores == scores.max(axis=0)
    total = sum_in_any_order(np.where(best[:, None], channels, 0))
    return np.asarray(total / best.sum(axis=0, dtype=total.dtype))


def _scores(bands: Bands, rule: Rule) -> list[NDArray[Any]]:
    """Return the scores of the frames at each position of a band of their grey planes."""
    if rule == "mean":
        return [np.zeros(band.shape, np.uint8) for band in bands]
    magnitudes = [np.abs(band) for band in bands]
    return magnitudes if rule == "choose-max" else _votes([maximum_filter(band, 3) for band in magnitudes])


def _votes(activities: list[FloatArray]) -> list[NDArray[np.uint8]]:
    """Count for each frame the neighbours of each position where no other frame is more active."""
    largest = np.max(activities, axis=0)
    return [correlate((activity == largest).astype(np.uint8), WINDOW) for activity in activities]
