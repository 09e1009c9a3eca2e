"""Selection: which frame is in focus, per patch and per pixel."""

from panfocus.select.decision_map import majority, without_small_regions
from panfocus.select.depth import mean_depth, most_probable, probabilities
from panfocus.select.reblur import log_odds, log_odds_reach, noise_level
from panfocus.select.rules import level_weights, vote_shares, weighted_activity

__all__ = [
    "level_weights",
    "log_odds",
    "log_odds_reach",
    "majority",
    "mean_depth",
    "most_probable",
    "noise_level",
    "probabilities",
    "vote_shares",
    "weighted_activity",
    "without_small_regions",
]
