"""The paper's method: coupled sparse representation with a weighted maximum of l1 norms.

F. G. Veshki and S. A. Vorobyov, "Multi-Focus Image Fusion using Sparse Representation and Coupled Dictionary
Learning", Algorithm 1. Step numbers in the comments are those of the algorithm.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import real_number, whole_number
from panfocus._float import FloatArray, IntArray
from panfocus._progress import Progress
from panfocus._threads import map_blocks
from panfocus.compose import by_votes
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.gray import to_gray
from panfocus.methods._method import FusionResult
from panfocus.patches import centred_patches, check_stride, patch_origins, spread
from panfocus.select import RunningBest, level_weights, majority, weighted_activity
from panfocus.sparse import Pursuit

Contrast = Literal["restored", "normalised"]

PATCHES_PER_BLOCK = 8192  # coded by one thread at a time: 2 MB of patches
VALUES_PER_BAND = 1 << 22  # votes held at once in composing


@dataclass(frozen=True, kw_only=True)
class Coupled:
    """Choose per patch the frame whose sparse code over [D_F, D_B] is most active, Eq. (7).

    Confidence is the share of the patches over a pixel that voted for its label.
    """

    maps: ClassVar[tuple[str, ...]] = ("labels", "confidence")

    dictionary: CoupledDictionary | None = field(
        default=None,
        metadata={"help": "coupled dictionary, which also sets the patch size; the shipped one by default"},
    )
    stride: int = field(
        default=1,
        metadata={"help": "pixels from patch to patch; larger is faster and coarser, 1 is the paper's"},
    )
    eps: float = field(
        default=0.1,
        metadata={
            "help": "squared error left over by a code, relative to its patch; smaller uses more atoms"
        },
    )
    w: float = field(
        default=0.55,
        metadata={"help": "weight of the focused atoms, 0.5 <= w < 1; the blurred ones weigh 1 - w"},
    )
    contrast: Contrast = field(
        default="restored",
        metadata={
            "help": "restored: activity of the patch as it is, the reading that gives the paper's tables; "
            "normalised: of the patch scaled to norm one, Algorithm 1 to the letter"
        },
    )

    def __post_init__(self) -> None:
        if not isinstance(self.dictionary, CoupledDictionary | None):
            raise InputError(f"dictionary must be a CoupledDictionary, got {self.dictionary!r}")
        for name in ("eps", "w"):
            real_number(name, getattr(self, name))
        if not 0 < self.eps < 1:
            raise InputError(f"eps must lie between 0 and 1, got {self.eps}")
        level_weights(self.w, 2)
        whole_number("stride", self.stride, at_least=1)
        if self.dictionary:  # the shipped one is not loaded yet; then the patch grid refuses
            check_stride(self.stride, self.dictionary.patch_size)
        if self.contrast not in get_args(Contrast):
            raise InputError(
                f"contrast must be one of {', '.join(get_args(Contrast))}, got {self.contrast!r}"
            )

    def fuse(self, frames: NDArray[Any], progress: Progress) -> FusionResult:
        """Fuse frames (n, h, w) or (n, h, w, c)."""
        dictionary = self.dictionary or CoupledDictionary.default()
        height, width = frames.shape[1:3]
        size = dictionary.patch_size
        rows, cols = patch_origins(height, size, self.stride), patch_origins(width, size, self.stride)
        winners = self._winners(frames, dictionary, rows, cols, progress)

        image = np.empty(frames.shape[1:], frames.dtype)
        labels = np.empty((height, width), winners.dtype)
        confidence = np.empty((height, width), np.float32)

        def compose(band: slice) -> None:
            votes = _votes(winners, len(frames), band, rows, cols, size, width)
            image[band] = by_votes(frames[:, band], votes)  # steps 6 and 8
            labels[band], confidence[band] = majority(votes)

        bands = list(_spans(height, max(1, VALUES_PER_BAND // (len(frames) * width))))
        for i, _ in enumerate(map_blocks(compose, bands)):
            progress("compose", (i + 1) / len(bands))
        shares = np.bincount(labels.ravel(), minlength=len(frames)) / labels.size
        return FusionResult(
            image=image,
            labels=labels,
            confidence=confidence,
            report={
                "dictionary": str(dictionary),
                "frame_shares": [round(float(share), 6) for share in shares],
                "mean_confidence": round(float(confidence.mean(dtype=np.float64)), 6),
            },
        )

    def _winners(
        self,
        frames: NDArray[Any],
        dictionary: CoupledDictionary,
        rows: IntArray,
        cols: IntArray,
        progress: Progress,
    ) -> IntArray:
        """Return the index k_F of the focused frame for every patch (len(rows), len(cols)): steps 1 to 5."""
        size = dictionary.patch_size
        pursuit = Pursuit(dictionary.matrix, max_atoms=size**2, max_sq_error=self.eps)
        weights = level_weights(self.w, dictionary.n_levels)

        def decide(block: slice) -> IntArray:
            top, bottom = rows[block.start], rows[block.stop - 1] + size
            best = RunningBest((block.stop - block.start) * len(cols), len(frames))
            for k, frame in enumerate(frames):
                gray = to_gray(frame[top:bottom])
                patches, energies = centred_patches(gray, rows[block] - top, cols, size)
                l1 = pursuit.summaries(patches, segments=dictionary.n_levels).l1
                activity = weighted_activity(l1, weights)
                if self.contrast == "normalised":
                    activity = _per_norm(activity, energies)
                best.offer(k, activity)
            return best.labels.reshape(-1, len(cols))

        blocks = list(_spans(len(rows), max(1, PATCHES_PER_BLOCK // len(cols))))
        progress("select", 0.0)  # before the first block, which may have to compile
        decided = []
        for i, labels in enumerate(map_blocks(decide, blocks)):
            decided.append(labels)
            progress("select", (i + 1) / len(blocks))
        return np.concatenate(decided)


def _votes(
    winners: IntArray, n_frames: int, band: slice, rows: IntArray, cols: IntArray, size: int, width: int
) -> IntArray:
    """Votes (n_frames, band, width): how many of the patches over a pixel chose each frame."""
    reaching = slice(*np.searchsorted(rows, [band.start - size + 1, band.stop]))
    top = rows[reaching.start]
    shape = (rows[reaching.stop - 1] + size - top, width)
    inside = slice(band.start - top, band.stop - top)
    votes = [
        spread((winners[reaching] == k).astype(np.uint16), shape, rows[reaching] - top, cols, size)[inside]
        for k in range(n_frames)
    ]
    return np.stack(votes)


def _per_norm(activity: FloatArray, energies: FloatArray) -> FloatArray:
    """Activity of the patches scaled to norm one; a flat patch, which has no direction, is not active."""
    norms = np.sqrt(energies)
    return np.divide(activity, norms, out=np.zeros(len(activity)), where=norms > 0).astype(np.float32)


def _spans(length: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, length)) for start in range(0, length, step))
