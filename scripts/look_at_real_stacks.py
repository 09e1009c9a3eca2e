"""Make images of real stacks for inspection: `panfocus`, an earlier version, enfuse and the pyramid.

    PYTHONPATH=. python scripts/look_at_real_stacks.py OUT --pyramid PATH/pyramid.py --before FOLDER

Run it from the repository's folder. It needs the image sets and the Debian package enfuse. FOLDER is a
checkout of an earlier version. OUT gets a folder per stack with aligned frames and results, NAME-whole.png,
NAME-named.png with the places that users named, and NAME-places-1.png and NAME-places-2.png with five regions
each. Aligned frames and results of the others are reused. The fusion by `panfocus` is always run. Frames are
aligned by `panfocus`.

A region is a window of 160 x 160 pixels. The ten regions, without overlap, are those where the results differ
most: mean square of the largest difference between any two, over pixels and colours.

Most image sets must not be published: keep OUT outside the repository. --docs also makes the image of
docs/panfocus-method.md, from stacks with a suitable licence.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from benchmarks._data import need_data
from benchmarks.alignment import TO_ALIGN
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import uniform_filter

import panfocus as pf
from benchmarks import rivals
from make_doc_images import in_column, in_row, save, titled
from panfocus.compare import Scene
from panfocus.io.atomic_files import make_folder
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image, read_stack

# Frames in focus order. Those of mineral-drift come from two sweeps and are not ordered by name.
STACKS = {
    "amber-flies": "flies_*.jpg",
    "algae-20mp": "algae_*.jpg",
    "pcb": "pcb_*.jpg",
    "ring": "step*.jpg",
    "mineral-drift": [f"frame_{number:04}.jpg" for number in (9, 15, 6, 20, 25, 3)],
    "cytology": "fov*.png",
    "blood-smear": "plane_*.jpg",
}
# Middles, x and y, of places where users saw mistakes of version 0.1.
NAMED = {
    "pcb": [(1085, 1300)],
    "amber-flies": [(480, 690), (580, 690), (480, 760), (580, 760)],
    "algae-20mp": [(990, 1450)],
    "blood-smear": [(730, 200)],
}

SIDE = 160
STEP = 8  # windows start at multiples of this
PLACES = 10
PER_SHEET = 5
ZOOM = 2
WHOLE_WIDTH = 900
RAMP = np.array([[40, 20, 100], [30, 120, 180], [90, 200, 120], [250, 230, 60]])  # first frame to last

# Run by an earlier version: fuse files into a file.
FUSE = """
import sys
import panfocus as pf
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_stack
frames = read_stack(sys.argv[2:]).frames
write_image(sys.argv[1], pf.fuse(frames if frames.ndim == 3 else frames[..., :3]).image, force=True)
"""

# Regions for the docs: stack, top, left.
SHOWN = (("pcb", 984, 1824), ("mineral-drift", 28, 640), ("algae-20mp", 624, 3520))
SHOWN_SIDE = 120


@dataclass(frozen=True)
class Look:
    """A stack fused by several programs, and the labels of panfocus."""

    name: str
    pictures: dict[str, NDArray[np.uint8]]
    labels: NDArray[np.uint8]  # a picture

    def places(self) -> Iterator[tuple[int, int]]:
        """Yield the corners, row and column, of the windows where the results differ most."""
        hardness = self._hardness()
        for _ in range(PLACES):
            row, col = np.unravel_index(hardness.argmax(), hardness.shape)
            if hardness[row, col] < 0:  # no free window is left
                return
            yield int(row) * STEP, int(col) * STEP
            apart = -(-SIDE // STEP)
            hardness[max(0, row - apart + 1) : row + apart, max(0, col - apart + 1) : col + apart] = -1

    def _hardness(self) -> NDArray[np.float32]:
        """Return the difference of the results for every window, by corner in steps."""
        pictures = list(self.pictures.values())
        most, least = np.maximum.reduce(pictures), np.minimum.reduce(pictures)
        square = np.square((most - least).astype(np.float32)).mean(axis=2)
        means = uniform_filter(square, SIDE, origin=-(SIDE // 2))  # of the window that starts at a pixel
        height, width = square.shape
        return means[: height - SIDE + 1 : STEP, : width - SIDE + 1 : STEP]

    def row(self, top: int, left: int, *, side: int = SIDE, title: str = "") -> Image.Image:
        """Return a window of all results and of the labels, enlarged."""
        cut = slice(top, top + side), slice(left, left + side)
        return in_row(
            [
                titled(enlarged(picture[cut]), f"{title or f'row {top}, column {left}'}: {name}")
                for name, picture in (self.pictures | {"labels": self.labels}).items()
            ]
        )

    def whole(self) -> Image.Image:
        """Return all results, reduced."""
        tiles = []
        for name, picture in (self.pictures | {"labels": self.labels}).items():
            small = Image.fromarray(picture)
            small = small.resize((WHOLE_WIDTH, WHOLE_WIDTH * small.height // small.width), Image.LANCZOS)
            tiles.append(titled(small, name))
        return in_column([in_row(tiles[:3]), in_row(tiles[3:])])


def main() -> None:
    """Fuse, find the regions, write the sheets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, metavar="OUT", help="folder to write to")
    parser.add_argument("--pyramid", type=Path, metavar="FILE", required=True, help="program of the pyramid")
    parser.add_argument("--stacks", default=",".join(STACKS), help="names of stacks; default: all")
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="checkout of an earlier version")
    parser.add_argument("--docs", action="store_true", help="also make the picture of the docs")
    given = parser.parse_args()

    look = cache(lambda name: fused(name, given.output, given.pyramid, given.before))
    for name in given.stacks.split(","):
        look(name).whole().save(given.output / f"{name}-whole.png")
        if name in NAMED:
            corners = [(max(0, y - SIDE // 2), max(0, x - SIDE // 2)) for x, y in NAMED[name]]
            in_column([look(name).row(*corner) for corner in corners]).save(
                given.output / f"{name}-named.png"
            )
        rows = [look(name).row(*place) for place in look(name).places()]
        for first in range(0, len(rows), PER_SHEET):
            sheet = in_column(rows[first : first + PER_SHEET])
            sheet.save(given.output / f"{name}-places-{first // PER_SHEET + 1}.png")
        print(f"{name}: looked at {len(rows)} places")
    if given.docs:
        rows = [look(name).row(top, left, side=SHOWN_SIDE, title=name) for name, top, left in SHOWN]
        save("panfocus-real.jpg", in_column(rows))


def fused(name: str, output: Path, pyramid_program: Path, before: Path | None) -> Look:
    """Fuse a stack with all programs."""
    folder = output / name
    make_folder(folder)
    scene = Scene(name, frames_of(name, folder))
    frames = read_stack(scene.sources).frames
    frames = frames if frames.ndim == 3 else frames[..., :3]  # without alpha
    result = pf.fuse(frames)
    write_image(folder / "panfocus.png", result.image, force=True)
    depths = np.linspace(0, len(RAMP) - 1, len(frames))
    colours = np.stack([np.interp(depths, range(len(RAMP)), channel) for channel in RAMP.T], axis=1)
    labels = np.rint(colours).astype(np.uint8)[result.labels]
    write_image(folder / "labels.png", labels, force=True)
    others = {
        "enfuse": partial(rivals.enfuse, scene),
        "pyramid": partial(rivals.pyramid, pyramid_program, scene),
    }
    if before:
        others = {"before": partial(fuse_before, before, scene)} | others
    pictures = {"panfocus": as_colour(result.image)}
    for program, fuse in others.items():
        if not (written := folder / f"{program}.png").exists():
            fuse(written)
        pictures[program] = as_colour(read_image(written))
    return Look(name, pictures, labels)


def fuse_before(version: Path, scene: Scene, result: Path) -> None:
    """Fuse by an earlier version."""
    environment = os.environ | {"PYTHONPATH": str(version / "src")}
    subprocess.run([sys.executable, "-c", FUSE, result, *scene.sources], check=True, env=environment)


def frames_of(name: str, folder: Path) -> tuple[Path, ...]:
    """Return the files of the frames, aligned if needed."""
    source, names = need_data() / "stacks" / name, STACKS[name]
    files = sorted(source.glob(names)) if isinstance(names, str) else [source / file for file in names]
    if name not in TO_ALIGN:
        return tuple(files)
    aligned = [folder / f"aligned-{k:04}.tif" for k in range(len(files))]
    if not all(path.exists() for path in aligned):
        for path, frame in zip(aligned, pf.align(read_stack(files).frames).frames, strict=True):
            write_image(path, frame, force=True)
    return tuple(aligned)


def as_colour(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a picture (h, w, 3) of a grey or colour picture."""
    return np.dstack([picture] * 3) if picture.ndim == 2 else picture


def enlarged(piece: NDArray[np.uint8]) -> Image.Image:
    """Show every pixel as a square."""
    return Image.fromarray(piece.repeat(ZOOM, axis=0).repeat(ZOOM, axis=1))


if __name__ == "__main__":
    main()
