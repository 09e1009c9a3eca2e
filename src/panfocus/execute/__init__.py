"""Run a method on an image of any size: whole, or tile by tile with the same result."""

from panfocus.execute.tiled import run, tile_bytes, tiles_at_once

__all__ = ["run", "tile_bytes", "tiles_at_once"]
