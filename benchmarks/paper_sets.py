"""The paper's "Proposed" rows on the eight public sets, with our values.

    python -m benchmarks.paper_sets

The training pairs are cut-outs of lytro-07, -09, -12, -13 and -17, which are not among the eight sets.
Clocks is not the paper's exact file, Pepsi is a 2 x 2 mean of the 512-pixel original.
"""

from itertools import product

import numpy as np

import panfocus as pf
from benchmarks._data import need_data
from benchmarks.learning import training_pairs
from panfocus.reproduce.image_sets import COLOUR_SETS, GREY_SETS, ImageSet, SceneImages
from panfocus.reproduce.paper import MEASURES, PROPOSED, TABLE_1, TABLE_2

W = 0.55
MAX_ATOMS = (0, 24)  # the paper's and the default
SETS = [image_set for image_set in (*GREY_SETS, *COLOUR_SETS) if image_set.public]


def printed(name: str) -> list[float]:
    """Return the printed NMI and Q_AB/F of the proposed method."""
    return [(TABLE_1 | TABLE_2)[PROPOSED, measure, name].value for measure in MEASURES]


def read(image_set: ImageSet) -> SceneImages:
    """Read a set, or exit with a message."""
    scene = image_set.read(need_data())
    if scene is None:
        raise SystemExit(f"The image set {image_set.name} is missing.")
    return scene


def scores(pictures: SceneImages, **settings: object) -> list[float]:
    """Fuse a set and return its NMI and Q_AB/F."""
    fused = pf.fuse(pictures.frames, "coupled", w=W, **settings).image
    found = pictures.score(fused, MEASURES)
    return [found[measure] for measure in MEASURES]


def main() -> None:
    """Print a table per dictionary and reading."""
    sets = [read(image_set) for image_set in SETS]
    papers = [printed(pictures.name) for pictures in sets]
    cases = {
        "learned from the training pairs": pf.CoupledDictionary.learn(*training_pairs()),
        "shipped, levels2": pf.CoupledDictionary.default(),
        "shipped, levels3": pf.CoupledDictionary.default("levels3"),
    }
    for title, dictionary in cases.items():
        for contrast, max_atoms in product(("restored", "normalised"), MAX_ATOMS):
            print(f"\ndictionary {title}; contrast={contrast}, max_atoms={max_atoms}, w={W}")
            print(
                f"{'':10}{'NMI paper':>10}{'ours':>9}{'share':>8}{'Q_AB/F paper':>14}{'ours':>9}{'diff':>9}"
            )
            settings = {"dictionary": dictionary, "contrast": contrast, "max_atoms": max_atoms}
            ours = [scores(pictures, **settings) for pictures in sets]
            rows = [
                *zip((pictures.name for pictures in sets), papers, ours, strict=True),
                ("mean", np.mean(papers, axis=0), np.mean(ours, axis=0)),
            ]
            for name, (paper_nmi, paper_qabf), (nmi, qabf) in rows:
                print(
                    f"{name:10}{paper_nmi:10.4f}{nmi:9.4f}{nmi / paper_nmi:8.1%}"
                    f"{paper_qabf:14.4f}{qabf:9.4f}{qabf - paper_qabf:+9.4f}"
                )


if __name__ == "__main__":
    main()
