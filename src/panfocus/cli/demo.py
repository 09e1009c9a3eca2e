"""`panfocus demo`: what `panfocus fuse` does, on a sample that comes with the package."""

from pathlib import Path
from typing import Annotated

import typer

from panfocus.cli._console import Debug, Quiet, console


def demo(
    *,
    folder: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to.")] = Path(
        "panfocus-demo"
    ),
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Fuse the sample that comes with panfocus."""
    with console(quiet=quiet, debug=debug) as terminal:
        from importlib.resources import as_file, files

        from panfocus.io.atomic_files import make_folder
        from panfocus.job.outputs import Outputs
        from panfocus.job.request import Request
        from panfocus.job.runner import run

        make_folder(folder)
        fused, depth = folder / "fused.png", folder / "depth.png"
        with as_file(files("panfocus") / "data" / "sample") as sample:
            terminal.say(f"The sample, frames of one scene, each sharp in places: {sample}")
            request = Request(inputs=(str(sample),), outputs=Outputs(image=fused, depth_colour=depth))
            run(request, terminal, force=True, dry_run=False)  # its own folder: it may be run again
        terminal.say(f"The fused picture: {fused.resolve()}")
        terminal.say(f"How deep in the stack each pixel is sharpest, in colours: {depth.resolve()}")
