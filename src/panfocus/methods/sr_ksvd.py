"""SR-KSVD: "choose-max" of sparse codes over a dictionary learned from sharp patches by K-SVD.

The rule is the one of `sr_cm`, after Yang and Li (2010). The dictionary is learned after Aharon, Elad and
Bruckstein, "K-SVD: An algorithm for designing overcomplete dictionaries for sparse representation", IEEE
Transactions on Signal Processing 54(11), 2006.
"""

from dataclasses import dataclass, field

from panfocus._intensity import FloatArray
from panfocus.dictionary import CoupledDictionary
from panfocus.methods._patchwise import check_dictionary
from panfocus.methods.sr_cm import ChooseMax


@dataclass(frozen=True, kw_only=True)
class SrKsvd(ChooseMax):
    """Sparse coding over a dictionary of sharp patches; a baseline of the paper, weak under noise."""

    dictionary: CoupledDictionary = field(
        default_factory=lambda: CoupledDictionary.default("ksvd"),
        metadata={
            "help": "Learned dictionary: a .npz file or the name of a shipped one. It sets the patch size; "
            "only its focused level is used. Default: ksvd."
        },
    )

    def __post_init__(self) -> None:
        check_dictionary("sr-ksvd", self.dictionary)
        super().__post_init__()

    @property
    def atoms(self) -> FloatArray:
        """The focused level."""
        return self.dictionary.focused
