"""Learning from 30,000 pairs, 256 atoms, 10 rounds: time per round, correlation of coupled atoms."""

import numpy as np

from benchmarks._data import need_data
from panfocus.decide.gray import to_gray
from panfocus.dictionary import CoupledDictionary
from panfocus.reproduce.image_sets import read_training


def training_pairs() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the five focused and the five blurred crops of the training pairs."""
    pairs = read_training(need_data())
    return tuple([to_gray(pair.frames[k]) for pair in pairs] for k in (0, 1))


def run() -> dict[str, float]:
    """Learn coupled and separate dictionaries from both initial dictionaries."""
    figures = {}
    for start in ("samples", "dct"):
        for separate in (False, True):
            learned = CoupledDictionary.learn(*training_pairs(), start=start, separate=separate)
            name = f"learn_{'separate' if separate else 'coupled'}_{start}"
            correlations = learned.pair_correlations()[0]
            figures[f"{name}_pair_correlation"] = float(correlations.mean())
            figures[f"{name}_pair_correlation_absolute"] = float(np.abs(correlations).mean())
            if not separate:
                rounds = learned.history[1:]  # the first may compile
                coding = float(np.median([r.coding_seconds for r in rounds]))
                update = float(np.median([r.update_seconds for r in rounds]))
                figures[f"{name}_update_over_coding_time"] = update / coding
                figures[f"{name}_objective"] = learned.history[-1].objective
    return figures
