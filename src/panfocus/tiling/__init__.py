"""Run a method on images of any size: whole, in tiles, or lazily with Dask, with the same bits."""

from panfocus.tiling.dask_arrays import BlockFrames, map_dtype, run_lazily, stacked
from panfocus.tiling.statistics import Shares
from panfocus.tiling.tiled import (
    LEAST_SIDE,
    Allocate,
    Corrections,
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
    "Allocate",
    "BlockFrames",
    "Corrections",
    "Shares",
    "fuse_part",
    "layers_of",
    "map_dtype",
    "read_for",
    "run",
    "run_lazily",
    "stacked",
    "tile_bytes",
    "tile_side",
    "working_memory",
]
