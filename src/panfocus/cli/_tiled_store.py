"""`panfocus fuse` of an OME-Zarr store, or of a TIFF as one: tile by tile, by several workers."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.job.request import Request

if TYPE_CHECKING:
    from panfocus.cli._console import Console


def is_store(request: Request) -> bool:
    """Tell whether a store is to be read or written; nothing is loaded for names that cannot be one."""
    if request.outputs.image and request.outputs.image.suffix.lower() == ".zarr":
        return True
    inputs = [Path(given) for given in request.inputs]
    if not any(path.suffix.lower() == ".zarr" or path.is_dir() for path in inputs):
        return False
    from panfocus.io.ome_zarr import is_zarr

    return any(map(is_zarr, inputs))


def is_tiff_to_tiff(request: Request) -> bool:
    """Tell whether one TIFF is to be fused to another, which can be done by tiles too."""
    names = [*map(Path, request.inputs), *filter(None, [request.outputs.image])]
    return len(names) == 2 and all(path.suffix.lower() in (".tif", ".tiff") for path in names)


def fuse_store(
    request: Request,
    terminal: "Console",
    *,
    decisions: str,
    scheduler: str | None,
    force: bool,
    dry_run: bool,
) -> None:
    """Do what is asked for, or only say what would be done."""
    from panfocus.parallel import open_cluster
    from panfocus.tiled_store.checkpoint import run_in
    from panfocus.tiled_store.prepare import prepare
    from panfocus.tiled_store.store_run import run

    with open_cluster(scheduler, terminal.say) as cluster:
        job = prepare(request, decisions=decisions, force=force, cluster=cluster)
        height, width = job.plan["size"]
        of = f"{job.image.length('z')} slices of {width} x {height}"
        if len(job.plan["units"]) > 1:
            of += f", {len(job.plan['units'])} times (time points, channels)"
        if request.align == "auto":
            terminal.say("slices are fused as they lie on each other: stores are not aligned")
        if job.missing:
            terminal.say(f"{request.inputs[0]}: {job.image.describe_missing(job.missing)}")
        for notice in job.notices:
            terminal.say(f"{request.inputs[0]}: {notice}")
        memory = f"at most {job.max_memory / 1e6:,.0f} MB for each {'task' if cluster else 'worker'}"
        if dry_run:
            terminal.say(f"would fuse {of}, {memory}")
            return
        if cluster and not request.max_memory:
            terminal.say(f"planned for the memory of the workers: {memory}")
        try:
            report = run(job, terminal, force=force, cluster=cluster)
        except KeyboardInterrupt as stopped:
            if not (left := run_in(job.folder)):
                raise
            raise KeyboardInterrupt(f"Interrupted; {left.said_kept}") from stopped
    terminal.say(f"fused {of} in {report['seconds']:.1f} s")
    for unit in report["units"]:
        terminal.say(_said(unit, several=len(report["units"]) > 1))
    terminal.say(f"wrote {request.outputs.names()}")


def _said(unit: dict[str, Any], *, several: bool) -> str:
    said = [
        f"{unit['tiles']} {'tile' if unit['tiles'] == 1 else 'tiles'} of at most {unit['tile']} pixels a side"
    ]
    if "frame_shares" in unit:
        said.append(f"sharpest in each: {', '.join(f'{share:.1%}' for share in unit['frame_shares'])}")
    if "never_in_focus_share" in unit:
        said.append(f"never in focus: {unit['never_in_focus_share']:.1%}")
    if found := unit.get("hot_pixels"):
        said.append(f"hot pixels: {found['fixed'] + found['single']} repaired")
    which = f"time {unit['time'] + 1}, channels {', '.join(str(c + 1) for c in unit['channels'])}: "
    return (which if several else "") + "; ".join(said)
