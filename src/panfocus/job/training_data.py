"""Training data for dictionary learning: images, pairs of images, and regions of pairs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.errors import FileError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from panfocus._intensity import FloatArray
    from panfocus.dictionary.learning import Round

    Levels = list[list[FloatArray]]  # the same scenes at each focus level, sharpest first

# Share of patches with contrast below which learning from simulated defocus warns. At two levels, noise lets
# 0.5 % of flat patches pass as detail, up to 19 % in one draw: then a third of the training patches is noise.
FEW_DETAILED = 0.1
MAX_NAMED = 5  # files in a message

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
    from panfocus.io.read_stack import read_single

    levels: Levels = [[], []]
    for sharp_path, soft_path in zip(focused, blurred, strict=True):
        sharp, soft = (_to_gray(read_single(path), str(path), patch_size) for path in (sharp_path, soft_path))
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
    """Read sharp images and all their pages, in grey, and simulate defocus; return levels and a description.

    Noise and rounding are relative to the range that the images use, like the contrast of training patches.
    """
    import numpy as np

    from panfocus.dictionary.training import data_range
    from panfocus.io.headers import read_file_headers
    from panfocus.io.input_files import find_inputs
    from panfocus.io.read_stack import read_frame
    from panfocus.simulate import simulate_training

    files = [read_file_headers(path) for path in find_inputs(images, warn=warn)]
    headers = [header for pages in files for header in pages]
    sharp = [_to_gray(read_frame(header), header.name, patch_size) for header in headers]
    names = ", ".join(
        pages[0].path.name + (f" ({len(pages)} pages)" if len(pages) > 1 else "") for pages in files
    )
    if n_levels == 1:
        return [sharp], f"sharp patches of {names}"
    sharp = _drop_flat(sharp, [header.name for header in headers], patch_size, warn)
    if n_flat := len(headers) - len(sharp):
        names += f", without {n_flat} flat images"
    levels = simulate_training(
        sharp, n_levels=n_levels, rng=np.random.default_rng(seed), data_range=data_range([sharp])
    )
    return levels, f"simulated defocus of {names}"


def _drop_flat(
    sharp: "Sequence[FloatArray]", names: Sequence[str], patch_size: int, warn: Callable[[str], None]
) -> "list[FloatArray]":
    """Return the images that have contrast before noise is added, because noise passes as contrast.

    Warn about flat images and if most patches are flat; raise if all are.
    """
    from panfocus.dictionary.training import MIN_CONTRAST, data_range, share_with_contrast

    min_contrast = MIN_CONTRAST * data_range([sharp])
    shares = [share_with_contrast(image, patch_size, min_contrast) for image in sharp]
    flat = [name for name, share in zip(names, shares, strict=True) if share == 0]
    listed = ", ".join(flat[:MAX_NAMED]) + (", ..." if len(flat) > MAX_NAMED else "")
    if len(flat) == len(sharp):
        raise FileError(
            f"{listed}: no patch of {patch_size} x {patch_size} pixels has enough contrast. "
            "Use images with more detail.",
            file=flat[0],
            flat=len(flat),
        )
    if flat:
        warn(f"Skipped {len(flat)} of {len(sharp)} images without contrast: {listed}.")
    kept = [image for image, share in zip(sharp, shares, strict=True) if share > 0]
    detailed = sum(share * image.size for image, share in zip(sharp, shares, strict=True))
    usable = detailed / sum(image.size for image in kept)  # patches are drawn evenly from all pixels
    if usable < FEW_DETAILED:
        warn(
            f"Only {usable:.2%} of the training patches have enough contrast; others may add noise to the "
            "dictionary. Use images with more detail."
        )
    return kept


def _to_gray(image: "NDArray[Any]", name: str, patch_size: int) -> "FloatArray":
    from panfocus.decide.gray import to_gray

    gray = to_gray(image)
    check_holds_patch(gray, name, patch_size)
    return gray


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
