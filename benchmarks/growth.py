"""Growth of time with pixels and frames, and of the coding time with frames.

python -m benchmarks.growth --plot docs/images/growth.png

Times are complete runs minus a run on a tiny pair, so that the start-up does not hide the growth. An exponent
of 1 means proportional time. The largest pair needs the scene `algae-20mp`, so all pairs include it.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from unittest.mock import patch

import numpy as np

import panfocus as pf
from benchmarks import large_stacks
from benchmarks._data import measure_in_turns, print_figures, save_figures
from benchmarks.whole_program import fuse_command, write_pair
from panfocus.io.read_stack import read_stack
from panfocus.sparse import Pursuit

MEGAPIXELS = (1, 4, 12, 24, 48)
TINY = 0.01
FRAMES, MEGAPIXELS_OF_STACKS = (2, 5, 10, 20, 50), 3
FEW = 5  # smallest number of frames in the fit; pairs take another path


def run() -> dict[str, float]:
    """Measure growth."""
    return figures_of(measure_pixels(), *measure_frames())


def figures_of(
    by_pixels: Mapping[float, float], by_frames: Mapping[float, float], coding: Mapping[float, float]
) -> dict[str, float]:
    """Return the seconds by size and the fitted exponents."""
    counted = {n: seconds for n, seconds in by_frames.items() if n >= FEW}
    first, *_, last = coding
    return {
        **{f"growth_{size}mp_pair_time": seconds for size, seconds in by_pixels.items()},
        "growth_pixels_exponent": exponent(by_pixels),
        **{f"growth_{n}_frames_time": seconds for n, seconds in by_frames.items()},
        "growth_frames_exponent": exponent(counted),
        **{f"growth_{n}_frames_coding_time": seconds for n, seconds in coding.items()},
        f"growth_coding_{last}_over_{first}_frames_time": coding[last] / coding[first],
    }


def exponent(seconds: Mapping[float, float]) -> float:
    """Fit p in seconds = c size^p, by least squares on logarithms."""
    return fit(seconds)[0]


def fit(seconds: Mapping[float, float]) -> tuple[float, float]:
    """Fit p and c in seconds = c size^p, by least squares on logarithms."""
    p, log_c = np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)
    return float(p), float(np.exp(log_c))


def measure_pixels() -> dict[float, float]:
    """Return the seconds by megapixels of pairs."""
    with tempfile.TemporaryDirectory() as folder:
        files = {
            size: write_pair(Path(folder), megapixels=size, with_algae=True) for size in (TINY, *MEGAPIXELS)
        }
        return _beyond_start(files, TINY)


def measure_frames() -> tuple[dict[float, float], dict[float, float]]:
    """Return the seconds by number of frames: of complete runs, and of coding over all threads."""
    with tempfile.TemporaryDirectory() as folder:
        files = {0: write_pair(Path(folder), megapixels=TINY)}
        for n in FRAMES:
            stack = Path(folder) / str(n)
            stack.mkdir()
            files[n] = large_stacks.write_stack(stack, n_frames=n, megapixels=MEGAPIXELS_OF_STACKS)
        coding = {n: coding_seconds(read_stack(files[n]).frames) for n in FRAMES if n >= FEW}
        return _beyond_start(files, 0), coding


def _beyond_start(files: Mapping[float, Sequence[Path]], tiny: float) -> dict[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        commands = {size: fuse_command(frames, Path(folder) / "fused.tif") for size, frames in files.items()}
        costs = measure_in_turns(commands)
    start = costs.pop(tiny).seconds
    return {size: cost.seconds - start for size, cost in costs.items()}


def coding_seconds(frames: np.ndarray) -> float:
    """Fuse frames with the default method and return the processor seconds of coding."""
    pf.fuse(frames[:, :64, :64])  # compiles
    with timed_pursuits() as spent:
        pf.fuse(frames)
    return sum(spent)


@contextmanager
def timed_pursuits() -> Iterator[list[float]]:
    """Collect the processor seconds of every call to a `Pursuit`; nested calls count once."""
    spent: list[float] = []
    here = threading.local()

    def timed(method: Callable) -> Callable:
        @wraps(method)
        def call(*arguments, **settings):
            if getattr(here, "inside", False):
                return method(*arguments, **settings)
            here.inside, began = True, time.thread_time()
            try:
                return method(*arguments, **settings)
            finally:
                here.inside = False
                spent.append(time.thread_time() - began)

        return call

    methods = {
        name: timed(value)
        for name, value in vars(Pursuit).items()
        if callable(value) and (name == "__init__" or not name.startswith("_"))
    }
    with patch.multiple(Pursuit, **methods):
        yield spent


def plot(figures: Mapping[str, Mapping[float, float]], path: Path) -> None:
    """Plot times and fits, with one panel for pixels and one for frames."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    drawing, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    panels[0].set(xlabel="megapixels of two frames", ylabel="seconds")
    panels[1].set(xlabel=f"frames of {MEGAPIXELS_OF_STACKS} megapixels")
    for panel, names in zip(panels, (("pixels",), ("frames", "coding")), strict=True):
        for name in names:
            seconds = figures[name]
            fitted = {n: value for n, value in seconds.items() if name == "pixels" or n >= FEW}
            p, c = fit(fitted)
            sizes = np.array([*fitted])
            label = "coding only" if name == "coding" else "complete run minus start-up"
            (points,) = panel.loglog([*seconds], [*seconds.values()], "o", label=f"{label}: exponent {p:.2f}")
            panel.loglog(sizes, c * sizes**p, color=points.get_color(), linewidth=1)
        panel.set_xticks([*figures[names[0]]], [f"{n:g}" for n in figures[names[0]]])
        panel.minorticks_off()
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panel.grid(alpha=0.3)
        panel.legend(frameon=False)
    drawing.savefig(path, dpi=120)
    plt.close(drawing)


def main() -> None:
    """Run only this benchmark, and plot it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="file for the plot")
    given = parser.parse_args()
    by_pixels = measure_pixels()
    by_frames, coding = measure_frames()
    figures = figures_of(by_pixels, by_frames, coding)
    print_figures(figures)
    save_figures(figures, keep=True)
    if given.plot:
        plot({"pixels": by_pixels, "frames": by_frames, "coding": coding}, given.plot)


if __name__ == "__main__":
    main()
