"""ALIGN: frames that lie on each other before they are fused."""

from panfocus.align.alignment import (
    BORDERS,
    CHOICES,
    Aligned,
    Alignment,
    align,
    aligned_shape,
    apply_alignment,
    check_aligned,
    find_alignment,
)

__all__ = [
    "BORDERS",
    "CHOICES",
    "Aligned",
    "Alignment",
    "align",
    "aligned_shape",
    "apply_alignment",
    "check_aligned",
    "find_alignment",
]
