"""Selection: which frame is in focus, per patch and per pixel."""

from panfocus.decide.decision_map import majority, without_small_regions
from panfocus.decide.depth import depth_between, most_probable, probabilities
from panfocus.decide.reblur import log_odds, log_odds_reach, noise_level
from panfocus.decide.rules import level_weights, vote_shares, weighted_activity

__all__ = [
    "depth_between",
    "level_weights",
    "log_odds",
    "log_odds_reach",
    "majority",
    "most_probable",
    "noise_level",
    "probabilities",
    "vote_shares",
    "weighted_activity",
    "without_small_regions",
]
