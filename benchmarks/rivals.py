"""Results of averaging, a Laplacian pyramid and enfuse, as folders for `panfocus compare`.

    python -m benchmarks.rivals DIR OUT [--pyramid PATH/pyramid.py]
    panfocus compare DIR --results average=OUT/average --results pyramid=OUT/pyramid -o REPORT

The pyramid is a separate program, called as `pyramid.py RESULT FRAME FRAME...`; it needs OpenCV. enfuse (a
Debian package) is run if installed, with the options of its manual for focus stacks.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks._truth import full_range
from panfocus._intensity import IntensityScale
from panfocus.compare import Scene, find_groups
from panfocus.io.atomic_files import make_folder
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image, read_stack
from panfocus.metrics.catalogue import source_letters
from panfocus.stack import colours

Rival = Callable[[Scene, Path], None]

# Select by contrast only, and copy pixels instead of mixing.
ENFUSE = ("enfuse", "--exposure-weight=0", "--saturation-weight=0", "--contrast-weight=1", "--hard-mask")


def average(scene: Scene, result: Path) -> None:
    """Write the mean of the frames."""
    frames = read_stack(scene.sources).frames
    scale = IntensityScale.of(frames.dtype)
    write_image(result, scale.from_unit(scale.to_unit(frames).mean(axis=0)), force=True)


def pyramid(program: Path, scene: Scene, result: Path) -> None:
    """Run the program of the pyramid."""
    subprocess.run([sys.executable, program, result, *scene.sources], check=True)


def enfuse(scene: Scene, result: Path) -> None:
    """Run enfuse with selection by contrast only, without mixing."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "result.tif"  # enfuse cannot write PNG with some colour profiles
        subprocess.run([*ENFUSE, "-o", written, *scene.sources], check=True, capture_output=True)
        image = read_image(written)  # its alpha channel is opaque everywhere
    image = colours(image)
    write_image(result, image[..., 0] if image.shape[2] == 1 else image, force=True)


def fuse_frames(rival: Rival, frames: NDArray) -> NDArray:
    """Fuse frames (n, h, w) or (n, h, w, 3) of integers through files: 8 bit, or scaled to 16 bit and back.

    A rival that reads or writes 8 bit only loses the other bits.
    """
    suffix, scale = (".png", 1.0) if frames.dtype == np.uint8 else (".tif", 65535 / full_range(frames))
    with tempfile.TemporaryDirectory() as folder:
        sources = tuple(Path(folder) / f"frame-{source_letters(i)}{suffix}" for i in range(len(frames)))
        for path, frame in zip(sources, frames, strict=True):
            write_image(path, np.rint(frame * scale).astype(frame.dtype))
        result = Path(folder) / f"result{suffix}"
        rival(Scene("frame", sources), result)
        image = read_image(result)
    if image.ndim > frames.ndim - 1:
        image = image[..., 0]  # grey frames, written as colour
    return np.rint(image * (full_range(frames) / np.iinfo(image.dtype).max)).astype(frames.dtype)


def available(pyramid_program: Path | None) -> dict[str, Rival]:
    """Return the rivals that can be run here."""
    rivals: dict[str, Rival] = {"average": average}
    if pyramid_program:
        rivals["pyramid"] = partial(pyramid, pyramid_program)
    if shutil.which("enfuse"):
        rivals["enfuse"] = enfuse
    return rivals


def main() -> None:
    """Write one folder per rival with one PNG per scene."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of scenes")
    parser.add_argument("output", type=Path, metavar="OUT", help="folder to write to")
    parser.add_argument(
        "--pyramid", type=Path, metavar="FILE", help="program of the pyramid; skipped by default"
    )
    given = parser.parse_args()
    (group,) = find_groups([given.folder])
    for name, fuse in available(given.pyramid).items():
        make_folder(given.output / name)
        for scene in group.scenes:
            fuse(scene, given.output / name / f"{scene.name}.png")
        print(f"{name}: {len(group.scenes)} results in {given.output / name}")


if __name__ == "__main__":
    main()
