"""Effect of noise on decisions: made on noisy frames, judged on clean frames composed by them.

    python -m benchmarks.noisy_decisions [-o FIGURES]

Noise is normal with 0, 2, 5 and 10 levels of 255. Clean frames are composed like the method does (`panfocus`
by probabilities, `coupled` by votes), and by the labels of both. The table shows colour PSNR without 8 border
pixels, on the scenes on which settings were chosen and on the others. Margins have a 95 % interval of the
mean over 10,000 bootstrap draws of scenes.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks._truth import HALVES, SEED, SETS, colour_psnr, composed_clean, noisy, scenes
from panfocus.compare import Scene
from panfocus.decide.compose import by_labels
from panfocus.io.read_stack import read_image, read_stack

SIGMAS = (0, 2, 5, 10)
METHODS = ("panfocus", "coupled")
COMPOSITIONS = ("own", "labels")
DRAWS = 10_000

Figures = dict[str, float]  # by "method composition sigma"


def measure(scene: Scene) -> Figures:
    """Return the PSNR of clean frames composed by decisions at every noise level."""
    clean, truth = read_stack(scene.sources).frames, read_image(scene.reference)
    figures = {}
    for sigma in SIGMAS:
        decided_on = noisy(clean, sigma)
        for method in METHODS:
            result = composed_clean(method, decided_on, clean)
            figures[f"{method} own {sigma}"] = colour_psnr(result.image, truth)
            figures[f"{method} labels {sigma}"] = colour_psnr(by_labels(clean, result.labels), truth)
    return figures


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean over scenes."""
    drawn = np.random.default_rng(SEED).choice(values, (DRAWS, len(values)))
    low, high = np.percentile(drawn.mean(axis=1), (2.5, 97.5))
    return float(low), float(high)


def row(of_scenes: Sequence[Figures], sigma: float) -> list[str]:
    """Return table cells: for each composition the means of both methods, and the margin."""
    cells = []
    for composition in COMPOSITIONS:
        ours, theirs = (
            np.array([figures[f"{method} {composition} {sigma}"] for figures in of_scenes])
            for method in METHODS
        )
        low, high = interval(ours - theirs)
        cells += [f"{ours.mean():.2f}", f"{theirs.mean():.2f}"]
        cells.append(f"{(ours - theirs).mean():.2f} [{low:.2f}, {high:.2f}]")
    return cells


def print_table(figures: Mapping[str, Mapping[str, Figures]]) -> None:
    """Print a Markdown table."""
    head = [f"{name}{how}" for how in ("", ", labels") for name in (*METHODS, "margin")]
    print("\n| | noise | " + " | ".join(head) + " |\n|---|---|" + "---|" * len(head))
    for group, of_scenes in figures.items():
        for sigma in SIGMAS:
            print(f"| {group} | {sigma} | " + " | ".join(row(list(of_scenes.values()), sigma)) + " |")


def main() -> None:
    """Measure all scenes and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="JSON file of all figures")
    given = parser.parse_args()
    figures: dict[str, dict[str, Figures]] = {f"{name}, {half}": {} for name in SETS for half in HALVES}
    for name, half, scene in scenes():
        figures[f"{name}, {half}"][scene.name] = measure(scene)
        print(scene.name, end=" ", flush=True)
    if given.output:
        given.output.write_text(json.dumps(figures, indent=1) + "\n")
    print_table(figures)


if __name__ == "__main__":
    main()
