"""Make screenshots of a comparison page for the docs, with scenes made from the sample.

    python scripts/make_compare_pictures.py

Needs a browser: Debian's package chromium. The fused sample is cut into sharp pieces. Each becomes a scene
of two frames, defocused on either side of a slanting border.
"""

import sys
import tempfile
from importlib.resources import as_file, files
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Page

import panfocus as pf
from panfocus._intensity import IntensityScale
from panfocus.compare import (
    Comparison,
    Conditions,
    find_groups,
    list_trials,
    parse_methods,
    parse_results,
    run_trials,
    write_report,
)
from panfocus.io.encode import write_image
from panfocus.io.input_files import find_inputs
from panfocus.io.read_stack import read_stack
from panfocus.simulate import apply_defocus

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser import launch_chromium, new_context  # noqa: E402

DESTINATION = ROOT / "docs" / "images"
PIECE = (166, 300)
RADIUS = 3.0
WIDTH = 1240  # width of the window in pixels
METRICS = ("NMI", "QABF", "QCB", "SSIM", "MSE", "PSNR")
METHODS = "coupled,coupled:contrast=normalised,coupled:stride=4"


def main() -> None:
    """Make scenes, compare them, save screenshots."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "stone").mkdir()
        (folder / "average").mkdir()
        write_scenes(folder / "stone", folder / "average")
        groups = find_groups([folder / "stone"])
        entries = [*parse_methods(METHODS), *parse_results([f"average={folder / 'average'}"], groups)]
        conditions = Conditions(metrics=METRICS, crop=8)
        trials = list_trials(groups, entries, conditions, folder / "results")
        results, _ = run_trials(trials)
        write_report(Comparison.of(groups, entries, conditions, trials, results), folder)
        photograph(folder / "index.html")


def write_scenes(scenes: Path, averages: Path) -> None:
    """Cut the fused sample into scenes, and write the mean of their frames as results."""
    with as_file(files("panfocus") / "data" / "sample") as sample:
        fused = pf.fuse(read_stack(find_inputs([sample])).frames).image
    height, width = PIECE
    corners = [
        (top, left)
        for top in range(0, fused.shape[0] - height + 1, height)
        for left in range(0, fused.shape[1] - width + 1, width)
    ]
    for number, (top, left) in enumerate(corners, start=1):
        sharp = fused[top : top + height, left : left + width]
        soft = blurred(sharp)
        rows, cols = np.indices(PIECE)
        near = (rows + (number % 3) * cols > (height + (number % 3) * width) / 2)[..., None]
        frames = [np.where(near, sharp, soft), np.where(near, soft, sharp)]
        for part, picture in zip(("A", "B", "GT"), [*frames, sharp], strict=True):
            write_image(scenes / f"stone-{number}-{part}.png", picture)
        write_image(averages / f"stone-{number}.png", np.rint(np.mean(frames, axis=0)).astype(np.uint8))


def blurred(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Defocus every channel."""
    scale = IntensityScale.of(image.dtype)
    unit = scale.to_unit(image)
    return scale.from_unit(np.stack([apply_defocus(unit[..., i], RADIUS) for i in range(3)], axis=2))


def photograph(file: Path) -> None:
    """Save two screenshots of the page: its start, and its first scene, enlarged."""
    with launch_chromium() as chromium:
        page = new_context(chromium, width=WIDTH, height=1360).new_page()
        page.goto(file.as_uri())
        save(page, "compare.jpg")
        page.set_viewport_size({"width": WIDTH, "height": 1330})
        scene = page.locator("details.scene").first
        scene.locator("summary").first.click()
        for _ in range(2):
            scene.locator(".viewer").press("+")
        scene.evaluate("(scene) => scene.scrollIntoView()")
        save(page, "compare-scene.jpg")


def save(page: Page, name: str) -> None:
    """Save what the window shows."""
    picture = Image.open(BytesIO(page.screenshot()))
    picture.convert("RGB").save(DESTINATION / name, quality=80, optimize=True)
    print(f"{name}: {(DESTINATION / name).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
