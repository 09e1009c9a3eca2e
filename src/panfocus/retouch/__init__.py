"""Retouching: places of the fused picture painted from a frame that the user chose, as strokes of a brush."""

from panfocus.retouch.match import with_gains
from panfocus.retouch.paint import apply_strokes, changed_parts, count_alike, painted
from panfocus.retouch.strokes import Stroke, Strokes, parse_strokes

__all__ = [
    "Stroke",
    "Strokes",
    "apply_strokes",
    "changed_parts",
    "count_alike",
    "painted",
    "parse_strokes",
    "with_gains",
]
