"""`panfocus fuse` and `panfocus demo`: fuse a stack, or the sample that comes with the package."""

import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from panfocus.cli import _options as options
from panfocus.cli._console import console, count
from panfocus.errors import InputError, Notice, usage_errors
from panfocus.job.request import Outputs, Request


def fuse(
    *,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="INPUT", help=options.INPUT_HELP, show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Fused image; default: NAME-fused.EXT in the current folder, named after the input.",
            parser=options.file_name,
        ),
    ] = None,
    method: options.Method = None,
    settings: options.Settings = None,
    dictionary: options.Dictionary = None,
    hot_pixels: options.HotPixels = "auto",
    align: options.Align = "auto",
    reference: options.Reference = None,
    borders: options.Borders = "full",
    exposure: options.Exposure = "auto",
    decide_channels: options.DecideChannels = "auto",
    refine: options.Refine = False,
    refine_strength: Annotated[
        float | None, typer.Option(metavar="X", help=options.HELP["refine_strength"])
    ] = None,
    labels: Annotated[
        Path | None,
        options.file_option("Write the label map: the sharpest frame at each pixel, from 0 (PNG)."),
    ] = None,
    confidence: Annotated[
        Path | None, options.file_option("Write the confidence map, 0 to 1 (16-bit PNG or float TIFF).")
    ] = None,
    depth: Annotated[
        Path | None,
        options.file_option(
            "Write the depth map, in frames, or in the unit of --step (float TIFF or 16-bit PNG)."
        ),
    ] = None,
    depth_colour: Annotated[
        Path | None, options.file_option("Write the depth map in colours, with a legend (PNG).")
    ] = None,
    step: options.Step = None,
    sweep: Annotated[
        Path | None,
        options.file_option("Write an animation that moves through the depths (WebP, GIF or PNG)."),
    ] = None,
    never_in_focus: Annotated[
        Path | None, options.file_option("Write a mask (PNG): 255 where no frame is in focus, else 0.")
    ] = None,
    apply_to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INPUT",
            help="Other frames of the same scene, such as another channel or light. They are composed with "
            "the same decision. Repeat it, with one --apply-output each.",
        ),
    ] = None,
    apply_output: Annotated[list[Path] | None, options.file_option("File to write for --apply-to.")] = None,
    slabs: Annotated[str | None, typer.Option(metavar="SIZE:OVERLAP", help=options.HELP["slabs"])] = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Fuse at reduced size, at most 1000 pixels per side.")
    ] = False,
    retouch: Annotated[
        Path | None, options.file_option("Apply retouching strokes, as exported by the page (JSON).")
    ] = None,
    save_steps: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a small image of each stage (PNG).")
    ] = None,
    report: Annotated[
        Path | None, options.file_option("Write inputs, settings, outputs and times (JSON).")
    ] = None,
    from_report: Annotated[
        Path | None, options.file_option("Repeat the run of a report; give -o to write to another file.")
    ] = None,
    channel: options.Channel = None,
    time: options.Time = None,
    jpeg_quality: Annotated[int, options.number_option("Quality of JPEG output, 1 to 100.", 1, 100)] = 95,
    jpeg_subsampling: Annotated[
        str, typer.Option(metavar="MODE", help="Chroma subsampling of JPEG output: 444 (none), 422 or 420.")
    ] = "444",
    bits: options.Bits = None,
    max_memory: options.MaxMemory = None,
    tiled: Annotated[
        bool,
        typer.Option(
            "--tiled",
            help="Fuse a TIFF z-stack to a TIFF tile by tile, without alignment, as OME-Zarr stores are.",
        ),
    ] = False,
    scheduler: options.Scheduler = None,
    skip_bad: options.SkipBad = False,
    threads: options.Threads = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything and print the plan; write nothing.")
    ] = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Fuse a focus stack into one sharp image.

    The frames must be in the order of focus. They are aligned first.
    """
    given = locals()  # most parameters have the names of fields of `Request` or `Outputs`
    with console(quiet=quiet, debug=debug) as terminal:
        from panfocus._memory import keep_freed_memory
        from panfocus.cli._tiled_store import fuse_store, is_store
        from panfocus.job.prepare import unused_options
        from panfocus.job.run_report import repeat_request
        from panfocus.job.runner import run

        keep_freed_memory()
        outputs = options.fill(
            Outputs, given, image=output, applied=tuple(apply_output or ()), steps=save_steps
        )
        request = options.fill(
            Request,
            given,
            inputs=tuple(inputs or ()),
            outputs=outputs,
            settings=tuple(settings or ()),
            max_memory=options.parse_memory(max_memory),
            apply_to=tuple((each,) for each in apply_to or ()),
        )
        with usage_errors():
            notices: Sequence[str | Notice]
            if from_report:
                request, notices = repeat_request(from_report, request)
            else:
                request = _with_output(request)
                notices = unused_options(request)
        if scheduler or tiled or is_store(request):
            for notice in notices:
                terminal.say(notice)
            fuse_store(
                request,
                terminal,
                scheduler=scheduler,
                force=force,
                dry_run=dry_run,
            )
            return
        done = run(
            request,
            force=force,
            dry_run=dry_run,
            progress=terminal.progress,
            before_commit=terminal.finish,
        )
        for notice in notices:
            terminal.say(notice)
        terminal.report(done)


def _with_output(request: Request) -> Request:
    """Return the request with an output: by default a new file NAME-fused.EXT in the current folder."""
    from panfocus.cli._tiled_store import is_store
    from panfocus.io.encode import IMAGE_SUFFIXES
    from panfocus.io.input_files import find_inputs

    if not request.inputs:
        raise InputError("INPUT is missing.", hint="name_inputs", setting="inputs")
    for folder in map(Path, request.inputs):
        _check_single_stack(folder)
    if request.outputs.image:
        return request
    named = Path(request.inputs[0])
    if is_store(request):
        name, suffix = named.resolve().name.removesuffix(".zarr").removesuffix(".ome"), ".ome.zarr"
    else:
        first = find_inputs(request.inputs[:1])[0]
        name, suffix = named.resolve().name if named.is_dir() else first.stem, first.suffix.lower()
        if name.lower().endswith(".ome") and suffix in (".tif", ".tiff"):
            name, suffix = name[:-4], ".ome.tif"
        elif suffix in (".jpe", ".jfif", ".jif"):
            suffix = ".jpg"
        elif suffix not in IMAGE_SUFFIXES:  # such as RAW
            suffix = ".png"
    names = (f"{name}-fused{number}{suffix}" for number in ("", *(f"-{n}" for n in range(2, 10_000))))
    image = next(path for path in map(Path, names) if not path.exists())
    return dataclasses.replace(request, outputs=dataclasses.replace(request.outputs, image=image))


def count_images(folder: Path) -> int:
    """Return the number of images in a folder, by their names."""
    from panfocus.io.input_files import INPUT_SUFFIXES

    return sum(path.suffix.lower() in INPUT_SUFFIXES and path.is_file() for path in folder.iterdir())


def _check_single_stack(folder: Path) -> None:
    """Raise if a folder holds no images but folders of images, which are stacks for `panfocus batch`."""
    with suppress(OSError):  # reported when the folder is read
        if not folder.is_dir() or folder.suffix == ".zarr" or count_images(folder):
            return
        n_stacks = sum(path.is_dir() and count_images(path) > 1 for path in folder.iterdir())
        if n_stacks:
            raise InputError(
                f"{folder}: This folder holds {count(n_stacks, 'stack')} in subfolders. "
                f"Fuse one of them, or all with: panfocus batch {folder} -o RESULTS",
                file=str(folder),
                stacks=n_stacks,
            )


def demo(
    *,
    folder: options.OutputFolder = Path("panfocus-demo"),
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Fuse the sample that comes with panfocus."""
    with console(quiet=quiet, debug=debug) as terminal:
        from importlib.resources import as_file, files

        from panfocus.io.atomic_files import create_folder
        from panfocus.job.runner import run

        fused, depth = folder / "fused.png", folder / "depth.png"
        with as_file(files("panfocus") / "data" / "sample") as sample, create_folder(folder):
            terminal.say(f"Sample frames: {sample}")
            request = Request(inputs=(str(sample),), outputs=Outputs(image=fused, depth_colour=depth))
            done = run(request, force=force, progress=terminal.progress, before_commit=terminal.finish)
            terminal.report(done)
        terminal.say(f"Fused image: {fused.resolve()}")
        terminal.say(f"Depth map: {depth.resolve()}")
