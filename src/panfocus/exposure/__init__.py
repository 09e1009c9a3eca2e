"""Exposure and colour of the frames: how they differ through the stack, and frames without the difference."""

from panfocus.exposure.corrected import CorrectedFrames
from panfocus.exposure.curve import Curve
from panfocus.exposure.measure import Exposure, measure_exposure

__all__ = ["CorrectedFrames", "Curve", "Exposure", "measure_exposure"]
