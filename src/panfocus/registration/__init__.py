"""ALIGN: frames that lie on each other before they are fused. `panfocus.align` is its function."""

from panfocus.registration.alignment import (
    CHOICES,
    Aligned,
    Alignment,
    align,
    check_aligned,
    find_alignment,
    lost_frames,
    missed,
)
from panfocus.registration.apply import BORDERS, aligned_shape, apply_alignment
from panfocus.registration.blank_frames import find_blank
from panfocus.registration.memory import alignment_bytes

__all__ = [
    "BORDERS",
    "CHOICES",
    "Aligned",
    "Alignment",
    "align",
    "aligned_shape",
    "alignment_bytes",
    "apply_alignment",
    "check_aligned",
    "find_alignment",
    "find_blank",
    "lost_frames",
    "missed",
]
