"""What methods share that code patches over a dictionary: settings, their checks, the pursuit."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from panfocus._checks import real_number, whole_number
from panfocus._intensity import FloatArray
from panfocus.decide.patches import check_stride
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.methods._tile import Tile
from panfocus.sparse import Pursuit


@dataclass(frozen=True, kw_only=True)
class SparseMethod(ABC):
    """Choose a frame per patch by sparse codes, and let the patches over a pixel vote.

    Confidence is the share that a pixel's label has in the votes of the patches over it.
    """

    maps: ClassVar[tuple[str, ...]] = ("labels", "confidence")
    uses_all_threads: ClassVar[bool] = False

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

    def __post_init__(self) -> None:
        real_number("eps", self.eps)
        if not 0 < self.eps < 1:
            raise InputError(f"eps must lie between 0 and 1, got {self.eps}")
        whole_number("stride", self.stride, at_least=1)
        check_stride(self.stride, self._size)

    @property
    @abstractmethod
    def atoms(self) -> FloatArray:
        """The dictionary D (patch_size**2, n_atoms), unit columns."""

    @property
    def _size(self) -> int:
        return math.isqrt(len(self.atoms))

    @property
    def layers(self) -> tuple[str, ...]:
        """Votes, by which the picture is a mean of the frames."""
        return ("votes",)

    @property
    def halo(self) -> int:
        """All patches over a pixel lie this near to it."""
        return self._size - 1

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Activities and votes of every frame; patches and codes are few at a time."""
        return (30 + 22 * n_frames) * tile.pixels

    def _pursuit(self) -> Pursuit:
        return Pursuit(self.atoms, max_atoms=len(self.atoms), max_sq_error=self.eps)


def check_dictionary(
    method: str, dictionary: object, *, of_focus_maps: bool = False, coupled: bool = False
) -> None:
    """Refuse what is no dictionary, or not of the kind that the method needs."""
    if not isinstance(dictionary, CoupledDictionary):
        raise InputError(f"dictionary must be a CoupledDictionary, got {dictionary!r}")
    if dictionary.of_focus_maps != of_focus_maps:
        needed = "focus maps" if of_focus_maps else "pictures, not from focus maps"
        raise InputError(f"the method {method} needs a dictionary learned from {needed}; got {dictionary}")
    if coupled and dictionary.n_levels < 2:
        raise InputError(f"the method {method} needs a dictionary of two or more levels, got {dictionary}")
