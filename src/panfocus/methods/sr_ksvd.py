"""SR-KSVD: "choose-max" of sparse codes over a dictionary learned from sharp patches by K-SVD.

The rule is that of `sr_cm`, after Yang and Li (2010); the dictionary is learned after Aharon, Elad and
Bruckstein, "K-SVD: An algorithm for designing overcomplete dictionaries for sparse representation", IEEE
Transactions on Signal Processing 54(11), 2006.
"""

from dataclasses import dataclass, field

from panfocus._intensity import FloatArray
from panfocus.dictionary import CoupledDictionary
from panfocus.methods._choose_max import ChooseMax
from panfocus.methods._sparse import check_dictionary


@dataclass(frozen=True, kw_only=True)
class SrKsvd(ChooseMax):
    """Choose per patch the frame whose code over a learned dictionary has the largest l1 norm."""

    dictionary: CoupledDictionary = field(
        default_factory=lambda: CoupledDictionary.default("ksvd"),
        metadata={
            "help": "learned dictionary, which also sets the patch size; of several levels the focused one "
            "is used; by default the shipped one, ksvd"
        },
    )

    def __post_init__(self) -> None:
        check_dictionary("sr-ksvd", self.dictionary)
        super().__post_init__()

    @property
    def atoms(self) -> FloatArray:
        """The focused level."""
        return self.dictionary.focused
