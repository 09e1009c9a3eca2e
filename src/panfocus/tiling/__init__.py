"""Run a method on an image of any size: whole, or tile by tile with the same result."""

from panfocus.tiling.dask_arrays import BlockFrames, map_dtype, run_lazily, stacked
from panfocus.tiling.statistics import Shares
from panfocus.tiling.tile_fusion import Corrections, fuse_part, read_for
from panfocus.tiling.tiled import (
    LEAST_SIDE,
    Allocate,
    layers_of,
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
