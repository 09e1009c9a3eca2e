"""Run a method on an image of any size: whole, or tile by tile with the same result."""

from panfocus.execute.tiled import (
    LEAST_SIDE,
    Allocate,
    layers_of,
    run,
    tile_bytes,
    tile_side,
    working_memory,
)

__all__ = ["LEAST_SIDE", "Allocate", "layers_of", "run", "tile_bytes", "tile_side", "working_memory"]
