"""`panfocus fuse` of an OME-Zarr store, or of a large TIFF: tile by tile, by several workers."""

from pathlib import Path
from typing import Any

from panfocus.cli._console import Console, count, elapsed, resumable
from panfocus.errors import usage_errors
from panfocus.job.request import Request


def is_store(request: Request) -> bool:
    """Return whether a request reads or writes a store."""
    from panfocus.io.input_files import is_zarr

    return any(is_zarr(Path(path)) for path in (*request.inputs, request.outputs.image) if path)


def fuse_store(
    request: Request,
    terminal: Console,
    *,
    decisions: str,
    scheduler: str | None,
    force: bool,
    dry_run: bool,
) -> None:
    """Fuse a store and print the result; in a dry run, print the plan."""
    from panfocus.parallel import open_cluster
    from panfocus.tiled_store.prepare import check_settings, prepare
    from panfocus.tiled_store.store_run import run

    with usage_errors():
        check_settings(request, decisions)  # before the connection to a cluster, which may take long
    with open_cluster(scheduler, terminal.say) as cluster:
        job = prepare(request, decisions=decisions, force=force, cluster=cluster)
        height, width = job.plan["size"]
        slices = f"{job.image.length('z')} slices of {width} x {height}"
        if len(job.plan["units"]) > 1:
            slices += f", {len(job.plan['units'])} times (time points, channels)"
        if request.align == "auto":
            terminal.say("OME-Zarr input is not aligned.")
        if job.missing:
            terminal.say(f"{request.inputs[0]}: {job.image.describe_missing(job.missing)}")
        for notice in job.notices:
            terminal.say(f"{request.inputs[0]}: {notice}")
        memory = f"at most {job.max_memory / 1e6:,.0f} MB of memory per {'task' if cluster else 'worker'}"
        if dry_run:
            terminal.say(f"Would fuse {slices}, with {memory}.")
            return
        if cluster and not request.max_memory:
            terminal.say(f"Planned for the memory of the workers: {memory}.")
        with resumable(job.folder):
            report = run(
                job,
                force=force,
                cluster=cluster,
                progress=terminal.progress,
                notify=terminal.say,
                before_commit=terminal.finish,
            )
    terminal.say(f"Fused {slices}.")
    for unit in report["units"]:
        terminal.say(_describe_unit(unit, several=len(report["units"]) > 1))
    terminal.say(f"Wrote {request.outputs.names()} {elapsed()}")


def _describe_unit(unit: dict[str, Any], *, several: bool) -> str:
    """Return tiles, shares and repairs of one time point and channel, or several channels."""
    facts = [f"{count(unit['tiles'], 'tile')} of at most {unit['tile']} x {unit['tile']} pixels"]
    if "frame_shares" in unit:
        facts.append(f"sharpest in each: {', '.join(f'{share:.1%}' for share in unit['frame_shares'])}")
    if "never_in_focus_share" in unit:
        facts.append(f"never in focus: {unit['never_in_focus_share']:.1%}")
    if repaired := unit.get("hot_pixels"):
        facts.append(f"hot pixels: {repaired['fixed'] + repaired['single']} repaired")
    text = "; ".join(facts) + "."
    channels = ", ".join(str(c + 1) for c in unit["channels"])
    return f"Time {unit['time'] + 1}, channels {channels}: {text}" if several else text
