"""Create the output stores of a run, and commit them at the end.

A commit brings all outputs to the disks of their targets under temporary names, then renames them. Notes in
the checkpoint record each step, so that a killed run can finish its commit.
"""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from panfocus.errors import FileError
from panfocus.io.atomic_files import (
    TEMPORARY_HERE,
    bring_to_disk,
    make_folder,
    move_into_place,
    remove_folder,
    store_exists,
    write_files,
)
from panfocus.io.encode import encode_json
from panfocus.io.tiled_tiff import TIFF_SUFFIXES
from panfocus.tiled_store.checkpoint import StoreCheckpoint
from panfocus.tiled_store.tasks import REDUCTIONS
from panfocus.tiled_store.tile_plan import axis_lengths

if TYPE_CHECKING:
    from panfocus.io.ome_zarr import Axis
    from panfocus.io.ome_zarr_writer import NewImage


def create_stores(checkpoint: StoreCheckpoint) -> None:
    """Create empty stores, unless an earlier run has."""
    from panfocus.io.ome_zarr_writer import create_ome_zarr

    for output in checkpoint.plan["outputs"]:
        store = checkpoint.store(output)
        if checkpoint.read_note(f"made-{output}") is None:
            if store.exists():
                remove_folder(store)
            create_ome_zarr(store, _describe_store(checkpoint, output))
            checkpoint.write_note(f"made-{output}", {})


def _describe_store(checkpoint: StoreCheckpoint, output: str) -> "NewImage":
    from panfocus.io.ome_zarr_writer import NewImage
    from panfocus.tiling.dask_arrays import map_dtype

    image, plan, units = checkpoint.image, checkpoint.plan, checkpoint.units
    names = [*checkpoint.leading_axes(output), "y", "x"]
    lengths = axis_lengths(units)
    axes = tuple(_start_at(axis, units[0].time) for name in names if (axis := image.axis(name)))
    shape = tuple(lengths.get(name, image.length(name)) for name in names)
    dtype = image.dtype if output == "image" else map_dtype(output, image.length("z"))
    if output == "never_in_focus":
        dtype = np.dtype(np.uint8)
    about = {"method": plan["method"], "decide_channels": plan["decide_channels"]}
    omero = _display_settings(checkpoint) if output == "image" else None
    if output == "depth":
        about["unit"] = plan["unit"]
        omero = _depth_display(plan, image.length("z"), lengths["c"] if "c" in names else 1)
    return NewImage(
        axes=axes,
        shape=shape,
        dtype=dtype,
        side=plan["chunk"],
        n_levels=plan["levels"],
        centred=REDUCTIONS.get(output) != "nearest",
        name=image.name or output if output == "image" else output,
        omero=omero,
        about=about,
    )


def _depth_display(plan: Mapping[str, Any], n_slices: int, n_channels: int) -> Mapping[str, Any]:
    """Return display settings that name the unit of depth in the channel names: TIFF has no other place."""
    farthest = (n_slices - 1) * plan["step"]
    window = {"min": 0, "max": farthest, "start": 0, "end": farthest}
    channel = {"label": f"depth in {plan['unit']}", "color": "FFFFFF", "window": window}
    return {"channels": [channel] * n_channels}


def _start_at(axis: "Axis", time: int) -> "Axis":
    """Return an axis; the time axis starts at the first time point that is fused."""
    if axis.name != "t":
        return axis
    return dataclasses.replace(axis, translation=axis.translation + time * axis.scale)


def _display_settings(checkpoint: StoreCheckpoint) -> Mapping[str, Any] | None:
    """Return the display settings of the input, reduced to the channels and time points that are fused."""
    image, units = checkpoint.image, checkpoint.units
    if not image.omero:
        return None
    omero = dict(image.omero)
    if isinstance(omero.get("channels"), list):
        fused = {c for unit in units for c in unit.channels}
        omero["channels"] = [channel for c, channel in enumerate(omero["channels"]) if c in fused]
    if isinstance(omero.get("rdefs"), Mapping):
        reset = {"defaultZ"}
        if len({unit.time for unit in units}) < image.length("t"):
            reset.add("defaultT")
        omero["rdefs"] = {name: 0 if name in reset else value for name, value in omero["rdefs"].items()}
    return omero


