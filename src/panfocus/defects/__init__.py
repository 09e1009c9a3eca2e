"""Pixels that are not the scene's: sharp in every frame, or in one alone; found over the stack, repaired."""

from panfocus.defects.hot_pixels import HotPixels, find_hot_pixels
from panfocus.defects.repaired import RepairedFrames

__all__ = ["HotPixels", "RepairedFrames", "find_hot_pixels"]
