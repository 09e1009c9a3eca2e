"""Registration: align the frames of a stack before they are fused."""

from panfocus.registration.align_stack import apply_stack_alignment, find_stack_alignment
from panfocus.registration.alignment import (
    BORDERS,
    CHOICES,
    Aligned,
    Alignment,
    align,
    alignment_bytes,
    alignment_errors,
    apply_alignment,
    find_alignment,
)

__all__ = [
    "BORDERS",
    "CHOICES",
    "Aligned",
    "Alignment",
    "align",
    "alignment_bytes",
    "alignment_errors",
    "apply_alignment",
    "apply_stack_alignment",
    "find_alignment",
    "find_stack_alignment",
]
