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
    scheduler: str | None,
    force: bool,
    dry_run: bool,
) -> None:
    """Fuse a store and print the result; in a dry run, print the plan."""
    from panfocus.job.summary import fusion_lines
    from panfocus.parallel import open_cluster
    from panfocus.stack import count_and_size
    from panfocus.tiled_store.prepare import check_settings, prepare
    from panfocus.tiled_store.store_run import run

    with usage_errors():
        # Before the connection to a cluster, which may take long.
        check_settings(request, "scheduler" if scheduler else "tiled")
    with open_cluster(scheduler, terminal.say) as cluster:
        job = prepare(request, force=force, cluster=cluster)
        height, width = job.plan["size"]
        shape = (job.image.length("z"), height, width)
        n_units = len(job.plan["units"])
        if request.align == "auto":
            terminal.say("Slices are not aligned.")
        if job.missing:
            terminal.say(f"{request.inputs[0]}: {job.image.describe_missing(job.missing)}")
        for notice in job.notices:
            terminal.say(f"{request.inputs[0]}: {notice}")
        memory = f"at most {job.max_memory / 1e6:,.0f} MB of memory per {'task' if cluster else 'worker'}"
        if dry_run:
            several = f", {n_units} times (time points, channels)" if n_units > 1 else ""
            terminal.say(f"Would fuse {count_and_size(shape)}{several}, with {memory}.")
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
    for unit in report["units"]:
        tiles = f"{count(unit['tiles'], 'tile')} of at most {unit['tile']} x {unit['tile']} pixels"
        lines = fusion_lines(shape, unit, f" in {tiles}")
        for line in lines if n_units == 1 else [f"{_describe_unit(unit)}: {' '.join(lines)}"]:
            terminal.say(line)
    terminal.say(f"Wrote {request.outputs.names()} {elapsed()}")


def _describe_unit(unit: dict[str, Any]) -> str:
    channels = ", ".join(str(c + 1) for c in unit["channels"])
    return f"Time {unit['time'] + 1}, channel{'s' if len(unit['channels']) > 1 else ''} {channels}"
