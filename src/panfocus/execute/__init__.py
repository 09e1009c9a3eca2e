"""Run a method on an image of any size: whole, or tile by tile with the same result."""

from panfocus.execute.tiled import run

__all__ = ["run"]
