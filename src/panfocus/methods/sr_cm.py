"""SR-CM: "choose-max" of sparse codes over a fixed dictionary of cosines.

B. Yang and S. Li, "Multifocus image fusion and restoration with sparse representation", IEEE Transactions on
Instrumentation and Measurement 59(4), 2010.
"""

from dataclasses import dataclass, field
from functools import cache

from panfocus._checks import whole_number
from panfocus._intensity import FloatArray
from panfocus.dictionary import CoupledDictionary, overcomplete_dct
from panfocus.methods._choose_max import ChooseMax

ATOMS_PER_PIXEL = 4  # 256 atoms for the paper's patches of 8 x 8
MAX_PATCH_SIZE = 45  # with more, there would be more atoms than a dictionary may have


@dataclass(frozen=True, kw_only=True)
class SrCm(ChooseMax):
    """Choose per patch the frame whose code over overcomplete cosines has the largest l1 norm."""

    patch_size: int = field(
        default=8,
        metadata={"help": "side of the patches, in pixels; the dictionary has 4 patch_size**2 atoms"},
    )

    def __post_init__(self) -> None:
        whole_number("patch_size", self.patch_size, at_least=2, at_most=MAX_PATCH_SIZE)
        super().__post_init__()

    @property
    def dictionary(self) -> CoupledDictionary:
        """The cosines, as a dictionary of one level."""
        return _cosines(self.patch_size)

    @property
    def atoms(self) -> FloatArray:
        """The cosines."""
        return self.dictionary.focused


@cache
def _cosines(patch_size: int) -> CoupledDictionary:
    atoms = overcomplete_dct(patch_size, ATOMS_PER_PIXEL * patch_size**2)
    return CoupledDictionary(atoms[None], origin="overcomplete cosines")
