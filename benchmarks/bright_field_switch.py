"""Errors of the switch of bright-field mode, on all stacks with known truth and on real stacks.

    python -m benchmarks.bright_field_switch [-o FIGURES.json]
    python -m benchmarks.bright_field_switch --fresh SEED

Prints the share of inverted detail of every stack and whether it switches the mode on. For wrong decisions,
and close to the threshold, it also prints the cost: PSNR of the decision minus that of the better one of on
and off. --fresh draws 65 new scenes: 24 in bright field and 41 of the other kinds.
"""

import argparse
import json
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

import panfocus as pf
from benchmarks._data import need_data
from benchmarks._known_stack import HALVES, KnownStack, fuse, score
from benchmarks.stack_kinds import KINDS, PAIRS, PER_CHANNEL, PROCESSES, split, stacks
from panfocus._threads import limit_threads
from panfocus.io.read_stack import read_stack
from panfocus.methods.panfocus import PanFocus
from panfocus.parallel import run_tasks
from panfocus.pipeline import prepare_stack
from panfocus.stack import Frames

BRIGHT_FIELD = ("bright field", "phase", "granules")
DOUBTFUL = 0.025, 0.12  # statistic near the threshold, where both decisions are tried
MOST_COST = 0.3  # dB: a wrong decision that costs more is an error
FRESH = {
    "bright_field_stacks": 24,
    "fluorescence_stacks": 14,
    "occlusion_stacks": 9,
    "layered_stacks": 9,
    "photo_stacks": 9,
}
# Real stacks: files in the order of focus, alignment, and whether they are bright field.
REAL = {
    "algae-20mp": ("algae_*.jpg", "off", True),
    "algae-16bit-derived": ("algae_rgb16_*.tif", "off", True),
    "blood-smear": ("plane_*.jpg", "off", True),
    "cytology": ("fov*.png", "off", True),
    "amber-flies": ("flies_*.jpg", "off", False),
    "pcb": ("pcb_*.jpg", "auto", False),
    "ring": ("step*.jpg", "auto", False),
    "mineral-drift": ([f"frame_{number:04}.jpg" for number in (9, 15, 6, 20, 25, 3)], "auto", False),
}


class Decision(NamedTuple):
    """The statistic of a stack and the decision; the cost in dB is known if both modes were tried."""

    kind: str
    name: str
    inversion: float
    is_on: bool
    expected: bool
    cost: float | None = None


def decide_known(stack: KnownStack) -> list[Decision]:
    """Decide for a stack with known truth, each channel without RGB meaning by itself."""
    decisions = []
    with limit_threads(1):
        for i, part in enumerate(split(stack) if stack.kind == PER_CHANNEL else [stack]):
            name = f"{stack.half}/{stack.name}" + (f" channel {i}" if stack.kind == PER_CHANNEL else "")
            names = tuple(f"frame {k}" for k in range(len(part.frames)))
            frames = prepare(pf.Stack(part.frames, names))
            found = _decide(stack.kind, name, frames, expected=stack.kind in BRIGHT_FIELD)
            low, high = DOUBTFUL
            if found.is_on != found.expected or low < found.inversion < high:
                chosen, other = (
                    score(fuse(part, bright_field="on" if is_on else "off"), part)["psnr"]
                    for is_on in (found.is_on, not found.is_on)
                )
                found = found._replace(cost=min(0.0, chosen - other))
            decisions.append(found)
    return decisions


def decide_real(name: str) -> list[Decision]:
    """Decide for a real stack and for its quarters."""
    files, align, expected = REAL[name]
    folder = need_data() / "stacks" / name
    paths = sorted(folder.glob(files)) if isinstance(files, str) else [folder / file for file in files]
    frames = np.asarray(prepare(read_stack(paths), align)[:])
    height, width = frames.shape[1] // 2, frames.shape[2] // 2
    decisions = [_decide("real", name, frames, expected=expected)]
    for i, (top, left) in enumerate(np.ndindex(2, 2)):
        quarter = frames[:, top * height : (top + 1) * height, left * width : (left + 1) * width]
        decisions.append(_decide("real", f"{name} quarter {i}", quarter, expected=expected))
    return decisions


def prepare(stack: pf.Stack, align: str = "off") -> Frames:
    """Return frames as the method gets them."""
    return prepare_stack(stack, align=align, hot_pixels="auto", exposure="auto")[1]


def _decide(kind: str, name: str, frames: Frames, *, expected: bool) -> Decision:
    surveyed = PanFocus().survey(frames)
    return Decision(kind, name, surveyed.inversion, surveyed.bright_field, expected)


def fresh(seed: int) -> Iterator[KnownStack]:
    """Yield new scenes of all kinds."""
    for module, n in FRESH.items():
        yield from import_module(f"benchmarks.{module}").fresh(n, seed)


def print_decision(found: Decision) -> None:
    """Print a row of the table."""
    verdict = "" if found.is_on == found.expected else "**unexpected**"
    cost = "" if found.cost is None else f"{found.cost:.2f}"
    print(
        f"| {found.kind} | {found.name} | {found.inversion:.4f} | {'on' if found.is_on else 'off'} | "
        f"{verdict} | {cost} |",
        flush=True,
    )


def print_summary(decisions: list[Decision]) -> None:
    """Print the range of the statistic per kind, and the errors."""
    print("\n| kind | parts | least | most |\n|---|---|---|---|")
    for kind in dict.fromkeys(found.kind for found in decisions):
        for expected in (True, False):
            values = [f.inversion for f in decisions if f.kind == kind and f.expected == expected]
            if values:
                name = f"{kind}, {'bright field' if expected else 'other'}" if kind == "real" else kind
                print(f"| {name} | {len(values)} | {min(values):.4f} | {max(values):.4f} |")
    unexpected = [found for found in decisions if found.is_on != found.expected]
    costs = [found.cost for found in decisions if found.cost is not None]
    errors = [found.name for found in decisions if (found.cost or 0) < -MOST_COST]
    print(
        f"\n{len(decisions)} decisions, {len(unexpected)} unexpected, largest cost "
        f"{max((-cost for cost in costs), default=0.0):.2f} dB, {len(errors)} cost more than {MOST_COST} dB"
        + (f": {', '.join(errors)}" if errors else "")
    )


def main() -> None:
    """Decide for all stacks and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fresh", type=int, metavar="SEED", help="new scenes instead of the known ones")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="JSON file of all figures")
    given = parser.parse_args()
    if given.fresh is None:
        kinds = [kind for kind in KINDS if kind not in PAIRS.values()]  # pairs are never tested
        known, real = stacks(kinds, HALVES), list(REAL)
    else:
        known, real = fresh(given.fresh), []
    decisions: list[Decision] = []
    print("| kind | stack | inversion | decision | | cost in dB |\n|---|---|---|---|---|---|")
    for work, tasks in ((decide_known, ((stack,) for stack in known)), (decide_real, ((n,) for n in real))):
        with closing(run_tasks(work, tasks, processes=PROCESSES, threads=1)) as finished:
            for _, result in finished:
                if isinstance(result, Exception):
                    raise result
                for found in result:
                    print_decision(found)
                decisions += result
    print_summary(decisions)
    if given.output:
        given.output.write_text(json.dumps([found._asdict() for found in decisions], indent=2) + "\n")


if __name__ == "__main__":
    main()
