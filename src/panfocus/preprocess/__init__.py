"""Prepare frames before fusion: repair hot pixels, equalise exposure, find frames that do not belong."""

from panfocus.preprocess.equalized_frames import CorrectedFrames
from panfocus.preprocess.exposure import Exposure, measure_exposure
from panfocus.preprocess.hot_pixels import (
    SEARCH_REACH,
    HotPixels,
    find_hot_pixels,
    gather_hot_pixels,
    most_defects,
    standing_alone,
    standing_out,
    value_span,
)
from panfocus.preprocess.repaired_frames import RepairedFrames
from panfocus.preprocess.tone_curve import Curve

__all__ = [
    "SEARCH_REACH",
    "CorrectedFrames",
    "Curve",
    "Exposure",
    "HotPixels",
    "RepairedFrames",
    "find_hot_pixels",
    "gather_hot_pixels",
    "measure_exposure",
    "most_defects",
    "standing_alone",
    "standing_out",
    "value_span",
]
