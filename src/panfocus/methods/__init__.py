"""Fusion methods, one file each; `_method` has their base class and registry."""

from panfocus.methods._method import (
    DEFAULT_METHOD,
    FusionMethod,
    Layered,
    Surveyor,
    get_method,
    method_class,
    method_names,
    parse_assignments,
    parse_settings,
    setting_names,
)
from panfocus.methods._tile import Region, Tile, cover, largest_tile, within

__all__ = [
    "DEFAULT_METHOD",
    "FusionMethod",
    "Layered",
    "Region",
    "Surveyor",
    "Tile",
    "cover",
    "get_method",
    "largest_tile",
    "method_class",
    "method_names",
    "parse_assignments",
    "parse_settings",
    "setting_names",
    "within",
]
