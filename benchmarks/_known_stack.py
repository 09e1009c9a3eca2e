"""Stacks with known truth of any kind: how they are cached, and how a result is scored against the truth."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, gaussian_filter
from skimage.metrics import structural_similarity

import panfocus as pf
from benchmarks._data import ROOT
from panfocus.compare.depth_errors import KnownDepth, find_depth_errors
from panfocus.methods import get_method
from panfocus.tiling.tiled import layers_of

BORDER = 8  # ignored pixels on each side
HALVES = ("choose", "report")  # settings are chosen on one half only; the halves share nothing
FINE = 2.0  # pixels: standard deviation of the Gaussian that leaves fine detail
REACH = 3  # pixels around fine structures where detail is compared: their blurred rims
CACHE = ROOT / "benchmarks" / "results" / "stacks"
SOURCES = ROOT / "src" / "panfocus" / "simulate"


@dataclass(frozen=True, eq=False)
class KnownStack:
    """Frames of one scene and the truth about it.

    Attributes
    ----------
    kind, half, name : str
        Kind of stack, "choose" or "report", and the name of the scene.
    frames : ndarray (n, h, w) or (n, h, w, c)
        The stack; frame i is focused on depth i.
    image : ndarray (h, w) or (h, w, c)
        The all-in-focus image without noise, in the dtype of the frames.
    depth : ndarray of float (h, w), optional
        True depth in frames; it may be outside the stack.
    counted : ndarray of bool (h, w), optional
        Where depth can be seen: there is detail, and some frame has it in focus.
    band : ndarray of bool (h, w), optional
        Pixels near borders between depths.
    detail : ndarray of bool (h, w), optional
        Fine structures, such as granules, whose contrast is measured.
    white : float
        Value that counts as full range in PSNR and SSIM.
    """

    kind: str
    half: str
    name: str
    frames: NDArray
    image: NDArray
    depth: NDArray | None = None
    counted: NDArray | None = None
    band: NDArray | None = None
    detail: NDArray | None = None
    white: float = 255.0


def cached(stack_name: str, sources: Sequence[str], make: Callable[[], KnownStack]) -> KnownStack:
    """Return the stack that `make` renders, from a file if neither `sources` nor the simulation changed."""
    digest = hashlib.sha256()
    for path in (*sorted(SOURCES.glob("*.py")), *map(Path, sources), Path(__file__)):
        digest.update(path.read_bytes())
    path = CACHE / f"{stack_name}-{digest.hexdigest()[:12]}.npz"
    if path.exists():
        with np.load(path) as stored:
            return KnownStack(**{key: _unpack(stored[key]) for key in stored.files})
    stack = make()
    CACHE.mkdir(parents=True, exist_ok=True)
    fields = {key: value for key, value in vars(stack).items() if value is not None}
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, **fields)
    partial.replace(path)
    return stack


def _unpack(value: NDArray) -> object:
    return value.item() if value.ndim == 0 else value


def score(result: pf.FusionResult, stack: KnownStack) -> dict[str, float]:
    """Compare a result with the truth; figures that need a map that the method does not give are left out.

    psnr, psnr_band: decibels of all channels together. ssim: mean over channels. label, depth, far: errors
    where depth can be seen, as defined by `panfocus.compare.depth_errors`. amount, correlation: of the fine
    detail with the true one.
    """
    inside = np.zeros(stack.image.shape[:2], bool)
    inside[BORDER:-BORDER, BORDER:-BORDER] = True
    squares = (result.image.astype(np.float64) - stack.image) ** 2
    squares = squares.mean(axis=2) if squares.ndim == 3 else squares
    figures = {"psnr": decibels(squares[inside], stack.white)}
    if stack.band is not None:
        figures["psnr_band"] = decibels(squares[inside & stack.band], stack.white)
    figures["ssim"] = _ssim(result.image, stack)
    if stack.detail is not None:
        figures |= _compare_detail(result.image, stack.image, inside & _grow(stack.detail))
    if stack.depth is None:
        return figures
    seen = inside if stack.counted is None else inside & stack.counted
    errors = find_depth_errors(result, KnownDepth(stack.depth, seen), len(stack.frames))
    figures |= {key.split("_")[0]: value for key, value in errors.items()}
    return figures


def decibels(squares: NDArray, white: float) -> float:
    """Return the PSNR of squared errors."""
    error = squares.mean()
    return float(10 * np.log10(white**2 / error)) if error > 0 else float("inf")


def _grow(mask: NDArray) -> NDArray:
    return binary_dilation(mask, np.ones((2 * REACH + 1, 2 * REACH + 1)))


def _compare_detail(image: NDArray, true: NDArray, where: NDArray) -> dict[str, float]:
    """Return regression coefficient and correlation of the detail of an image with the true detail."""
    details = []
    for values in (image.astype(np.float64), true.astype(np.float64)):
        detail = (values - gaussian_filter(values, FINE, axes=(0, 1)))[where]
        details.append((detail - detail.mean()).ravel())
    found, known = details
    both, power = found @ known, known @ known
    return {"amount": float(both / power), "correlation": float(both / np.sqrt(power * (found @ found)))}


def _ssim(image: NDArray, stack: KnownStack) -> float:
    crop = np.s_[BORDER:-BORDER, BORDER:-BORDER]
    first, second = (a[crop].astype(np.float64) for a in (image, stack.image))
    axis = 2 if first.ndim == 3 else None
    options = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
    return float(structural_similarity(first, second, data_range=stack.white, channel_axis=axis, **options))


def fuse(stack: KnownStack, method: str = "panfocus", **settings: object) -> pf.FusionResult:
    """Fuse a stack with all maps and, if the method has them, the weights of the frames."""
    chosen = get_method(method, **settings)
    layers = [name for name in layers_of(chosen) if name == "votes"]
    return pf.fuse(stack.frames, chosen, maps=(*chosen.maps, *layers))
