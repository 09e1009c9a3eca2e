"""Training samples: the same patches at every focus level, taken at random from registered images."""

from collections.abc import Sequence

import numpy as np

from panfocus._checks import real_number, whole_number
from panfocus._intensity import FloatArray, IntArray
from panfocus.errors import InputError

# One level of 255: in patches whose standard deviation is below there is little but noise and rounding,
# which scaling to norm one would blow up.
MIN_CONTRAST = 1 / 255


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
        `levels[0]` are the sharpest; image i has one shape at all levels and shows one scene, registered.
    min_contrast : float
        Least standard deviation of a patch.

    Returns
    -------
    list over levels of arrays (patch_size**2, n)
        Patches less their means, scaled to norm one. Those of too little contrast at any level are left out.
    """
    whole_number("patch_size", patch_size, at_least=2)
    whole_number("n_samples", n_samples, at_least=1)
    real_number("min_contrast", min_contrast)
    if not min_contrast >= 0:
        raise InputError(f"min_contrast must be at least 0, got {min_contrast}")
    if not levels[0]:
        raise InputError("there are no training images")
    for i, images in enumerate(zip(*levels, strict=True)):
        if images[0].ndim != 2:
            raise InputError(f"training image {i} has shape {images[0].shape}; needed: (h, w)")
        shapes = {image.shape for image in images}
        if len(shapes) > 1:
            raise InputError(f"training image {i} differs in size between its levels: {sorted(shapes)}")
        if min(images[0].shape) < patch_size:
            raise InputError(f"training image {i} is smaller than a patch of {patch_size} x {patch_size}")
        if not all(np.isfinite(image).all() for image in images):
            raise InputError(f"training image {i} holds NaN or infinite values")
    windows = [
        [np.lib.stride_tricks.sliding_window_view(image, (patch_size, patch_size)) for image in images]
        for images in levels
    ]
    positions = [w.shape[0] * w.shape[1] for w in windows[0]]
    first = np.concatenate([[0], np.cumsum(positions)])
    kept: list[list[FloatArray]] = [[] for _ in levels]
    n_kept = 0
    order = rng.permutation(first[-1])
    for chunk in np.array_split(order, -(-len(order) // n_samples)):
        drawn = [_gather(views, first, chunk, patch_size) for views in windows]
        norms = [np.linalg.norm(X, axis=1) for X in drawn]
        good = np.all([norm > patch_size * min_contrast for norm in norms], axis=0)
        for level, X, norm in zip(kept, drawn, norms, strict=True):
            level.append(X[good] / norm[good, None])
        n_kept += int(good.sum())
        if n_kept >= n_samples:
            break
    if n_kept == 0:
        raise InputError("the training images hold no patch with contrast")
    return [np.concatenate(level)[:n_samples].T for level in kept]


def _gather(views: Sequence[FloatArray], first: IntArray, positions: IntArray, patch_size: int) -> FloatArray:
    """Take mean-free patches (n, patch_size**2), given by their positions counted over all images."""
    X = np.empty((len(positions), patch_size**2))
    for i, view in enumerate(views):
        here = (positions >= first[i]) & (positions < first[i + 1])
        rows, cols = np.divmod(positions[here] - first[i], view.shape[1])
        X[here] = view[rows, cols].reshape(-1, patch_size**2)
    return np.asarray(X - X.mean(axis=1, keepdims=True))
