"""Training data for dictionary learning: regions of image files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from panfocus.errors import FileError

if TYPE_CHECKING:
    from panfocus._intensity import FloatArray
    from panfocus.dictionary.learning import Round

    Levels = list[list[FloatArray]]  # the same scenes at each focus level, sharpest first

# Help texts of the settings, for the command line and for forms.
HELP = {
    "patch_size": "Side of a patch, in pixels.",
    "atoms": "Number of atoms per focus level.",
    "max_atoms": "Maximum number of atoms in the code of a patch.",
    "rounds": "Number of learning rounds.",
    "samples": "Number of patches drawn at random from all images.",
    "seed": "The same seed gives the same dictionary.",
}


def cut_regions(regions: Path, patch_size: int) -> "tuple[Levels, str]":
    """Read the regions listed in a TOML file, in grey; return them and a description."""
    from panfocus.decide.gray import to_gray
    from panfocus.io.regions import read_regions

    levels = [[to_gray(image) for image in images] for images in read_regions(regions)]
    for number, image in enumerate(levels[0], start=1):
        check_holds_patch(image, f"{regions}, region {number}", patch_size)
    return levels, f"{len(levels[0])} regions of {regions.name}"


def check_holds_patch(image: "FloatArray", name: str, patch_size: int) -> None:
    """Refuse an image that is smaller than a patch."""
    height, width = image.shape
    if min(height, width) < patch_size:
        raise FileError(
            f"{name}: {width} x {height} pixels are fewer than a patch of {patch_size} x {patch_size}.",
            file=name,
        )


def describe_learning(history: "Sequence[Round]") -> str:
    """Return how the error decreased."""
    first, last = history[0].objective, history[-1].objective
    return f"Mean squared error: {first:.4f} after the first round, {last:.4f} after the last."
