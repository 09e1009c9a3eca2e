"""The seven methods of the paper's tables, with the settings that it gives them."""

from panfocus.methods import FusionMethod, get_method
from panfocus.reproduce.dictionaries import Dictionaries
from panfocus.reproduce.settings import Plan

RIVAL, PROPOSED = "SR-KSVD", "Proposed"  # the two of Table 2


def methods_of_the_paper(dictionaries: Dictionaries, plan: Plan) -> dict[str, FusionMethod]:
    """Return the methods by their names in the paper.

    What it does not say is as by default; `variants` holds that against other choices.
    """
    return {
        "DWT": get_method("dwt"),
        "PCA": get_method("pca"),
        "DSIFT": get_method("dsift", refinement="none"),  # "without applying any post-processing"
        "SR-FM": get_method("sr-fm", dictionary=dictionaries.focus_maps, eps=plan.eps),
        "SR-CM": get_method("sr-cm", patch_size=plan.patch_size, eps=plan.eps),
        RIVAL: get_method("sr-ksvd", dictionary=dictionaries.separate, eps=plan.eps),  # its focused half
        PROPOSED: get_method("coupled", dictionary=dictionaries.coupled, eps=plan.eps, w=plan.w),
    }
