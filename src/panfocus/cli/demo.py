"""`panfocus demo`: the whole way from frames to a sharp picture, on a sample that comes with the package."""

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

        import numpy as np

        from panfocus.io.files import make_folder, write_files
        from panfocus.io.find import find_inputs
        from panfocus.io.read import read_stack
        from panfocus.io.write import encode_image
        from panfocus.pipeline import fuse

        make_folder(folder)
        with as_file(files("panfocus") / "data" / "sample") as sample:
            stack = read_stack(find_inputs([sample]))
        n_frames, height, width = stack.frames.shape[:3]
        terminal.say(
            f"The sample: {n_frames} frames of one scene, {width} x {height} pixels, each sharp in places."
        )
        terminal.say("Testing at each pixel which frame, when blurred, gives the others.")
        result = fuse(stack.frames, progress=terminal.progress)
        fused, labels = folder / "fused.png", folder / "labels.png"
        contents = {fused: encode_image(fused, result.image, like=stack)}
        if result.labels is not None:
            shades = np.linspace(0, 255, n_frames).astype(np.uint8)
            contents[labels] = encode_image(labels, shades[result.labels])
        terminal.finish()
        write_files(contents, force=True)  # the demo's own folder: it may be run again
        terminal.say(
            f"Composed the picture from the frames that were chosen: {result.report['seconds']:.1f} s in all."
        )
        terminal.say(f"The fused picture: {fused.resolve()}")
        if labels in contents:
            terminal.say(
                f"Which frame is sharpest at each pixel, first dark, last bright: {labels.resolve()}"
            )
