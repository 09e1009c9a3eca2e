"""Make images of real stacks for inspection: `panfocus`, enfuse and the pyramid side by side.

    PYTHONPATH=. python scripts/look_at_real_stacks.py OUT --pyramid PATH/pyramid.py

Run it from the repository's folder. It needs the image sets and the Debian packages hugin-tools
(align_image_stack) and enfuse. OUT gets a folder per stack with aligned frames and results, NAME-whole.png,
and NAME-places-1.png and NAME-places-2.png with five regions each. Existing aligned frames and rivals'
results are reused; therefore --ours, which aligns by `panfocus`, needs another OUT. The fusion by `panfocus`
is always run.

A region is a window of 160 x 160 pixels. The ten regions, without overlap, are those where the three results
differ most: mean square of the largest difference between any two, over pixels and colours.

--docs also makes the image of docs/panfocus-method.md, from stacks with a suitable licence.
"""

import argparse
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from benchmarks._data import need_data
from benchmarks.alignment import ALIGNMENT, TO_ALIGN
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
}

SIDE = 160
STEP = 8  # windows start at multiples of this
PLACES = 10
PER_SHEET = 5
ZOOM = 2
WHOLE_WIDTH = 900
RAMP = np.array([[40, 20, 100], [30, 120, 180], [90, 200, 120], [250, 230, 60]])  # first frame to last

# Regions for the docs: stack, top, left.
SHOWN = (("pcb", 984, 1824), ("mineral-drift", 28, 640), ("algae-20mp", 624, 3520))
SHOWN_SIDE = 120


@dataclass(frozen=True)
class Look:
    """A stack fused by three programs, and the labels of panfocus."""

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
        return in_column([in_row(tiles[:2]), in_row(tiles[2:])])


def main() -> None:
    """Fuse, find the regions, write the sheets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, metavar="OUT", help="folder to write to")
    parser.add_argument("--pyramid", type=Path, metavar="FILE", required=True, help="program of the pyramid")
    parser.add_argument("--stacks", default=",".join(STACKS), help="names of stacks; default: all")
    parser.add_argument("--ours", action="store_true", help="align by panfocus, not by align_image_stack")
    parser.add_argument("--docs", action="store_true", help="also make the picture of the docs")
    given = parser.parse_args()

    look = cache(lambda name: fused(name, given.output, given.pyramid, ours=given.ours))
    for name in given.stacks.split(","):
        look(name).whole().save(given.output / f"{name}-whole.png")
        rows = [look(name).row(*place) for place in look(name).places()]
        for first in range(0, len(rows), PER_SHEET):
            sheet = in_column(rows[first : first + PER_SHEET])
            sheet.save(given.output / f"{name}-places-{first // PER_SHEET + 1}.png")
        print(f"{name}: looked at {len(rows)} places")
    if given.docs:
        rows = [look(name).row(top, left, side=SHOWN_SIDE, title=name) for name, top, left in SHOWN]
        save("panfocus-real.jpg", in_column(rows))


def fused(name: str, output: Path, pyramid_program: Path, *, ours: bool = False) -> Look:
    """Fuse a stack with all three programs."""
    folder = output / name
    make_folder(folder)
    scene = Scene(name, frames_of(name, folder, ours=ours))
    frames = read_stack(scene.sources).frames[..., :3]
    result = pf.fuse(frames)
    write_image(folder / "panfocus.png", result.image, force=True)
    depths = np.linspace(0, len(RAMP) - 1, len(frames))
    colours = np.stack([np.interp(depths, range(len(RAMP)), channel) for channel in RAMP.T], axis=1)
    labels = np.rint(colours).astype(np.uint8)[result.labels]
    write_image(folder / "labels.png", labels, force=True)
    if not (enfused := folder / "enfuse.png").exists():
        rivals.enfuse(scene, enfused)
    if not (pyramid := folder / "pyramid.png").exists():
        rivals.pyramid(pyramid_program, scene, pyramid)
    pictures = {"panfocus": result.image, "enfuse": read_image(enfused), "pyramid": read_image(pyramid)}
    return Look(name, pictures, labels)


def frames_of(name: str, folder: Path, *, ours: bool = False) -> tuple[Path, ...]:
    """Return the files of the frames, aligned if needed."""
    source, names = need_data() / "stacks" / name, STACKS[name]
    files = sorted(source.glob(names)) if isinstance(names, str) else [source / file for file in names]
    if name not in TO_ALIGN:
        return tuple(files)
    if len(list(folder.glob("aligned-*.tif"))) == len(files):
        return tuple(sorted(folder.glob("aligned-*.tif")))
    if ours:
        for k, frame in enumerate(pf.align(read_stack(files).frames).frames):
            write_image(folder / f"aligned-{k:04}.tif", frame, force=True)
    else:
        command = ["align_image_stack", *ALIGNMENT, *TO_ALIGN[name], "-a", folder / "aligned-", *files]
        subprocess.run(command, check=True, capture_output=True)
    return tuple(sorted(folder.glob("aligned-*.tif")))


def enlarged(piece: NDArray[np.uint8]) -> Image.Image:
    """Show every pixel as a square."""
    return Image.fromarray(piece.repeat(ZOOM, axis=0).repeat(ZOOM, axis=1))


if __name__ == "__main__":
    main()
