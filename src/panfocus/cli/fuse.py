"""`panfocus fuse`: frames in, one sharp picture out."""

from pathlib import Path
from typing import Annotated

import typer

from panfocus.cli._align import Align, Borders, Reference
from panfocus.cli._console import Debug, Force, Quiet, SkipBad, Threads, console
from panfocus.cli._fusion import (
    Bits,
    Channel,
    Dictionary,
    Exposure,
    HotPixels,
    Method,
    Refine,
    Settings,
    Step,
    Time,
)
from panfocus.errors import UsageError, usage_errors
from panfocus.job.outputs import Outputs
from panfocus.job.request import HELP, Request


def fuse(
    *,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT", help="Files, folders, patterns, multi-page TIFFs.", show_default=False
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write.")] = None,
    method: Method = None,
    settings: Settings = None,
    dictionary: Dictionary = None,
    hot_pixels: HotPixels = "auto",
    align: Align = "auto",
    reference: Reference = None,
    borders: Borders = "full",
    exposure: Exposure = "auto",
    refine: Refine = False,
    refine_strength: Annotated[float | None, typer.Option(help=HELP["refine_strength"])] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Write which frame is sharpest at each pixel, counted from 0 (PNG).")
    ] = None,
    confidence: Annotated[
        Path | None, typer.Option(help="Write how sure that is, 0 to 1 (16-bit PNG or float TIFF).")
    ] = None,
    depth: Annotated[
        Path | None,
        typer.Option(help="Write where in the stack each pixel is sharpest (float TIFF or 16-bit PNG)."),
    ] = None,
    depth_colour: Annotated[
        Path | None, typer.Option(help="Write the same in colours, with a legend (PNG).")
    ] = None,
    step: Step = None,
    sweep: Annotated[
        Path | None, typer.Option(help="Write a walk through the depths (animated WebP, GIF or PNG).")
    ] = None,
    never_in_focus: Annotated[
        Path | None, typer.Option(help="Write what is sharp in no frame, 255 there and 0 elsewhere (PNG).")
    ] = None,
    apply_to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INPUT",
            help="Other frames of the scene, such as another channel or light: file, folder or pattern. "
            "They are composed by the same decision; repeats, in step with --apply-output.",
        ),
    ] = None,
    apply_output: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="File to write for --apply-to.")
    ] = None,
    slabs: Annotated[str | None, typer.Option(metavar="SIZE:OVERLAP", help=HELP["slabs"])] = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Fuse at reduced size, at most 1000 pixels a side.")
    ] = False,
    retouch: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Paint places from chosen frames at the end: strokes (JSON)."),
    ] = None,
    save_steps: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write every stage as a small picture (PNG).")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write what was done, with what, to what (JSON).")
    ] = None,
    from_report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Do again what a report tells of; -o gives it another output."),
    ] = None,
    channel: Channel = None,
    time: Time = None,
    jpeg_quality: Annotated[
        int, typer.Option(min=1, max=100, help="Quality of a JPEG that is written, 1 to 100.")
    ] = 95,
    jpeg_subsampling: Annotated[
        str, typer.Option(help="Colour of a JPEG that is written: full 444, half 422, quarter 420.")
    ] = "444",
    bits: Bits = None,
    max_memory: Annotated[str | None, typer.Option(metavar="SIZE", help=HELP["max_memory"])] = None,
    decisions: Annotated[
        str | None,
        typer.Option(
            help="Channels of an OME-Zarr: by one decision, shared (the default), or each by its own. "
            "With it a TIFF is fused to a TIFF tile by tile."
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Fuse a store, or a TIFF, by tiles on the Dask cluster of this."
        ),
    ] = None,
    skip_bad: SkipBad = False,
    threads: Threads = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, say what would be done, write nothing.")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Fuse frames of one scene into one sharp picture.

    The frames are focused at different depths, and aligned first. Nothing is overwritten without --force.
    """
    with console(quiet=quiet, debug=debug) as terminal:
        from panfocus._malloc import keep_freed_memory
        from panfocus.cli._tiled_store import fuse_store, is_store, is_tiff_to_tiff
        from panfocus.job.options import without_effect
        from panfocus.job.run_report import redone
        from panfocus.job.runner import run

        keep_freed_memory()
        outputs = Outputs(
            image=output,
            labels=labels,
            confidence=confidence,
            depth=depth,
            depth_colour=depth_colour,
            never_in_focus=never_in_focus,
            sweep=sweep,
            applied=tuple(apply_output or ()),
            steps=save_steps,
            report=report,
        )
        request = Request(
            inputs=tuple(inputs or ()),
            outputs=outputs,
            method=method,
            settings=tuple(settings or ()),
            dictionary=dictionary,
            hot_pixels=hot_pixels,
            align=align,
            reference=reference,
            borders=borders,
            exposure=exposure,
            refine=refine,
            refine_strength=refine_strength,
            slabs=slabs,
            preview=preview,
            retouch=retouch,
            step=step,
            skip_bad=skip_bad,
            apply_to=tuple((given,) for given in apply_to or ()),
            channel=channel,
            time=time,
            jpeg_quality=jpeg_quality,
            jpeg_subsampling=jpeg_subsampling,
            bits=bits,
            max_memory=max_memory,
            threads=threads,
        )
        if from_report:
            with usage_errors():
                request, lines = redone(from_report, request)
        else:
            lines = without_effect(request)
        for line in lines:
            terminal.say(line)
        by_tiles = bool(scheduler or decisions)
        if is_store(request) or (by_tiles and is_tiff_to_tiff(request)):
            fuse_store(
                request,
                terminal,
                decisions=decisions or "shared",
                scheduler=scheduler,
                force=force,
                dry_run=dry_run,
            )
            return
        if by_tiles:
            raise UsageError(
                "--scheduler and --decisions are for OME-Zarr stores, and for one TIFF fused to a TIFF; "
                "leave them out"
            )
        run(request, terminal, force=force, dry_run=dry_run)
