"""Writing OME-Zarr (NGFF 0.5): first the store with all levels, then its chunks, by many processes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.io.file_errors import add_path_to_errors
from panfocus.io.ome_zarr import Axis, import_zarr, open_array

_VERSION = "0.5"


@dataclass(frozen=True)
class NewImage:
    """Description of an image to write; rows and columns are its last two axes."""

    axes: tuple[Axis, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    side: int  # of chunks, in pixels
    n_levels: int = 1
    centred: bool = True  # pixels of smaller levels are at the centre of their four; else at the first
    name: str = "fused"
    omero: Mapping[str, Any] | None = None
    about: Mapping[str, Any] | None = None  # how the image was made, as plain data

    def level_shape(self, level: int) -> tuple[int, ...]:
        """Return the shape of a level."""
        height, width = (-(-length >> level) for length in self.shape[-2:])
        return (*self.shape[:-2], height, width)


def create_ome_zarr(path: Path, image: NewImage) -> None:
    """Create the store and its empty arrays, one per level; `path` must not exist."""
    zarr = import_zarr()
    with add_path_to_errors(path):
        group = zarr.create_group(path, zarr_format=3, attributes={"ome": _build_attributes(image)})
        for level in range(image.n_levels):
            shape = image.level_shape(level)
            group.create_array(
                name=str(level),
                shape=shape,
                chunks=(*(1 for _ in shape[:-2]), *(min(image.side, length) for length in shape[-2:])),
                dtype=image.dtype,
                dimension_names=[axis.name for axis in image.axes],
                fill_value=0,
            )


def open_level(path: Path, level: int, *, change: bool = False) -> Any:
    """Open a level of a store for reading, or to `change` whole chunks."""
    return open_array(path / str(level), change=change)


def write_part(path: Path, level: int, place: tuple[Any, ...], values: NDArray[Any]) -> None:
    """Write whole chunks of a level; several processes may write at once."""
    with add_path_to_errors(path):
        open_level(path, level, change=True)[place] = values


def remove_partial_chunks(path: Path) -> None:
    """Remove partial chunks of killed processes. No process may be writing."""
    for partial in path.rglob("*.partial"):
        partial.unlink(missing_ok=True)


def _build_attributes(image: NewImage) -> dict[str, Any]:
    multiscale = {
        "name": image.name,
        "axes": [
            {"name": axis.name, "type": axis.kind, **({"unit": axis.unit} if axis.unit else {})}
            for axis in image.axes
        ],
        "datasets": [
            {"path": str(level), "coordinateTransformations": _transforms(image.axes, level, image.centred)}
            for level in range(image.n_levels)
        ],
        "metadata": {"software": "panfocus", **(image.about or {})},
    }
    attributes: dict[str, Any] = {"version": _VERSION, "multiscales": [multiscale]}
    if image.omero:
        attributes["omero"] = dict(image.omero)
    return attributes


def _transforms(axes: Sequence[Axis], level: int, centred: bool) -> list[dict[str, Any]]:
    factors = [2**level if axis.name in "yx" else 1 for axis in axes]
    scales = [axis.scale * factor for axis, factor in zip(axes, factors, strict=True)]
    firsts = [
        axis.translation + axis.scale * (factor - 1) / 2 * centred
        for axis, factor in zip(axes, factors, strict=True)
    ]
    transforms: list[dict[str, Any]] = [{"type": "scale", "scale": scales}]
    if any(firsts):
        transforms.append({"type": "translation", "translation": firsts})
    return transforms
