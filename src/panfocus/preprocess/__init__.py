"""Preparation of frames before fusion: repair hot pixels, equalise exposure, find unsuitable frames."""

from panfocus.preprocess.exposure import EqualizedFrames, Exposure, ToneCurve, measure_exposure
from panfocus.preprocess.hot_pixels import (
    SEARCH_REACH,
    HotPixels,
    RepairedFrames,
    combine_candidates,
    defect_limit,
    find_fixed_candidates,
    find_hot_pixels,
    find_single_candidates,
    value_span,
)

__all__ = [
    "SEARCH_REACH",
    "EqualizedFrames",
    "Exposure",
    "HotPixels",
    "RepairedFrames",
    "ToneCurve",
    "combine_candidates",
    "defect_limit",
    "find_fixed_candidates",
    "find_hot_pixels",
    "find_single_candidates",
    "measure_exposure",
    "value_span",
]
