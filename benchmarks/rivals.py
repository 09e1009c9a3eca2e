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

from panfocus._intensity import IntensityScale
from panfocus.compare import Scene, find_groups
from panfocus.io.atomic_files import make_folder
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image, read_stack
from panfocus.stack import colours

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


def available(pyramid_program: Path | None) -> dict[str, Callable[[Scene, Path], None]]:
    """Return the rivals that can be run here."""
    rivals = {"average": average}
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
