"""Training data for dictionary learning: images, pairs of images, and regions of pairs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from panfocus.errors import FileError, InputError

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


def check_sources(
    focused: Sequence[Path], blurred: Sequence[Path], regions: Path | None, images: Sequence[str], levels: int
) -> None:
    """Raise unless there is exactly one source of training data, which has this number of focus levels."""
    if sum(map(bool, (focused or blurred, regions, images))) != 1:
        raise InputError("Give exactly one source: `focused` with `blurred`, `regions`, or `images`.")
    if len(focused) != len(blurred):
        raise InputError(
            f"`focused` and `blurred` must be given equally often, got {len(focused)} and {len(blurred)}.",
            setting="blurred",
            got=len(blurred),
            needed=len(focused),
        )
    if levels != 2 and not images:
        raise InputError(
            f"Pairs have two levels of focus; `levels` {levels} needs `images`.", setting="levels", got=levels
        )


def cut_regions(regions: Path, patch_size: int) -> "tuple[Levels, str]":
    """Read the regions listed in a TOML file, in grey; return them and a description."""
    from panfocus.decide.gray import to_gray
    from panfocus.io.regions import read_regions

    levels = [[to_gray(image) for image in images] for images in read_regions(regions)]
    for number, image in enumerate(levels[0], start=1):
        check_holds_patch(image, f"{regions}, region {number}", patch_size)
    return levels, f"{len(levels[0])} regions of {regions.name}"


def read_pairs(focused: Sequence[Path], blurred: Sequence[Path], patch_size: int) -> "tuple[Levels, str]":
    """Read aligned pairs of a sharp and a blurred image, in grey; return them and a description."""
    levels: Levels = [[], []]
    for sharp_path, soft_path in zip(focused, blurred, strict=True):
        sharp, soft = _read_gray(sharp_path, patch_size), _read_gray(soft_path, patch_size)
        if sharp.shape != soft.shape:
            raise FileError(
                f"{soft_path}: its size differs from {sharp_path}. Pairs must be aligned.",
                file=str(soft_path),
            )
        levels[0].append(sharp)
        levels[1].append(soft)
    pairs = ", ".join(f"{a.name} and {b.name}" for a, b in zip(focused, blurred, strict=True))
    return levels, f"pairs of {pairs}"


def simulate_levels(
    images: Sequence[str], n_levels: int, seed: int, patch_size: int, warn: Callable[[str], None]
) -> "tuple[Levels, str]":
    """Read sharp images, in grey, and simulate their defocus; return all levels and a description."""
    import numpy as np

    from panfocus.io.input_files import find_inputs
    from panfocus.simulate import simulate_training

    paths = find_inputs(images, warn=warn)
    sharp = [_read_gray(path, patch_size) for path in paths]
    names = ", ".join(path.name for path in paths)
    if n_levels == 1:
        return [sharp], f"sharp patches of {names}"
    levels = simulate_training(sharp, n_levels=n_levels, rng=np.random.default_rng(seed))
    return levels, f"simulated defocus of {names}"


def _read_gray(path: Path, patch_size: int) -> "FloatArray":
    from panfocus.decide.gray import to_gray
    from panfocus.io.read_stack import read_image

    image = to_gray(read_image(path))
    check_holds_patch(image, str(path), patch_size)
    return image


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
