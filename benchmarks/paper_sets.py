"""The paper's "Proposed" rows on the eight sets that are public, ours beside them.

    python -m benchmarks.paper_sets

The training pairs are cut-outs of lytro-07, -09, -12, -13 and -17; none of the eight sets is among these.
Clocks is not the paper's exact file, Pepsi is a 2 x 2 mean of the 512-pixel original.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import panfocus as pf
from benchmarks._data import need_data
from benchmarks.learning import training_pairs
from panfocus.io.read import read_image

W = 0.55


@dataclass(frozen=True)
class PaperSet:
    """Frames of a set and what the paper prints for its own method."""

    name: str
    files: str
    nmi: float
    qabf: float


SETS = (
    PaperSet("Lab", "grayscale6/lab-[AB].png", 1.1733, 0.7340),
    PaperSet("Disk", "grayscale6/disk-[AB].png", 1.0176, 0.7247),
    PaperSet("Pepsi", "grayscale6/pepsi256-derived-[AB].png", 1.1803, 0.7678),
    PaperSet("Clocks", "grayscale6/clocks-[AB].png", 1.1833, 0.7578),
    PaperSet("Diver", "lytro/triple/diver-[ABC].jpg", 1.4644, 0.6247),
    PaperSet("Keyboard", "lytro/triple/keyboard-[ABC].jpg", 1.1831, 0.6207),
    PaperSet("Folders", "lytro/triple/folders-[ABC].jpg", 1.5984, 0.6544),
    PaperSet("Seals", "lytro/triple/seals-[ABC].jpg", 1.5103, 0.6825),
)


def scores(
    paper_set: PaperSet, dictionary: pf.CoupledDictionary, contrast: str, data: Path
) -> tuple[float, float]:
    """Fuse a set and return its NMI and Q_AB/F."""
    frames = np.stack([read_image(path) for path in sorted(data.glob(paper_set.files))])
    fused = pf.fuse(frames, "coupled", dictionary=dictionary, contrast=contrast, w=W).image
    *sources, result = (pf.metrics.matlab_gray(image) for image in (*frames, fused))
    return pf.metrics.nmi(sources, result), pf.metrics.qabf(sources, result)


def main() -> None:
    """Print one table for each dictionary and reading."""
    data = need_data()
    cases = {
        "learned from the training pairs": pf.CoupledDictionary.learn(*training_pairs()),
        "shipped, levels2": pf.CoupledDictionary.default(),
        "shipped, levels3": pf.CoupledDictionary.default("levels3"),
    }
    for title, dictionary in cases.items():
        for contrast in ("restored", "normalised"):
            print(f"\ndictionary {title}; contrast={contrast}, w={W}")
            print(
                f"{'':10}{'NMI paper':>10}{'ours':>9}{'share':>8}{'Q_AB/F paper':>14}{'ours':>9}{'diff':>9}"
            )
            rows = []
            for paper_set in SETS:
                nmi, qabf = scores(paper_set, dictionary, contrast, data)
                rows.append((nmi, qabf))
                print(
                    f"{paper_set.name:10}{paper_set.nmi:10.4f}{nmi:9.4f}{nmi / paper_set.nmi:8.1%}"
                    f"{paper_set.qabf:14.4f}{qabf:9.4f}{qabf - paper_set.qabf:+9.4f}"
                )
            nmi, qabf = np.mean(rows, axis=0)
            print(f"{'mean':10}{np.mean([s.nmi for s in SETS]):10.4f}{nmi:9.4f}", end="")
            print(f"{'':8}{np.mean([s.qabf for s in SETS]):14.4f}{qabf:9.4f}")


if __name__ == "__main__":
    main()
