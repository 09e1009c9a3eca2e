"""`fuse`: frames in, fused image out. Check, fuse by a method, refine; nothing here opens a file."""

import dataclasses
import logging
import time
from collections.abc import Collection, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus import _checks, tiling
from panfocus._intensity import IntensityScale
from panfocus._progress import Progress, Watch, silent, unwatched
from panfocus._threads import for_all, limit_threads, thread_count
from panfocus.decide.compose import by_labels, by_votes
from panfocus.errors import InputError
from panfocus.methods import DEFAULT_METHOD, FusionMethod, FusionResult, get_method
from panfocus.preprocess import find_hot_pixels, measure_exposure
from panfocus.refine import PAPER_STRENGTH, check_strength, refine_tv
from panfocus.stack import Frames

logger = logging.getLogger(__name__)

HOT_PIXELS, EXPOSURE = ("auto", "on", "off"), ("auto", "off")
BAND_VALUES = 1 << 21  # of frames that are composed at once, on each thread


def fuse(
    frames: ArrayLike | Sequence[ArrayLike] | Frames,
    method: str | FusionMethod = DEFAULT_METHOD,
    *,
    hot_pixels: str = "auto",
    exposure: str = "auto",
    refine: bool = False,
    refine_strength: float = PAPER_STRENGTH,
    threads: int | None = None,
    max_memory: int | None = None,
    maps: Collection[str] | None = None,
    allocate: tiling.Allocate = np.empty,
    progress: Progress = silent,
    watch: Watch = unwatched,
    **settings: Any,
) -> FusionResult:
    """Fuse registered frames of one scene into a picture that is sharp wherever one of them is.

    Parameters
    ----------
    frames : array (n, h, w) or (n, h, w, c), or a sequence of n arrays
        Two or more frames of one size and type: uint8, uint16, float32 or float64 (unit range). An array that
        lies on disk, such as `np.memmap` or what can be indexed like it, is read part by part. One of Dask or
        Zarr is only measured now, and fused when the result, of Dask arrays, is computed.
    method : str or FusionMethod
        Name of a method, or one made beforehand with its settings.
    hot_pixels : str
        What stands alone at the same pixel of every frame, or clearly in a single one, is not the scene's: it
        is replaced by the median of what is beside it. "auto": both, but of two frames only the latter; "on":
        both; "off": none. Frames that are to be moved need `repair_hot_pixels` before that.
    exposure : str
        "auto": frames that are known to be brighter or of other colour than the rest of the stack are
        corrected before any method sees them; "off": frames are taken as they are.
    refine : bool
        Solve the paper's total-variation problem, Eq. (9), on the fused image.
    refine_strength : float
        Weight of the total variation, on unit-range intensities; larger is smoother, 0 changes nothing.
    threads : int, optional
        Most threads to use; by default every core. The result does not depend on it.
    max_memory : int, optional
        Most bytes to work with beside the frames and the result; by default as much as is quick. The result
        does not depend on it. Of lazy arrays: for a tile, and Dask has as many at work as it has threads.
    maps : collection of str, optional
        Which maps to return, such as `("labels",)`; by default all that the method gives but `votes` and
        `log_odds`, which are as large as the frames. Those left out take no memory.
    allocate : callable, optional
        Called as `allocate(shape, dtype)` for room for `votes` and `log_odds`; by default in memory.
    progress : callable, optional
        Called as `progress(stage, done)` with the stage's name and the share done, 0 to 1.
    watch : callable, optional
        Called as `watch(rows, cols, part)` with each part of the result, before refinement, as soon as it is
        there: two slices and a FusionResult of that rectangle, with all maps.
    **settings
        Settings of the method, such as `w=0.6` or `dictionary=...` for `coupled`.

    Returns
    -------
    FusionResult
        `image` in the dtype and range of the frames; labels, confidence and a report beside it.
    """
    if not isinstance(method, str) and settings:
        raise InputError("settings go with a method's name; a method that is made already has its own")
    if refine:
        check_strength(refine_strength)
    if max_memory is not None:
        _checks.whole_number("max_memory", max_memory, at_least=1)
    chosen = get_method(method, **settings) if isinstance(method, str) else method
    if not dataclasses.is_dataclass(chosen):
        raise InputError(f"method must be a name or a method, got {method!r}")
    if isinstance(frames, list | tuple) and any(map(_checks.is_lazy, frames)):
        frames = tiling.stacked(frames)
    lazy = _checks.is_lazy(frames)
    if lazy and refine:
        raise InputError(
            "refine needs the whole image at once; fuse lazy arrays without, or np.asarray(frames)"
        )
    stack = _checks.frames_array(tiling.BlockFrames(frames) if lazy else frames)
    started = time.perf_counter()
    with limit_threads(threads):
        found = find_corrections(stack, hot_pixels=hot_pixels, exposure=exposure)
        if isinstance(stack, tiling.BlockFrames):
            result = tiling.run_lazily(
                chosen, stack, found, maps=maps, max_memory=max_memory, threads=threads
            )
        else:
            result = tiling.run(
                chosen,
                found.of(stack),
                progress,
                maps=maps,
                max_memory=max_memory,
                allocate=allocate,
                watch=watch,
            )
        report = {
            "panfocus": version("panfocus"),
            "method": method if isinstance(method, str) else type(method).__name__.lower(),
            "settings": _plain_settings(chosen),
            "frames": len(stack),
            "shape": list(stack.shape[1:]),
            "dtype": stack.dtype.name,
            "threads": thread_count(),
            **found.report(),
            **result.report,
        }
        image = result.image
        if refine:
            image, report["refine"] = _refined(image, refine_strength, progress)
    report["seconds"] = round(time.perf_counter() - started, 3)
    logger.info("fused %d frames of %s in %.2f s", len(stack), stack.shape[1:], report["seconds"])
    return dataclasses.replace(result, image=image, report=report)


