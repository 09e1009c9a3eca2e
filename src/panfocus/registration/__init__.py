"""Registration: align the frames of a stack before they are fused."""

from panfocus.registration.alignment import (
    BORDERS,
    CHOICES,
    Aligned,
    Alignment,
    align,
    aligned_shape,
    alignment_bytes,
    alignment_errors,
    apply_alignment,
    check_aligned,
    find_alignment,
    lost_frames,
)

__all__ = [
    "BORDERS",
    "CHOICES",
    "Aligned",
    "Alignment",
    "align",
    "aligned_shape",
    "alignment_bytes",
    "alignment_errors",
    "apply_alignment",
    "check_aligned",
    "find_alignment",
    "lost_frames",
]
