"""Run a method on images of any size: whole, in tiles, or lazily with Dask, with the same bits."""

from panfocus.tiling.tiled import (
    LEAST_SIDE,
    Corrections,
    Shares,
    fuse_part,
    layers_of,
    read_for,
    run,
    tile_bytes,
    tile_side,
    working_memory,
)

__all__ = [
    "LEAST_SIDE",
    "Corrections",
    "Shares",
    "fuse_part",
    "layers_of",
    "read_for",
    "run",
    "tile_bytes",
    "tile_side",
    "working_memory",
]