def corrected(frames: Frames, *, hot_pixels: str, exposure: str) -> tuple[Frames, dict[str, Any]]:
    """Return frames without hot pixels and of one exposure, as `fuse` takes them, and what to report.

    The options are those of `fuse`.
    """
    found = find_corrections(frames, hot_pixels=hot_pixels, exposure=exposure)
    return found.of(frames), found.report()


def find_corrections(frames: Frames, *, hot_pixels: str, exposure: str) -> tiling.Corrections:
    """Look for what has to be corrected; the options are those of `fuse`."""
    _checks.one_of("exposure", exposure, EXPOSURE)
    _checks.one_of("hot_pixels", hot_pixels, HOT_PIXELS)
    hot = find_hot_pixels(frames, in_pairs=hot_pixels == "on") if hot_pixels != "off" else None
    repaired = hot.repair(frames) if hot else frames
    return tiling.Corrections(hot, measure_exposure(repaired) if exposure == "auto" else None)


def repair_hot_pixels(frames: Frames, how: str) -> tuple[Frames, dict[str, Any]]:
    """Return frames that are not aligned yet without hot pixels, and their number for the report."""
    return corrected(frames, hot_pixels=how, exposure="off")


def apply(
    result: FusionResult,
    frames: ArrayLike | Sequence[ArrayLike] | Frames,
    *,
    threads: int | None = None,
) -> NDArray[Any]:
    """Compose other frames of the same scene, such as another channel or light, by what a fusion decided.

    Parameters
    ----------
    result : FusionResult
        Of frames that are registered with these, as many and of the same size. If it has `votes`, as after
        `fuse(..., maps=("votes",))`, each pixel is the mean of the frames by them, as in the fused image.
        Else it is copied from the frame that its label names, and borders between frames are hard.
    frames : array (n, h, w) or (n, h, w, c), or a sequence of n arrays
        Of any supported type; it need not be that of the fused frames.
    threads : int, optional
        Most threads to use; by default every core. The result does not depend on it.

    Returns
    -------
    ndarray (h, w) or (h, w, c)
        The picture, in the dtype and range of the frames.
    """
    if _checks.is_lazy(result.image):
        raise InputError("the result is of lazy arrays; compute its labels first, and those of `frames`")
    stack = _checks.frames_array(frames)
    n_frames = len(stack) if result.votes is None else len(result.votes)
    n_frames = result.report.get("frames", n_frames)
    if result.votes is None and result.labels is None:
        raise InputError("the result has neither votes nor labels, by which other frames could be composed")
    expected = (n_frames, *result.image.shape[:2])
    if stack.shape[:3] != expected:
        raise InputError(
            f"these are {_count_and_size(stack.shape)}, the fused ones were {_count_and_size(expected)}; "
            "a decision applies to as many frames of the same size"
        )
    image = np.empty(stack.shape[1:], stack.dtype)
    every_column = slice(0, stack.shape[2])

    def compose(rows: slice) -> None:
        part = stack[:, rows, every_column]
        if result.votes is not None:
            image[rows] = by_votes(part, result.votes[:, rows, every_column])
        elif result.labels is not None:
            image[rows] = by_labels(part, result.labels[rows])

    n_rows = max(1, BAND_VALUES // (len(stack) * image[0].size))
    with limit_threads(threads):
        for_all(compose, [slice(top, min(top + n_rows, len(image))) for top in range(0, len(image), n_rows)])
    return image


def _count_and_size(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} frames of {shape[2]} x {shape[1]}"


def _refined(image: NDArray[Any], strength: float, progress: Progress) -> tuple[NDArray[Any], dict[str, Any]]:
    scale = IntensityScale.of(image.dtype)
    solution = refine_tv(scale.to_unit(image), strength=strength, progress=progress)
    refined = scale.from_unit(solution.image) if strength > 0 else image
    last = solution.history[-1] if solution.history else None
    return refined, {
        "strength": strength,
        "iterations": len(solution.history),
        "relative_gap": last.relative_gap if last else 0.0,
        "converged": solution.converged,
        "changed_share": float(np.mean(refined != image)),
        "largest_change": float(np.max(np.abs(scale.to_unit(refined) - scale.to_unit(image)))),
    }


def _plain_settings(method: FusionMethod) -> dict[str, Any]:
    settings = {}
    for f in dataclasses.fields(method):  # type: ignore[arg-type]  # methods are dataclasses
        value = getattr(method, f.name)
        value = value.item() if isinstance(value, np.generic) else value
        settings[f.name] = value if isinstance(value, str | int | float | bool | None) else str(value)
    return settings
