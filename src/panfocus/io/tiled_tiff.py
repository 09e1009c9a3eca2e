"""Tiled OME-TIFF of images larger than memory, with smaller levels, written tile by tile from a store."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from panfocus.io.files import write_files
from panfocus.io.ome_zarr import ZarrImage, read_ome_zarr
from panfocus.io.ome_zarr_writer import open_level

TIFF_SUFFIXES = (".tif", ".tiff")
_TILE_STEP = 16  # of which the sides of tiles are multiples


def write_tiled_tiff(path: Path, store: Path, *, force: bool) -> None:
    """Write all levels of a store that panfocus has made; the file is there whole or not at all."""
    write_files({path: lambda file: _write(file, read_ome_zarr(store))}, force=force)


def _write(file: BinaryIO, image: ZarrImage) -> None:
    import tifffile

    n_levels = sum(1 for folder in image.path.iterdir() if folder.is_dir())
    with tifffile.TiffWriter(file, bigtiff=True, ome=True) as tiff:
        for number in range(n_levels):
            level = open_level(image.path, number)
            side = -(-max(level.chunks[-2:]) // _TILE_STEP) * _TILE_STEP
            tiff.write(
                _tiles(level, side),
                shape=level.shape,
                dtype=level.dtype,
                tile=(side, side),
                photometric="minisblack",
                compression="zlib",
                predictor=level.dtype.kind != "f" and level.dtype.itemsize <= 2,
                **(
                    {"subifds": n_levels - 1, "metadata": _described(image)}
                    if number == 0
                    else {"subfiletype": 1}
                ),
            )


def _tiles(level: Any, side: int) -> Iterator[NDArray[Any]]:
    """Yield the tiles of every plane; those at an edge are filled up."""
    height, width = level.shape[-2:]
    for at in np.ndindex(*level.shape[:-2]):
        for top, left in product(range(0, height, side), range(0, width, side)):
            part = np.asarray(level[(*at, slice(top, top + side), slice(left, left + side))])
            yield np.pad(part, [(0, side - length) for length in part.shape])


def _described(image: ZarrImage) -> dict[str, Any]:
    told = image.acquisition
    described: dict[str, Any] = {"axes": "".join(axis.name for axis in image.axes).upper()}
    for axis, size in (("X", told.pixel_width), ("Y", told.pixel_height)):
        if size is not None:
            described |= {f"PhysicalSize{axis}": size, f"PhysicalSize{axis}Unit": told.unit}
    if any(told.channels):
        described["Channel"] = {"Name": list(told.channels)}
    return described
