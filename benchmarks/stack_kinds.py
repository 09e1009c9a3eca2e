"""Methods and rivals on every kind of stack with known truth, as a table: PSNR in dB, and far share in %.

    python -m benchmarks.stack_kinds --methods panfocus,dsift --half report
    python -m benchmarks.stack_kinds --pyramid PATH/pyramid.py --enfuse --noise 5 -o FIGURES.json

The far share is the share of pixels that take most of their weight from frames more than two frames away from
the true depth; rivals do not return their weights. Settings are chosen on the half "choose" only.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np

import panfocus as pf
from benchmarks import _truth, rivals
from benchmarks._known_stack import HALVES, KnownStack, fuse, score
from panfocus._threads import limit_threads
from panfocus.compare import parse_methods
from panfocus.io.read_stack import read_image, read_stack
from panfocus.parallel import run_tasks

PROCESSES = 2  # with one thread each
PAIRS = {"real-mff": "Real-MFF", "mfi-whu": "MFI-WHU"}
# In the order of the columns, with the module whose `scenes` yields them.
KINDS = {
    "Real-MFF": "stack_kinds",
    "MFI-WHU": "stack_kinds",
    "layered": "layered_stacks",
    "rough": "photo_stacks",
    "glints": "photo_stacks",
    "hairs": "photo_stacks",
    "bright field": "bright_field_stacks",
    "phase": "bright_field_stacks",
    "granules": "bright_field_stacks",
    "fluorescence": "fluorescence_stacks",
    "channels": "fluorescence_stacks",
    "confocal": "fluorescence_stacks",
    "occlusion": "occlusion_stacks",
    "light field": "occlusion_stacks",
}
BANDED = "layered"  # the kind with a second column, for pixels near borders between depths
PER_CHANNEL = "channels"  # the kind whose channels have no meaning as RGB
FIGURES_SHOWN = ("psnr", "psnr_band", "ssim", "far", "label", "depth", "amount", "correlation")

Figures = dict[str, float]
# By kind, half, row and scene.
Table = dict[str, dict[str, dict[str, dict[str, Figures]]]]


def scenes(half: str) -> Iterator[KnownStack]:
    """Yield the pairs of a half, which have no depth."""
    for name, scene_half, scene in _truth.scenes():
        if scene_half == half and scene.reference:
            frames = np.asarray(read_stack(scene.sources).frames[:])
            yield KnownStack(PAIRS[name], half, scene.name, frames, read_image(scene.reference))


def stacks(kinds: Sequence[str], halves: Sequence[str]) -> Iterator[KnownStack]:
    """Yield all stacks of these kinds and halves. Modules render all their kinds, and keep them in files."""
    for module in dict.fromkeys(KINDS[kind] for kind in kinds):
        for half in halves:
            for stack in import_module(f"benchmarks.{module}").scenes(half):
                if stack.kind in kinds:
                    yield stack


def measure(
    stack: KnownStack, methods: str, rival_names: Sequence[str], pyramid: Path | None, noise: float
) -> tuple[tuple[str, str, str], dict[str, Figures]]:
    """Return kind, half and name of a stack, and the figures of all rows.

    With noise, the frames are decided and composed with it; the truth is clean.
    """
    if noise:
        stack = replace(stack, frames=_truth.noisy(stack.frames, noise, stack.white))
    parts = split(stack) if stack.kind == PER_CHANNEL else [stack]

    def mean(result_of: Callable[[KnownStack], pf.FusionResult]) -> Figures:
        figures = [score(result_of(part), part) for part in parts]
        return {key: float(np.mean([each[key] for each in figures])) for key in figures[0]}

    known = rivals.available(pyramid)
    rows = {}
    with limit_threads(1):
        for entry in parse_methods(methods) if methods else []:
            rows[entry.name] = mean(lambda part, entry=entry: fuse(part, entry.method, **entry.settings))
        for name in rival_names:
            rows[name] = mean(
                lambda part, name=name: pf.FusionResult(rivals.fuse_frames(known[name], part.frames))
            )
    return (stack.kind, stack.half, stack.name), rows


def split(stack: KnownStack) -> list[KnownStack]:
    """Return one stack for each channel; maps of the truth may be common to all channels."""
    maps = {name: getattr(stack, name) for name in ("depth", "counted", "band", "detail")}
    return [
        replace(
            stack,
            frames=stack.frames[..., k],
            image=stack.image[..., k],
            **{name: plane[..., k] for name, plane in maps.items() if np.ndim(plane) == 3},
        )
        for k in range(stack.image.shape[2])
    ]


def run(
    stacks: Iterator[KnownStack], methods: str, rival_names: Sequence[str], pyramid: Path | None, noise: float
) -> Table:
    """Measure all stacks in processes; they are rendered when a process is free."""
    tasks = ((stack, methods, rival_names, pyramid, noise) for stack in stacks)
    table: Table = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    with closing(run_tasks(measure, tasks, processes=PROCESSES, threads=1)) as finished:
        for _, result in finished:
            if isinstance(result, Exception):
                raise result
            (kind, half, scene), rows = result
            for row, figures in rows.items():
                table[kind][half][row][scene] = figures
    return table


def summarise(of_scenes: Mapping[str, Figures]) -> Figures:
    """Return the mean of every figure over the scenes that have it."""
    keys = dict.fromkeys(key for figures in of_scenes.values() for key in figures)
    return {
        key: float(np.mean([figures[key] for figures in of_scenes.values() if key in figures]))
        for key in keys
    }


def print_table(table: Table, rows: Sequence[str]) -> None:
    """Print a Markdown table with one row per method."""
    columns = [(kind, half) for kind in KINDS if kind in table for half in HALVES if half in table[kind]]
    heads, cells = [], defaultdict(list)
    for kind, half in columns:
        heads += [f"{kind}, {half}", *([f"band, {half}"] if kind == BANDED else [])]
        for row in rows:
            mean = summarise(table[kind][half][row])
            far = f" / {100 * mean['far']:.1f}" if "far" in mean else ""
            cells[row] += [
                f"{mean['psnr']:.2f}{far}",
                *([f"{mean['psnr_band']:.2f}"] if kind == BANDED else []),
            ]
    print("| PSNR in dB / far share in % |", " | ".join(heads), "|")
    print("|---" * (len(heads) + 1) + "|")
    for row in rows:
        print(f"| {row} |", " | ".join(cells[row]), "|")


def print_scenes(table: Table) -> None:
    """Print the figures of every scene, with a line for each kind, half and row."""
    for kind, halves in table.items():
        for half, rows in halves.items():
            for row, of_scenes in rows.items():
                scenes = (
                    f"{name} "
                    + " ".join(f"{key} {figures[key]:.3f}" for key in FIGURES_SHOWN if key in figures)
                    for name, figures in sorted(of_scenes.items())
                )
                print(f"{kind}, {half}, {row}:", "; ".join(scenes))


def main() -> None:
    """Fuse the stacks and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--methods", default="panfocus", metavar="A,B,...", help="methods, as for panfocus compare"
    )
    parser.add_argument("--kinds", metavar="A,B,...", help=f"only these kinds: {', '.join(KINDS)}")
    parser.add_argument("--half", choices=HALVES, help="only one half")
    parser.add_argument(
        "--noise",
        type=float,
        default=0.0,
        metavar="SIGMA",
        help="added noise, in 255ths of white; default: 0",
    )
    parser.add_argument("--pyramid", type=Path, metavar="FILE", help="program of the pyramid")
    parser.add_argument("--enfuse", action="store_true", help="include enfuse, which must be installed")
    parser.add_argument("--verbose", action="store_true", help="print the figures of every scene")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="JSON file of all figures")
    given = parser.parse_args()
    kinds = given.kinds.split(",") if given.kinds else list(KINDS)
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        sys.exit(f"Unknown kind {unknown[0]!r}. Known kinds: {', '.join(KINDS)}.")
    wanted = [*(["pyramid"] if given.pyramid else []), *(["enfuse"] if given.enfuse else [])]
    if missing := set(wanted) - set(rivals.available(given.pyramid)):
        sys.exit(f"{missing.pop()} is not installed.")
    rows = [*(entry.name for entry in parse_methods(given.methods)), *wanted] if given.methods else wanted
    halves = [given.half] if given.half else HALVES
    table = run(stacks(kinds, halves), given.methods, wanted, given.pyramid, given.noise)
    if given.verbose:
        print_scenes(table)
    print_table(table, rows)
    if given.output:
        given.output.write_text(json.dumps({"noise": given.noise, "kinds": table}, indent=2) + "\n")


if __name__ == "__main__":
    main()
