"""Refinement of a fused image by total variation: the last, optional step of the paper."""

from panfocus.refine.tv_admm import PAPER_STRENGTH, Iteration, Refined, check_strength, refine_tv

__all__ = ["PAPER_STRENGTH", "Iteration", "Refined", "check_strength", "refine_tv"]
