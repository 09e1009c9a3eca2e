"""Selection: which frame is in focus, per patch and per pixel."""

from panfocus.select.decision_map import majority, without_small_regions
from panfocus.select.rules import level_weights, vote_shares, weighted_activity

__all__ = ["level_weights", "majority", "vote_shares", "weighted_activity", "without_small_regions"]
