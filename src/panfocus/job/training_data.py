"""Training data of a dictionary from files, and what is said of the learning."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from panfocus.errors import FileError

if TYPE_CHECKING:
    from panfocus._intensity import FloatArray
    from panfocus.dictionary.learning import Round

    Levels = list[list[FloatArray]]  # for each grade of focus, sharpest first, the same scenes

# What the settings of learning mean, for the command line and for forms.
HELP = {
    "patch_size": "Side of the patches, in pixels.",
    "atoms": "Atoms of each level.",
    "max_atoms": "Most atoms in the code of one patch.",
    "rounds": "Coding steps.",
    "samples": "Patches drawn at random from all pictures.",
    "seed": "The same seed gives the same dictionary.",
}


def cut_regions(regions: Path, patch_size: int) -> "tuple[Levels, str]":
    """Read the rectangles that a TOML file lists, in grey; return also what they are, in words."""
    from panfocus.decide.gray import to_gray
    from panfocus.io.regions import read_regions

    levels = [[to_gray(image) for image in images] for images in read_regions(regions)]
    for number, image in enumerate(levels[0], start=1):
        check_holds_patch(image, f"{regions}, region {number}", patch_size)
    return levels, f"{len(levels[0])} regions of {regions.name}"


def check_holds_patch(image: "FloatArray", name: str, patch_size: int) -> None:
    """Refuse a picture that is smaller than a patch."""
    height, width = image.shape
    if min(height, width) < patch_size:
        raise FileError(
            f"{name}: {width} x {height} pixels are less than a patch of {patch_size} x {patch_size}"
        )


def said_course(history: "Sequence[Round]") -> str:
    """Say how the error fell."""
    first, last = history[0].objective, history[-1].objective
    return f"mean squared error {first:.4f} after the first round, {last:.4f} after the last"
