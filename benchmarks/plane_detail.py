"""Fine detail of real bright-field stacks: whether the fused image keeps what one plane shows clearly.

    python -m benchmarks.plane_detail --methods A,B --pyramid PATH/pyramid.py --enfuse --results old=FOLDER

A place is a square of 15 x 15 pixels where one plane clearly has the finest detail: its fine detail (x minus
x blurred by 1 pixel) is real and stronger than in the other planes. The table has the share of places where
the detail (x minus x blurred by 2 pixels) of the fused image correlates with that of the plane by at least
0.9, and the correlation that 5 % of the places do not reach. --results reads FOLDER/STACK.png.
"""

import argparse
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, uniform_filter

import panfocus as pf
from benchmarks import rivals
from benchmarks._data import need_data
from benchmarks._known_stack import FINE
from benchmarks.bright_field_switch import REAL, prepare
from panfocus.compare import parse_methods
from panfocus.decide.gray import to_gray
from panfocus.decide.reblur import estimate_noise
from panfocus.io.read_stack import read_image, read_stack
from panfocus.stack import Frames

STACKS = "blood-smear", "cytology", "algae-20mp"
LARGEST = 1600  # px: of larger frames, the centre is used
SIDE, STEP = 15, 5  # px: side of a place, and distance between places
FINEST = 1.0  # px: standard deviation of the Gaussian that leaves the finest detail
# Weaker fine detail, as root mean square, may be noise or an artefact of JPEG.
LEAST_LEVELS, LEAST_TIMES_NOISE = 3.0, 3.0
# Every other plane must have less energy of fine detail by this factor, or the place is ambiguous. A plane
# next to the best one may be as strong if it shows the same detail: then either one is right.
CLEARLY = 1.3
SAME = 0.9  # correlation of the same detail
LOW = 5  # percentile


class Places(NamedTuple):
    """Centres of places (p, 2), and the best plane (p,) of each."""

    centres: NDArray[np.intp]
    planes: NDArray[np.intp]


def find_places(grays: NDArray[np.float32]) -> Places:
    """Return where one plane of grey frames (n, h, w) in levels clearly has the finest detail."""
    noise = float(np.mean([estimate_noise([gray]) for gray in grays]))
    finest = np.stack([_mean((gray - gaussian_filter(gray, FINEST)) ** 2) for gray in grays])
    best = finest.argmax(axis=0)
    strength = finest.max(axis=0)
    is_place = strength >= max(LEAST_LEVELS, LEAST_TIMES_NOISE * noise) ** 2
    same_as_next = [_correlate(_detail(a), _detail(b)) >= SAME for a, b in pairwise(grays)]
    for k, energy in enumerate(finest):
        is_weaker = CLEARLY * energy <= strength
        is_same = best == k
        if k > 0:
            is_same |= (best == k - 1) & same_as_next[k - 1]
        if k < len(grays) - 1:
            is_same |= (best == k + 1) & same_as_next[k]
        is_place &= is_weaker | is_same
    on_grid = np.zeros(best.shape, np.bool_)
    on_grid[SIDE:-SIDE:STEP, SIDE:-SIDE:STEP] = True
    centres = np.argwhere(is_place & on_grid)
    return Places(centres, best[tuple(centres.T)])


def correlate_places(image: NDArray, grays: NDArray[np.float32], places: Places) -> NDArray[np.float32]:
    """Return the correlation (p,) of the detail of an image with that of the best plane of each place."""
    detail = _detail(_gray_levels(image))
    found = np.empty(len(places.planes), np.float32)
    for plane in np.unique(places.planes):
        chosen = places.planes == plane
        found[chosen] = _correlate(detail, _detail(grays[plane]))[tuple(places.centres[chosen].T)]
    return found


def read_planes(name: str) -> Frames:
    """Return the frames of a stack as a method gets them, or their centre if they are large."""
    files, align, _ = REAL[name]
    frames = prepare(read_stack(sorted((need_data() / "stacks" / name).glob(files))), align)
    height, width = frames.shape[1:3]
    top, left = max(0, (height - LARGEST) // 2), max(0, (width - LARGEST) // 2)
    return np.asarray(frames[:, top : top + LARGEST, left : left + LARGEST])


def fused_images(
    name: str, frames: Frames, methods: str, rival_names: list[str], pyramid: Path | None, results: list[str]
) -> Iterator[tuple[str, NDArray]]:
    """Yield row and fused image of every method, rival and folder of results."""
    for entry in parse_methods(methods) if methods else []:
        result = pf.fuse(frames, entry.method, hot_pixels="off", exposure="off", **entry.settings)
        yield entry.name, result.image
    known = rivals.available(pyramid)
    for rival in rival_names:
        yield rival, rivals.fuse_frames(known[rival], frames)
    for result in results:
        row, folder = result.split("=", 1)
        yield row, read_image(Path(folder) / f"{name}.png")


def gray_levels(frames: NDArray) -> NDArray[np.float32]:
    """Return grey frames in levels."""
    return np.stack([_gray_levels(frame) for frame in frames])


def _gray_levels(image: NDArray) -> NDArray[np.float32]:
    return np.float32(255) * to_gray(image)


def _detail(gray: NDArray[np.float32]) -> NDArray[np.float32]:
    return gray - gaussian_filter(gray, FINE)


def _mean(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return uniform_filter(values, SIDE)


def _correlate(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the correlation of two planes (h, w) in the square around each pixel."""
    of_first, of_second = _mean(first), _mean(second)
    both = _mean(first * second) - of_first * of_second
    energies = (_mean(first**2) - of_first**2) * (_mean(second**2) - of_second**2)
    return both / np.sqrt(np.maximum(energies, np.float32(1e-6)))


def main() -> None:
    """Fuse the stacks and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--methods", default="panfocus", metavar="A,B,...", help="methods, as for panfocus compare"
    )
    parser.add_argument("--pyramid", type=Path, metavar="FILE", help="program of the pyramid")
    parser.add_argument("--enfuse", action="store_true", help="include enfuse, which must be installed")
    parser.add_argument(
        "--results", action="append", default=[], metavar="ROW=FOLDER", help="images of another program"
    )
    given = parser.parse_args()
    wanted = [*(["pyramid"] if given.pyramid else []), *(["enfuse"] if given.enfuse else [])]
    print(f"| stack | places | row | share of {SAME} or more in % | {LOW} % point | median |")
    print("|---|---|---|---|---|---|")
    for name in STACKS:
        frames = read_planes(name)
        grays = gray_levels(frames)
        places = find_places(grays)
        for row, image in fused_images(name, frames, given.methods, wanted, given.pyramid, given.results):
            found = correlate_places(image, grays, places)
            print(
                f"| {name} | {len(found)} | {row} | {100 * np.mean(found >= SAME):.1f} | "
                f"{np.percentile(found, LOW):.3f} | {np.median(found):.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
