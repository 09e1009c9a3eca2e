"""Fusion methods, one file each, behind one protocol."""

from panfocus.methods._method import (
    DEFAULT_METHOD,
    FusionMethod,
    FusionResult,
    Tile,
    get_method,
    method_class,
    method_names,
    parse_settings,
    setting_names,
)

__all__ = [
    "DEFAULT_METHOD",
    "FusionMethod",
    "FusionResult",
    "Tile",
    "get_method",
    "method_class",
    "method_names",
    "parse_settings",
    "setting_names",
]
