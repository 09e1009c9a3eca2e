"""What `sr-cm` and `sr-ksvd` share: everything but the dictionary."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import one_of
from panfocus._intensity import FloatArray, IntArray, IntensityScale
from panfocus.decide import majority
from panfocus.decide.compose import by_votes, sum_in_any_order
from panfocus.decide.patches import add_patches, centred_patches, patch_means
from panfocus.methods._patchwise import Choice, choose_frames, in_blocks
from panfocus.methods._sparse import SparseMethod
from panfocus.methods._tile import Tile
from panfocus.result import FusionResult
from panfocus.sparse import Pursuit

Reconstruct = Literal["pixels", "codes"]


@dataclass(frozen=True, kw_only=True)
class ChooseMax(SparseMethod):
    """Choose per patch the frame whose sparse code over one dictionary has the largest l1 norm."""

    reconstruct: Reconstruct = field(
        default="pixels",
        metadata={
            "help": "pixels: those of the chosen frames; codes: what the chosen codes stand for, with the "
            "patches' means, which is smoother by what eps leaves over"
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("reconstruct", self.reconstruct, get_args(Reconstruct))

    @property
    def layers(self) -> tuple[str, ...]:
        """Votes, if the picture is the mean by them."""
        return super().layers if self.reconstruct == "pixels" else ()

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Those of choosing; codes are added up in float64, for each frame and channel, and sorted."""
        rebuilding = 24 * n_frames * n_channels if self.reconstruct == "codes" else 0
        return super().working_bytes(n_frames, n_channels, tile) + rebuilding * tile.pixels

    def fuse(self, frames: NDArray[Any], tile: Tile, layers: Collection[str] = ()) -> FusionResult:
        """Fuse a tile, deciding on grey."""
        pursuit = self._pursuit()

        def activity(gray: FloatArray, rows: IntArray, cols: IntArray) -> FloatArray:
            def of_block(rows: IntArray) -> FloatArray:
                patches, _ = centred_patches(gray, rows, cols, self._size)
                return np.asarray(pursuit.summaries(patches, segments=1).l1[0])

            return in_blocks(of_block, rows, len(cols))

        choice = choose_frames(frames, tile, size=self._size, stride=self.stride, activity=activity)
        if self.reconstruct == "pixels":
            image = by_votes(frames[:, *tile.core], choice.votes)
        else:
            image = self._rebuilt(frames, tile, choice, pursuit)
        kept = choice.votes if "votes" in layers else None
        return FusionResult(image, *majority(choice.votes), votes=kept)

    def _rebuilt(self, frames: NDArray[Any], tile: Tile, choice: Choice, pursuit: Pursuit) -> NDArray[Any]:
        """Average the patches that the codes of the chosen frames stand for, each channel for itself."""
        scale = IntensityScale.of(frames.dtype)
        channels = np.moveaxis(frames.reshape(*frames.shape[:3], -1), 3, 1)
        added = [
            [self._added(scale.to_unit(plane), shares, choice, pursuit)[tile.core] for plane in frame]
            for frame, shares in zip(channels, choice.shares, strict=True)
        ]
        means = sum_in_any_order(np.array(added)) / choice.votes.sum(axis=0)
        return np.stack(list(scale.from_unit(means)), axis=-1).reshape(*means.shape[1:], *frames.shape[3:])

    def _added(self, plane: FloatArray, shares: IntArray, choice: Choice, pursuit: Pursuit) -> FloatArray:
        """Add up D a and the mean of the patches that a frame wins, weighted by its shares of their votes."""
        total = np.zeros(plane.shape)
        for row, share in zip(choice.rows, shares, strict=True):
            won = share > 0
            grid = np.array([row]), choice.cols[won], self._size
            rebuilt = pursuit.approximations(centred_patches(plane, *grid)[0]) + patch_means(plane, *grid)
            add_patches(total, share[won] * rebuilt, *grid)
        return total
