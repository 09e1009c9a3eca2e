"""Selection: which frame is in focus, per patch and per pixel."""

from panfocus.select.decision_map import majority, without_small_regions
from panfocus.select.rules import RunningBest, level_weights, weighted_activity

__all__ = ["RunningBest", "level_weights", "majority", "weighted_activity", "without_small_regions"]
