"""Ablation of the method `panfocus`: one part is switched off or replaced, all others stay.

    python -m benchmarks.ablation [--parts A,B,...] [-o FIGURES]

Ground truth: colour PSNR without 8 border pixels, for the scenes on which settings were chosen (1st, 3rd, ...
by name) and for the others. It is measured on clean frames, and on clean frames composed by decisions on
frames with noise of 10 levels. Rendered stacks: as in docs/simulate.md. Lytro: frames composed by the labels.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import panfocus as pf
from benchmarks import _truth, rendered_stacks
from benchmarks._data import need_data
from benchmarks._truth import HALVES, SETS, Frames, colour_psnr, composed_clean, noisy
from panfocus._filters import Filter, filtered, gaussian
from panfocus._intensity import FloatArray, IntArray
from panfocus.compare import Scene, find_groups
from panfocus.decide import reblur
from panfocus.decide.compose import by_labels
from panfocus.decide.focus_measure import NOISE_GAIN, laplacian_energy
from panfocus.decide.gray import to_gray
from panfocus.io.read_stack import read_image, read_stack
from panfocus.methods import _never_in_focus, _surroundings, panfocus
from panfocus.metrics import matlab_gray, nmi, qabf, qcb, qy

NOISE = 10.0
PROCESSES = 2
# Replacements are tuned on the scenes on which settings are chosen.
LAPLACIAN_GAIN = 2.0  # factor of the logarithm of energies
SHARP, LEAST_DETAIL = 5.0, 0.001  # ratio of fine detail to detail after a blur of 2 pixels; noise floor
NOTHING = Filter(np.ones(1, np.float32))  # identity filter
TRUTH, RENDERED, LYTRO = "ground truth", "rendered", "lytro"
EVERYWHERE = (TRUTH, RENDERED, LYTRO)

Figures = dict[str, float]


def by_laplacian(
    frames: Iterable[FloatArray], *, noise: float, clip: float | None = None, sections: bool = False
) -> Iterator[reblur.LogOdds]:
    """Yield log odds from the energy of the Laplacian, damped by its noise."""
    energies = (np.mean([laplacian_energy(plane) for plane in frame], axis=0) for frame in frames)
    logs = (np.log(energy + reblur.FLOOR + NOISE_GAIN * noise**2) for energy in energies)
    for before, after in pairwise(logs):
        odds = (LAPLACIAN_GAIN * (after - before)).astype(np.float32)
        yield reblur.LogOdds(odds, odds, np.zeros_like(odds))


def at_the_pixel(attempts: FloatArray, glow: FloatArray, other: FloatArray, error: FloatArray) -> None:
    """Judge attempts at each pixel separately."""
    differences = attempts - other
    if len(glow):
        differences = np.where(glow[:, None] > 0, np.maximum(differences, 0), differences)
    np.min((differences**2).mean(axis=1), axis=0, out=error)


def gray_levels(surveyed: Any, frame: Frames) -> FloatArray:
    """Use only luma as evidence."""
    gray = to_gray(frame)[None]
    return ((gray - surveyed.dark) * (panfocus.LEVELS / surveyed.span)).astype(np.float32)


def two_bands(
    gray: FloatArray, rows: IntArray, cols: IntArray, dictionary: pf.CoupledDictionary, noise: float
) -> FloatArray:
    """Find blurred patches by fine detail and by detail that survives a blur of 2 pixels."""
    fine, left = (np.sqrt(laplacian_energy(plane)) for plane in (gray, filtered(gray, gaussian(2.0))))
    blurred = (fine < SHARP * left) & (left > LEAST_DETAIL)
    at = np.ix_(rows + dictionary.patch_size // 2, cols + dictionary.patch_size // 2)
    return blurred[at].astype(np.float32)


@dataclass(frozen=True)
class Part:
    """Replaced names in modules, and the sets that the replacement can affect."""

    replaced: tuple[tuple[Any, str, Any], ...]
    sets: tuple[str, ...] = EVERYWHERE

    @contextmanager
    def switched_off(self) -> Iterator[None]:
        """Replace the names inside the context."""
        with ExitStack() as stack:
            for place, name, value in self.replaced:
                stack.enter_context(patch.object(place, name, value))
            yield


PICTURE, LABELS = (TRUTH, RENDERED), (RENDERED, LYTRO)
NOT_GATHERED = tuple((panfocus, name, NOTHING) for name in ("GATHER", "GATHER_MORE", "GATHER_MOST"))
PARTS = {
    "all parts": Part(()),
    "evidence: energy of Laplacian": Part(((panfocus, "log_odds", by_laplacian),)),
    "evidence: one width, 2 pixels": Part(((reblur, "BLURS", (gaussian(2.0),)),)),
    "evidence: width judged at the pixel": Part(((reblur, "keep_best", at_the_pixel),)),
    "evidence: grey": Part(((panfocus._Surveyed, "to_levels", gray_levels),)),
    "evidence: window not grown by noise": Part(((reblur, "WINDOW_PER_NOISE", 0.0),)),
    "picture: no doubt": Part(((reblur, "DOUBT", 0.0),), PICTURE),
    "picture: no share of the surroundings": Part(
        ((panfocus, "SHARE", np.float32(0)), (panfocus, "SHARE_IN_DOUBT", np.float32(0))), PICTURE
    ),
    "picture: no larger share in doubt": Part(((panfocus, "SHARE_IN_DOUBT", np.float32(0)),), PICTURE),
    "picture: no narrow seam": Part(((panfocus, "SEAM", NOTHING),), PICTURE),
    "picture: no wide seam": Part(((panfocus, "WIDE_SHARE", np.float32(0)),), PICTURE),
    "surroundings: not gathered": Part(NOT_GATHERED),
    "surroundings: gathered without a limit": Part(((panfocus, "MOST_LOG_ODDS", np.float32(np.inf)),)),
    "surroundings: not coupled": Part(((_surroundings, "COUPLING", np.float32(0)),), LABELS),
    "surroundings: neither": Part((*NOT_GATHERED, (_surroundings, "COUPLING", np.float32(0)))),
    "never in focus: two bands": Part(((_never_in_focus, "_blurred_patches", two_bands),), (RENDERED,)),
    "never in focus: noise not known": Part(((_never_in_focus, "NOISE_LEFT", 0.0),), (RENDERED,)),
    "never in focus: all depths together": Part(
        ((_never_in_focus, "_with_neighbours", np.ones_like),), (RENDERED,)
    ),
}  # fmt: skip


TABLES = {
    "PSNR, dB": {
        f"{name} {half}{head}": (f"{name} {half}", key, 2)
        for key, head in (("psnr", ""), ("noisy", ", noise"))
        for name in SETS
        for half in HALVES
    },
    "rendered": {
        f"{half}: {head}": (f"rendered {half}", key, digits)
        for half in ("choose", "report")
        for head, key, digits in (
            ("band", "psnr_band", 2),
            ("in focus", "psnr_band_focused", 2),
            ("precision", "precision", 2),
            ("recall", "recall", 2),
            ("depth", "depth_mean", 2),
        )
    },
    "Lytro, labels": {
        head: ("lytro", head.lower(), digits)
        for head, digits in (("NMI", 3), ("QABF", 4), ("QY", 3), ("QCB", 4))
    },
}


def on_truth(scene: Scene) -> Figures:
    """Measure a scene against its reference."""
    frames, truth = read_stack(scene.sources).frames, read_image(scene.reference)
    return {
        "psnr": colour_psnr(pf.fuse(frames, threads=1).image, truth),
        "noisy": colour_psnr(composed_clean("panfocus", noisy(frames, NOISE), frames).image, truth),
    }


def on_lytro(scene: Scene) -> Figures:
    """Score the frames, composed by the labels."""
    frames = read_stack(scene.sources).frames
    fused = matlab_gray(by_labels(frames, pf.fuse(frames, threads=1).labels))
    grays = [matlab_gray(frame) for frame in frames]
    return {metric.__name__: metric(grays, fused) for metric in (nmi, qabf, qy, qcb)}


def by_parts(measured: Callable[[], Figures], kind: str, parts: list[str]) -> dict[str, Figures]:
    """Measure with each relevant part switched off."""
    figures = {}
    for name in parts:
        if kind in PARTS[name].sets:
            with PARTS[name].switched_off():
                figures[name] = measured()
    return figures


def of_scene(kind: str, scene: Scene, parts: list[str]) -> dict[str, Figures]:
    """Measure a scene from files."""
    return by_parts(partial(on_truth if kind == TRUTH else on_lytro, scene), kind, parts)


def of_rendered(group: str, name: str, parts: list[str]) -> dict[str, Figures]:
    """Render a scene once and measure it."""
    (scene,) = rendered_stacks.scenes(group, (name,))
    return by_parts(lambda: rendered_stacks.measure(pf.fuse(scene.frames, threads=1), scene), RENDERED, parts)


def jobs(parts: list[str]) -> dict[tuple[str, str], Callable[[], dict[str, Figures]]]:
    """Return the measurements by (column group, scene)."""
    found: dict[tuple[str, str], Callable[[], dict[str, Figures]]] = {}
    for name, half, scene in _truth.scenes():
        found[f"{name} {half}", scene.name] = partial(of_scene, TRUTH, scene, parts)
    (group,) = find_groups([need_data() / "lytro"])
    for scene in group.scenes:
        found[group.name, scene.name] = partial(of_scene, LYTRO, scene, parts)
    for group_name, settings in rendered_stacks.SETTINGS.items():
        for name in settings:
            found[f"rendered {group_name}", name] = partial(of_rendered, group_name, name, parts)
    return found


def summary(group: str, of_scenes: Mapping[str, Figures]) -> Figures:
    """Return means over the scenes."""
    if group.startswith("rendered"):
        return rendered_stacks.summary(of_scenes)
    each = list(of_scenes.values())
    return {key: float(np.mean([figures[key] for figures in each])) for key in each[0]}


def print_table(head: str, means: Mapping[str, Mapping[str, Figures]]) -> None:
    """Print a Markdown table of the relevant parts."""
    columns = TABLES[head]
    print(f"\n| {head} | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    groups = {group for group, _, _ in columns.values()}
    for part in next(means[group] for group in groups):
        cells = (f"{means[group][part][key]:.{n}f}".removeprefix("0") for group, key, n in columns.values())
        print(f"| {part} | " + " | ".join(cells) + " |")


def main() -> None:
    """Measure everything and print three tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--parts", default="", metavar="A,B,...", help="only parts that start with these texts"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="JSON file of all figures")
    given = parser.parse_args()
    parts = [name for name in PARTS if name.startswith(tuple(given.parts.split(",")))]
    figures: defaultdict[str, defaultdict[str, dict[str, Figures]]] = defaultdict(lambda: defaultdict(dict))
    with ProcessPoolExecutor(PROCESSES) as pool:
        waiting = {place: pool.submit(job) for place, job in jobs(parts).items()}
        for (group, scene), result in waiting.items():
            for part, measured in result.result().items():
                figures[group][part][scene] = measured
            print(scene, end=" ", flush=True)
    means = {
        group: {part: summary(group, of_scenes) for part, of_scenes in of_parts.items()}
        for group, of_parts in figures.items()
    }
    if given.output:
        given.output.write_text(json.dumps({"means": means, "scenes": figures}, indent=1) + "\n")
    for head in TABLES:
        print_table(head, means)


if __name__ == "__main__":
    main()