def prepare_commit(
    checkpoint: StoreCheckpoint,
    targets: Mapping[str, Path],
    *,
    force: bool,
    report: Callable[[], dict[str, Any]],
) -> None:
    """Bring all outputs to the disks of their targets, which may take long. `report` is called last."""
    from panfocus.io.ome_zarr_writer import remove_partial_chunks

    for target in targets.values():
        if target.exists() and not force:
            raise FileError(f"{target}: The file exists already.", hint="overwrite", file=target)
    checkpoint.restore_replaced()  # after a killed run
    asides = {
        kind: path.with_name(f"{TEMPORARY_HERE}{checkpoint.run}-{kind}") for kind, path in targets.items()
    }
    checkpoint.write_note("places", {kind: [str(targets[kind]), str(asides[kind])] for kind in targets})
    try:
        waiting = {}
        for kind in checkpoint.plan["outputs"]:
            remove_partial_chunks(checkpoint.store(kind))
            waiting[kind] = _bring_to_target(checkpoint.store(kind), targets[kind], asides[kind])
        facts = report()
        if "report" in targets:
            waiting["report"] = asides["report"] / targets["report"].name
            make_folder(asides["report"])
            write_files({waiting["report"]: encode_json(facts)})
    except BaseException:
        checkpoint.restore_replaced()
        raise
    checkpoint.write_note(
        "ready", {"waiting": {kind: str(path) for kind, path in waiting.items()}, "report": facts}
    )


def _bring_to_target(store: Path, target: Path, aside: Path) -> Path:
    """Return a store, or a TIFF of it, on the disk of its target."""
    from panfocus.io.tiff_writer import write_store_as_tiff

    if target.suffix.lower() not in TIFF_SUFFIXES:
        return bring_to_disk(store, aside)
    make_folder(aside)
    write_files({aside / target.name: write_store_as_tiff(store)})
    return aside / target.name


def check_targets(checkpoint: StoreCheckpoint, targets: Mapping[str, Path]) -> None:
    """Raise if a run that was killed during its commit is resumed with other output names."""
    places = checkpoint.read_note("places")
    if checkpoint.read_note("ready") and not _are_targets(places, targets):
        names = ", ".join(target for target, _ in places.values())
        raise FileError(
            f"{checkpoint.path}: The run was killed while it wrote its outputs. Resume it with the same "
            f"names: {names}.",
            file=checkpoint.path,
        )


def commit(checkpoint: StoreCheckpoint, *, force: bool) -> dict[str, Any]:
    """Rename all outputs to their targets, the image last; remove the checkpoint, and return the report."""
    ready, places = checkpoint.read_note("ready"), checkpoint.read_note("places")
    for kind in sorted(places, key=lambda kind: kind == "image"):
        target, aside = map(Path, places[kind])
        move_into_place(Path(ready["waiting"][kind]), target, aside, force=force)
    checkpoint.remove()
    report: dict[str, Any] = ready["report"]
    return report


def find_committed(checkpoint: StoreCheckpoint, targets: Mapping[str, Path]) -> set[str]:
    """Return the outputs that a run had renamed when it was killed during its commit."""
    ready = checkpoint.read_note("ready")
    if not ready or not _are_targets(checkpoint.read_note("places"), targets):
        return set()
    return {kind for kind, path in ready["waiting"].items() if not store_exists(Path(path))}


def _are_targets(places: Mapping[str, list[str]], targets: Mapping[str, Path]) -> bool:
    return {kind: Path(target) for kind, (target, _) in places.items()} == targets
