"""Training samples: the same patches at every focus level, drawn at random from registered images."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter

from panfocus._checks import check_integer, check_number
from panfocus._intensity import FloatArray, IntArray
from panfocus.errors import InputError

# Smallest standard deviation of a training patch, as a share of the range of the data: one level of 255.
# Below it, scaling a patch to norm 1 would mostly amplify noise and rounding.
MIN_CONTRAST = 1 / 255


def data_range(levels: Sequence[Sequence[FloatArray]]) -> float:
    """Return the range that images in unit range use: 1, halved while all values are in its lower half.

    12-bit data stored in 16 bits has a range of 1/16. Data with values above 0.5 has a range of 1.
    """
    brightest = max((float(image.max()) for images in levels for image in images if image.size), default=1.0)
    if not 0 < brightest < 1:
        return 1.0
    mantissa, exponent = math.frexp(brightest)
    return math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)


def share_with_contrast(image: FloatArray, patch_size: int, min_contrast: float) -> float:
    """Return the share of an image's patches that have a standard deviation above `min_contrast`."""
    centred = image.astype(np.float64)
    centred -= centred.mean()  # keeps the difference of squares exact
    mean, mean_square = (uniform_filter(values, patch_size) for values in (centred, centred**2))
    inside = tuple(slice(patch_size // 2, patch_size // 2 + n - patch_size + 1) for n in image.shape)
    return float(((mean_square - mean**2)[inside] > min_contrast**2).mean())


def sample_patches(
    levels: Sequence[Sequence[FloatArray]],
    *,
    patch_size: int,
    n_samples: int,
    rng: np.random.Generator,
    min_contrast: float = MIN_CONTRAST,
) -> list[FloatArray]:
    """Draw up to `n_samples` patches, each at all levels.

    Parameters
    ----------
    levels : sequence over levels of sequences of images (h, w), unit range
        Sharpest level first. Image i shows the same registered scene, in the same shape, at all levels.
    min_contrast : float
        Smallest standard deviation of a patch, in unit range.

    Returns
    -------
    list over levels of arrays (patch_size**2, n)
        Mean-free patches, scaled to norm 1. Patches with too little contrast at any level are skipped.
    """
    check_integer("patch_size", patch_size, at_least=2)
    check_integer("n_samples", n_samples, at_least=1)
    check_number("min_contrast", min_contrast)
    if not min_contrast >= 0:
        raise InputError(
            f"`min_contrast` must be at least 0, got {min_contrast}.",
            setting="min_contrast",
            got=min_contrast,
        )
    _check_images(levels, patch_size)
    windows = [
        [np.lib.stride_tricks.sliding_window_view(image, (patch_size, patch_size)) for image in images]
        for images in levels
    ]
    positions = [w.shape[0] * w.shape[1] for w in windows[0]]
    first = np.concatenate([[0], np.cumsum(positions)])
    samples: list[list[FloatArray]] = [[] for _ in levels]
    n_found = 0
    order = rng.permutation(first[-1])
    for chunk in np.array_split(order, -(-len(order) // n_samples)):
        drawn = [_gather(views, first, chunk, patch_size) for views in windows]
        norms = [np.linalg.norm(X, axis=1) for X in drawn]
        good = np.all([norm > patch_size * min_contrast for norm in norms], axis=0)
        for level, X, norm in zip(samples, drawn, norms, strict=True):
            level.append(X[good] / norm[good, None])
        n_found += int(good.sum())
        if n_found >= n_samples:
            break
    if n_found == 0:
        raise InputError("The training images contain no patch with enough contrast.")
    return [np.concatenate(level)[:n_samples].T for level in samples]


def _check_images(levels: Sequence[Sequence[FloatArray]], patch_size: int) -> None:
    """Raise if there are no images, or if one is invalid or differs in size between its levels."""
    if not levels[0]:
        raise InputError("There are no training images.")
    for i, images in enumerate(zip(*levels, strict=True)):
        shape, shapes = images[0].shape, sorted({image.shape for image in images})
        facts: dict[str, Any] = {"image": i}
        if len(shape) != 2:
            problem, facts["got"] = f"must have shape (h, w), got {shape}", shape
        elif len(shapes) > 1:
            problem, facts["got"] = f"differs in size between its levels: {shapes}", shapes
        elif min(shape) < patch_size:
            problem = f"is smaller than a patch of {patch_size} x {patch_size} pixels"
            facts |= {"got": shape, "needed": patch_size}
        elif not all(np.isfinite(image).all() for image in images):
            problem = "contains NaN or infinite values"
        else:
            continue
        raise InputError(f"Training image {i} {problem}.", **facts)


def _gather(views: Sequence[FloatArray], first: IntArray, positions: IntArray, patch_size: int) -> FloatArray:
    """Return mean-free patches (n, patch_size**2) at positions counted over all images."""
    X = np.empty((len(positions), patch_size**2))
    for i, view in enumerate(views):
        here = (positions >= first[i]) & (positions < first[i + 1])
        rows, cols = np.divmod(positions[here] - first[i], view.shape[1])
        X[here] = view[rows, cols].reshape(-1, patch_size**2)
    return np.asarray(X - X.mean(axis=1, keepdims=True))
