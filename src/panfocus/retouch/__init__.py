"""Retouching: paint areas of the fused image from a chosen frame, with brush strokes."""

from panfocus.retouch.match import with_gains
from panfocus.retouch.paint import apply_strokes, changed_parts, count_alike, paint_strokes
from panfocus.retouch.strokes import Stroke, Strokes, parse_strokes

__all__ = [
    "Stroke",
    "Strokes",
    "apply_strokes",
    "changed_parts",
    "count_alike",
    "paint_strokes",
    "parse_strokes",
    "with_gains",
]
