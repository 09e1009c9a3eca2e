"""Plain averaging and the usual Laplacian pyramid, as folders of results for `panfocus compare`.

    python -m benchmarks.rivals DIR OUT [--pyramid PATH/pyramid.py]
    panfocus compare DIR --results average=OUT/average --results pyramid=OUT/pyramid -o REPORT

The pyramid is a program of its own, called as `pyramid.py RESULT FRAME FRAME...`; it needs OpenCV.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from panfocus._float import IntensityScale
from panfocus.compare import Scene, find_groups
from panfocus.io.files import make_folder
from panfocus.io.read import read_stack
from panfocus.io.write import write_image


def average(scene: Scene, result: Path) -> None:
    """Write the mean of the frames."""
    frames = read_stack(scene.sources).frames
    scale = IntensityScale.of(frames.dtype)
    write_image(result, scale.from_unit(scale.to_unit(frames).mean(axis=0)), force=True)


def pyramid(program: Path, scene: Scene, result: Path) -> None:
    """Have a program write its result; it reads the frames itself."""
    subprocess.run([sys.executable, program, result, *scene.sources], check=True)


def main() -> None:
    """Write one folder per rival, one PNG per scene."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of scenes")
    parser.add_argument("output", type=Path, metavar="OUT", help="folder to write to")
    parser.add_argument(
        "--pyramid", type=Path, metavar="FILE", help="the pyramid's program; without it, none"
    )
    given = parser.parse_args()
    rivals = {"average": average}
    if given.pyramid:
        rivals["pyramid"] = lambda scene, result: pyramid(given.pyramid, scene, result)
    (group,) = find_groups([given.folder])
    for name, fuse in rivals.items():
        make_folder(given.output / name)
        for scene in group.scenes:
            fuse(scene, given.output / name / f"{scene.name}.png")
        print(f"{name}: {len(group.scenes)} results in {given.output / name}")


if __name__ == "__main__":
    main()
