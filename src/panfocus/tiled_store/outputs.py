"""The stores that a run writes: made empty, to be filled by the workers."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from panfocus.tiled_store.checkpoint import RunFolder
from panfocus.tiled_store.tasks import HALVED
from panfocus.tiled_store.tile_plan import leading_axes, lengths

if TYPE_CHECKING:
    from panfocus.io.ome_zarr import Axis


def create_stores(folder: RunFolder) -> None:
    """Make the empty stores, unless an earlier run has."""
    from panfocus.io.ome_zarr_writer import create_ome_zarr

    for output in folder.plan["outputs"]:
        if folder.kept(f"made-{output}") is None:
            if folder.store(output).exists():
                from panfocus.io.atomic_directory import remove_folder

                remove_folder(folder.store(output))
            create_ome_zarr(folder.store(output), _new_image(folder, output))
            folder.keep(f"made-{output}", {})


def _new_image(folder: RunFolder, output: str) -> Any:
    from panfocus.io.ome_zarr_writer import NewImage
    from panfocus.tiling import map_dtype

    image, plan = folder.image, folder.plan
    names = [*leading_axes(image, map_of=output != "image", decisions=folder.decisions), "y", "x"]
    kept = lengths(folder.units)
    axes = tuple(_from_first(axis, folder.units[0].time) for name in names if (axis := image.axis(name)))
    shape = tuple(kept.get(name, image.length(name)) for name in names)
    dtype = image.dtype if output == "image" else map_dtype(output, image.length("z"))
    if output == "never_in_focus":
        dtype = np.dtype(np.uint8)
    about = {"method": plan["method"], "decisions": plan["decisions"]}
    omero = _shown(folder) if output == "image" else None
    if output == "depth":
        about["unit"] = plan["unit"]
        omero = _named_by_unit(plan, image.length("z"), kept["c"] if "c" in names else 1)
    return NewImage(
        axes=axes,
        shape=shape,
        dtype=dtype,
        side=plan["chunk"],
        n_levels=plan["levels"],
        centred=HALVED.get(output) != "nearest",
        name=image.name or output if output == "image" else output,
        omero=omero,
        about=about,
    )


def _named_by_unit(plan: Mapping[str, Any], n_slices: int, n_channels: int) -> Mapping[str, Any]:
    """Name the channels of a map of depth by the unit of its values: TIFFs have no other place for it."""
    farthest = (n_slices - 1) * plan["step"]
    window = {"min": 0, "max": farthest, "start": 0, "end": farthest}
    return {
        "channels": [{"label": f"depth in {plan['unit']}", "color": "FFFFFF", "window": window}] * n_channels
    }


def _from_first(axis: "Axis", time: int) -> "Axis":
    """Let the axis of time begin at the first time point that is fused."""
    if axis.name != "t":
        return axis
    return dataclasses.replace(axis, translation=axis.translation + time * axis.scale)


def _shown(folder: RunFolder) -> Mapping[str, Any] | None:
    """Return how the channels that are fused are called and shown, and at which slice and time at first."""
    if not folder.image.omero:
        return None
    told = dict(folder.image.omero)
    if isinstance(told.get("channels"), list):
        fused = {c for unit in folder.units for c in unit.channels}
        told["channels"] = [each for c, each in enumerate(told["channels"]) if c in fused]
    if isinstance(told.get("rdefs"), Mapping):
        gone = {"defaultZ"}
        if len({unit.time for unit in folder.units}) < folder.image.length("t"):
            gone.add("defaultT")
        told["rdefs"] = {name: 0 if name in gone else value for name, value in told["rdefs"].items()}
    return told
