"""Ablation of the method `panfocus`: one part is switched off or replaced, all others stay.

    python -m benchmarks.ablation [--parts A,B,...] [--kinds A,B,...] [--noise SIGMA] [-o FIGURES]

Measures stacks of all kinds with known truth, as in docs/simulate.md: PSNR in dB and, in stacks with known
depth, the share of pixels far from it. Parts are measured only on kinds that they can change. With noise, the
frames are decided and composed with it. What is never in focus is measured on the rendered stacks.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import panfocus as pf
from benchmarks import rendered_stacks, stack_kinds
from benchmarks._known_stack import HALVES, KnownStack
from benchmarks._truth import Frames
from benchmarks.stack_kinds import KINDS, Figures, Table, summarise
from panfocus._filters import Filter, filtered, gaussian
from panfocus._intensity import FloatArray, IntArray
from panfocus.decide import reblur
from panfocus.decide.focus_measure import NOISE_GAIN, laplacian_energy
from panfocus.decide.gray import to_gray
from panfocus.methods import _bright_field, _never_in_focus, _surroundings, panfocus
from panfocus.parallel import run_tasks

PROCESSES = 2  # with one thread each
# Replacements are tuned on the scenes on which settings are chosen.
LAPLACIAN_GAIN = 2.0  # factor of the logarithm of energies
SHARP, LEAST_DETAIL = 5.0, 0.001  # ratio of fine detail to detail after a blur of 2 pixels; noise floor
NOTHING = Filter(np.ones(1, np.float32))  # identity filter

PAIRS = ("Real-MFF", "MFI-WHU")
MICROSCOPE = ("bright field", "phase", "granules")
SECTIONS = ("fluorescence", "channels", "confocal")
SCENES = tuple(kind for kind in KINDS if kind not in (*PAIRS, *MICROSCOPE))  # stacks of more than two frames
ORDINARY = (*PAIRS, *SCENES)
MASK = "never in focus"  # not a kind: the mask of rendered stacks


def by_laplacian(frames: Iterable[FloatArray], *, noise: float, **unused: object) -> Iterator[reblur.LogOdds]:
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


def without(name: str) -> Callable[..., Iterator[reblur.LogOdds]]:
    """Return `log_odds` without one of its arguments."""

    def reduced(frames: Iterable[FloatArray], **settings: Any) -> Iterator[reblur.LogOdds]:
        return reblur.log_odds(frames, **{key: value for key, value in settings.items() if key != name})

    return reduced


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
    """Replaced names in modules, and the kinds of stacks that the replacement can affect."""

    replaced: tuple[tuple[Any, str, Any], ...]
    kinds: tuple[str, ...] = ORDINARY

    @contextmanager
    def switched_off(self) -> Iterator[None]:
        """Replace the names inside the context."""
        with ExitStack() as stack:
            for place, name, value in self.replaced:
                stack.enter_context(patch.object(place, name, value))
            yield


ZERO = np.float32(0)
PARTS = {
    "all parts": Part((), (*KINDS, MASK)),
    "evidence: energy of Laplacian": Part(((panfocus, "log_odds", by_laplacian),)),
    "evidence: one width, 2 pixels": Part(((reblur, "BLURS", (gaussian(2.0),)),)),
    "evidence: width judged at the pixel": Part(((reblur, "keep_best", at_the_pixel),)),
    "evidence: grey": Part(((panfocus._Surveyed, "to_levels", gray_levels),)),
    "evidence: window not grown by noise": Part(((reblur, "WINDOW_PER_NOISE", 0.0),)),
    "evidence: clipped pixels taken as they are": Part(
        ((panfocus, "log_odds", without("clip")),), (*PAIRS, "layered", "rough", "glints", "hairs")
    ),
    "evidence: detail does not vanish": Part(((panfocus, "log_odds", without("sections")),), SCENES),
    "picture: no doubt": Part(((reblur, "DOUBT", 0.0),)),
    "picture: pixels trusted in noise": Part(((reblur, "TRUSTED", 1e-9),)),
    "picture: no prior": Part(((_surroundings, "PRIOR_SHARE", ZERO),), SCENES),
    "picture: no share of the surroundings": Part(
        ((panfocus, "SHARE", ZERO), (panfocus, "SHARE_IN_DOUBT", ZERO))
    ),
    "picture: no larger share in doubt": Part(((panfocus, "SHARE_IN_DOUBT", ZERO),)),
    "picture: no narrow seam": Part(((panfocus, "SEAM", NOTHING),)),
    "picture: no wide seam": Part(((panfocus, "WIDE_SHARE", ZERO),)),
    "surroundings: not gathered": Part(
        tuple((panfocus, name, NOTHING) for name in ("GATHER", "GATHER_MORE", "GATHER_MOST"))
    ),
    "surroundings: gathered without a limit": Part(((panfocus, "MOST_LOG_ODDS", np.float32(np.inf)),)),
    "bright field: off": Part(((panfocus, "MOST_INVERSION", np.inf),), MICROSCOPE),
    "bright field: coarse detail compared": Part(
        ((panfocus, "high_passed", lambda levels: levels),), MICROSCOPE
    ),
    "bright field: no wide prior": Part(((_bright_field, "PRIOR", ZERO),), MICROSCOPE),
    "bright field: coarse contrast of the best plane": Part(
        ((_bright_field, "COARSE_DEPTH", _bright_field.FINE_DEPTH),), MICROSCOPE
    ),
    "never in focus: two bands": Part(((_never_in_focus, "_blurred_patches", two_bands),), (MASK,)),
    "never in focus: noise not known": Part(((_never_in_focus, "NOISE_LEFT", 0.0),), (MASK,)),
    "never in focus: all depths together": Part(
        ((_never_in_focus, "_with_neighbours", np.ones_like),), (MASK,)
    ),
}


def measure(
    stack: KnownStack, parts: Sequence[str], noise: float
) -> tuple[tuple[str, str, str], dict[str, Figures]]:
    """Return kind, half and name of a stack, and its figures with each relevant part switched off."""
    place, rows = (stack.kind, stack.half, stack.name), {}
    for name in parts:
        if stack.kind in PARTS[name].kinds:
            with PARTS[name].switched_off():
                place, figures = stack_kinds.measure(stack, "panfocus", (), None, noise)
            rows[name] = figures["panfocus"]
    return place, rows


def measure_all(parts: Sequence[str], kinds: Sequence[str], noise: float) -> Table:
    """Measure all stacks of these kinds in processes; they are rendered when a process is free."""
    wanted = [kind for kind in kinds if any(kind in PARTS[name].kinds for name in parts)]
    tasks = ((stack, parts, noise) for stack in stack_kinds.stacks(wanted, HALVES))
    table: Table = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    with closing(run_tasks(measure, tasks, processes=PROCESSES, threads=1)) as finished:
        for _, result in finished:
            if isinstance(result, Exception):
                raise result
            (kind, half, scene), rows = result
            for row, figures in rows.items():
                table[kind][half][row][scene] = figures
    return table


def measure_masks(parts: Sequence[str]) -> dict[str, dict[str, Figures]]:
    """Return by part and half how well places that are never in focus are found."""
    figures: dict[str, dict[str, Figures]] = {name: {} for name in parts if MASK in PARTS[name].kinds}
    for half in HALVES:
        scenes = list(rendered_stacks.scenes(half))
        for name, of_halves in figures.items():
            with PARTS[name].switched_off():
                of_halves[half] = rendered_stacks.summary(
                    {scene.name: rendered_stacks.measure(pf.fuse(scene.frames), scene) for scene in scenes}
                )
    return figures


def print_table(table: Table, parts: Sequence[str]) -> None:
    """Print a Markdown table of the kinds, with both halves in a cell."""
    kinds = [kind for kind in KINDS if kind in table]
    print("\n| PSNR in dB / far share in %: choose, report |", " | ".join(kinds), "|")
    print("|---" * (len(kinds) + 1) + "|")
    for name in parts:
        cells = [
            ", ".join(_cell(summarise(halves[half][name])) for half in HALVES if name in halves[half])
            for halves in (table[kind] for kind in kinds)
        ]
        print(f"| {name} |", " | ".join(cells), "|")


def _cell(mean: Figures) -> str:
    return f"{mean['psnr']:.2f}" + (f" / {100 * mean['far']:.1f}" if "far" in mean else "")


def print_masks(figures: dict[str, dict[str, Figures]]) -> None:
    """Print precision and recall of what is never in focus."""
    print("\n| never in focus: choose, report | precision | recall |\n|---|---|---|")
    for name, halves in figures.items():
        cells = (", ".join(f"{halves[half][key]:.2f}" for half in HALVES) for key in ("precision", "recall"))
        print(f"| {name} |", " | ".join(cells), "|")


def main() -> None:
    """Measure everything and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--parts", default="", metavar="A,B,...", help="only parts that start with these texts"
    )
    parser.add_argument(
        "--kinds", default=",".join((*KINDS, MASK)), metavar="A,B,...", help="only these kinds of stacks"
    )
    parser.add_argument(
        "--noise",
        type=float,
        default=0.0,
        metavar="SIGMA",
        help="added noise, in 255ths of white; default: 0",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="JSON file of all figures")
    given = parser.parse_args()
    parts = [name for name in PARTS if name.startswith(("all parts", *given.parts.split(",")))]
    kinds = given.kinds.split(",")
    table = measure_all(parts, [kind for kind in kinds if kind in KINDS], given.noise)
    masks = measure_masks(parts) if MASK in kinds else {}
    if given.output:
        given.output.write_text(json.dumps({"kinds": table, MASK: masks}, indent=1) + "\n")
    print_table(table, parts)
    if masks:
        print_masks(masks)


if __name__ == "__main__":
    main()
