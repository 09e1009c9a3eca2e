"""Pixels that are not the scene's: sharp in every frame, or in one alone; found over the stack, repaired."""

from panfocus.defects.hot_pixels import (
    SEARCH_REACH,
    HotPixels,
    find_hot_pixels,
    gather_hot_pixels,
    most_defects,
    standing_alone,
    standing_out,
    value_span,
)
from panfocus.defects.repaired import RepairedFrames

__all__ = [
    "SEARCH_REACH",
    "HotPixels",
    "RepairedFrames",
    "find_hot_pixels",
    "gather_hot_pixels",
    "most_defects",
    "standing_alone",
    "standing_out",
    "value_span",
]
