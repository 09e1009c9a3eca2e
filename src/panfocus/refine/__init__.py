"""Global reconstruction of a fused image: the paper's last, optional step."""

from panfocus.refine.tv_admm import PAPER_STRENGTH, Iteration, Refined, check_strength, refine_tv

__all__ = ["PAPER_STRENGTH", "Iteration", "Refined", "check_strength", "refine_tv"]
