"""The steps of a fusion in their order: repair, align, equalise, decide and compose, refine.

`fuse` is the public function. Every front end runs the same steps through `process_stack`; they differ only
in where frames come from and where results go. Nothing here opens a file.
"""

import dataclasses
import logging
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus import _checks
from panfocus._intensity import IntensityScale
from panfocus._progress import Progress, Watch, silent, unwatched
from panfocus._threads import for_all, limit_threads, thread_count
from panfocus.channels import CHOICES as CHANNEL_CHOICES
from panfocus.channels import check_layers, correct, fuse_separately, keep_maps, separate_channels
from panfocus.decide.compose import by_labels, by_votes
from panfocus.errors import InputError
from panfocus.methods import DEFAULT_METHOD, FusionMethod, get_method
from panfocus.preprocess.corrections import Corrections, check_corrections
from panfocus.preprocess.stack_checks import check_stack
from panfocus.registration import BORDERS, CHOICES
from panfocus.result import FusionResult, without_pixels
from panfocus.stack import Allocate, Frames, Stack, count_and_size
from panfocus.tiling.tiled import layers_of, run_method

if TYPE_CHECKING:
    from panfocus.preprocess.frame_checks import BadFrames
    from panfocus.registration.alignment import Alignment

logger = logging.getLogger(__name__)

BAND_VALUES = 1 << 21  # pixel values of all frames that one thread composes at a time


@dataclass(frozen=True, eq=False)
class Fusion:
    """A stack that went through all steps.

    Attributes
    ----------
    stack : Stack
        The repaired and aligned frames.
    frames : Frames
        The same frames at equal exposure; the image is composed of them.
    result : FusionResult
        The fused image and its maps.
    alignment : Alignment or None
        How the frames were aligned, if they were.
    times : dict
        Seconds of each step.
    """

    stack: Stack
    frames: Frames
    result: FusionResult
    alignment: "Alignment | None"
    times: dict[str, float]


def fuse(
    frames: ArrayLike | Sequence[ArrayLike] | Frames | Stack,
    method: str | FusionMethod = DEFAULT_METHOD,
    *,
    align: str = "off",
    reference: int | None = None,
    borders: str = "full",
    hot_pixels: str = "auto",
    exposure: str = "auto",
    decide_channels: str = "auto",
    refine: bool = False,
    refine_strength: float | None = None,
    slabs: tuple[int, int] | None = None,
    maps: Collection[str] | None = None,
    threads: int | None = None,
    max_memory: int | None = None,
    progress: Progress = silent,
    **settings: Any,
) -> FusionResult:
    """Fuse frames of one scene into an image that is sharp wherever one of them is.

    It runs the same steps in the same order as the command `panfocus fuse`. With `align="auto"`, which is the
    default of the command, the bits of the result are the same too.

    Parameters
    ----------
    frames : Stack, array (n, h, w) or (n, h, w, c), or a sequence of n arrays
        Two or more frames of one size and type, in the order of their focus: uint8, uint16, float32 or
        float64 (unit range). Arrays on disk, such as `np.memmap`, are read in parts. Dask and Zarr arrays
        give a result of Dask arrays, computed on demand.
    method : str or FusionMethod
        Name of a method, or an instance with its own settings.
    align : str
        "off" (default): the frames are registered already. "auto": the simplest model that fits. Or a
        model: "shift", "similarity", "affine", "homography".
    reference : int, optional
        The frame to which the others are aligned, counted from 0; by default the middle one.
    borders : str
        "full" (default): keep the size of the reference and fill missing borders from neighbouring frames.
        "crop": keep only the area that all aligned frames show.
    hot_pixels : str
        "auto" (default): repair pixels that stand out at the same place of every frame, or clearly in one
        frame; in pairs, only the latter. "on": both kinds in pairs too. "off": no repair.
    exposure : str
        "auto" (default): correct frames that differ from the stack in brightness or colour. "off": do not.
    decide_channels : str
        "together": one decision for all channels, as for photographs. "separate": fuse each channel as a
        grey stack; each map shows, at every pixel, the channel with the highest confidence. "auto"
        (default): separate for the channels of microscopy files and for arrays of 5 or more channels.
    refine : bool
        Smooth the fused image by total variation, Eq. (9) of the paper.
    refine_strength : float
        Weight of the total variation, for intensities from 0 to 1; larger is smoother, 0 changes nothing.
        It turns on `refine`. Default: the value of the paper.
    slabs : (int, int), optional
        For long stacks: fuse overlapping groups of frames, then fuse their images. Given are the number of
        frames in a slab and how many of them it shares with the next slab. There is no confidence map then:
        where slabs overlap, either may be right.
    maps : collection of str, optional
        Maps to return, such as `("labels",)`; by default all that the method computes except `votes` and
        `log_odds`, which are as large as the frames. Omitted maps take no memory.
    threads : int, optional
        Maximum number of threads; by default one per core. The result does not depend on it.
    max_memory : int, optional
        Maximum number of bytes to use besides the frames and the result. The result does not depend on it.
        With lazy arrays it applies to each tile; Dask works on as many tiles as it has threads.
    progress : callable, optional
        Called as `progress(stage, done)` with the name of the stage and the fraction done, 0 to 1.
    **settings
        Settings of the method, such as `w=0.6` or `dictionary=...` for `coupled`.

    Returns
    -------
    FusionResult
        `image` in the dtype and range of the frames, the maps and a report. Its `warnings`, which are also
        logged, name frames that contribute nothing or nearly everything, places where something moved, and
        stacks of optical sections. Lazy arrays are not checked.
    """
    chosen = _make_method(method, settings)
    _checks.check_choice("align", align, ("off", *CHOICES))
    _checks.check_choice("borders", borders, BORDERS)
    if max_memory is not None:
        _checks.check_integer("max_memory", max_memory, at_least=1)
    if slabs is not None and not (isinstance(slabs, Sequence) and len(slabs) == 2):
        raise InputError(
            f"`slabs` must be a pair of numbers, such as (10, 3), got {slabs!r}.", setting="slabs", got=slabs
        )
    refine = refine or refine_strength is not None
    _checks.check_choice("decide_channels", decide_channels, CHANNEL_CHOICES)
    maps = _check_maps(maps, chosen, in_slabs=slabs is not None)
    if isinstance(frames, list | tuple) and any(map(_checks.is_lazy, frames)):
        from panfocus.tiling.dask_arrays import stack_lazy_frames

        frames = stack_lazy_frames(frames)
    if _checks.is_lazy(frames):
        if refine or slabs or align != "off":
            raise InputError(
                "Lazy arrays cannot be aligned, refined or fused in slabs. Use np.asarray(frames).",
                setting="refine" if refine else "slabs" if slabs else "align",
            )
        return _fuse_lazily(
            frames,
            chosen,
            method_name=method if isinstance(method, str) else None,
            hot_pixels=hot_pixels,
            exposure=exposure,
            decide_channels=decide_channels,
            maps=maps,
            threads=threads,
            max_memory=max_memory,
        )
    stack = _checked_stack(frames)
    if reference is not None:
        _checks.check_integer("reference", reference, at_least=0, at_most=len(stack.names) - 1)
    fusion = process_stack(
        stack,
        chosen,
        method_name=method if isinstance(method, str) else None,
        align=align,
        reference=reference,
        borders=borders,
        hot_pixels=hot_pixels,
        exposure=exposure,
        decide_channels=decide_channels,
        refine=refine,
        refine_strength=refine_strength,
        slabs=slabs,
        maps=maps,
        threads=threads,
        max_memory=max_memory,
        progress=progress,
    )
    for warning in fusion.result.report["warnings"]:
        logger.warning("%s", warning)
    return fusion.result


def process_stack(
    stack: Stack,
    method: FusionMethod,
    *,
    method_name: str | None = None,
    align: str = "off",
    reference: int | None = None,
    borders: str = "full",
    hot_pixels: str = "auto",
    exposure: str = "auto",
    decide_channels: str = "auto",
    refine: bool = False,
    refine_strength: float | None = None,
    slabs: tuple[int, int] | None = None,
    maps: Collection[str] | None = None,
    threads: int | None = None,
    max_memory: int | None = None,
    allocate: Allocate = np.empty,
    overwrite: bool = False,
    bad: "BadFrames | None" = None,
    progress: Progress = silent,
    watch: Watch = unwatched,
) -> Fusion:
    """Run every step of a fusion on a stack; see `fuse` for the common parameters.

    Parameters
    ----------
    method_name : str, optional
        Name of the method for the report; by default the name of its class.
    allocate : callable
        Called as `allocate(shape, dtype)` for arrays as large as the frames: aligned frames, `votes`,
        `log_odds` and slab images. The caller may provide arrays on disk.
    overwrite : bool
        Allow writing the aligned frames over those of the stack, if they are in memory.
    bad : BadFrames, optional
        Policy for frames that cannot be aligned; by default they are an error.
    watch : callable
        Called as `watch(rows, cols, part)` with each finished part of the result, before refinement; of each
        channel after another, if they are fused separately.
    """
    strength = _refine_strength(refine_strength) if refine else 0.0
    separate = separate_channels(decide_channels, stack.frames.shape, stack.metadata.acquisition)
    check_layers(maps, separate)
    started = time.perf_counter()
    times: dict[str, float] = {}

    def fuse_frames(part: Frames, maps: Collection[str] | None, progress: Progress) -> FusionResult:
        return run_method(
            method,
            part,
            progress,
            maps=maps,
            max_memory=max_memory,
            allocate=allocate,
            watch=unwatched if slabs else watch,
        )

    def fuse_whole(frames: Frames, maps: Collection[str] | None, progress: Progress) -> FusionResult:
        if not slabs:
            return fuse_frames(frames, maps, progress)
        from panfocus.slabs import fuse_in_slabs

        return fuse_in_slabs(frames, *slabs, fuse_frames, maps=maps, allocate=allocate, progress=progress)

    with limit_threads(threads):
        stack, frames, alignment, report = prepare_stack(
            stack,
            align=align,
            reference=reference,
            borders=borders,
            hot_pixels=hot_pixels,
            exposure=exposure,
            allocate=allocate,
            overwrite=overwrite,
            bad=bad,
            progress=progress,
            n_separate=len(separate),
            times=times,
        )
        with timed(times, "fuse"):
            if separate:
                result = fuse_separately(
                    frames,
                    separate,
                    lambda channel, progress: fuse_whole(channel, None, progress),
                    reports=report.pop("separate_channels"),
                    allocate=allocate,
                    progress=progress,
                )
                result = keep_maps(result, maps)
            else:
                result = fuse_whole(frames, maps, progress)
        image = result.image
        if refine:
            with timed(times, "refine"):
                if not separate:
                    image, report["refine"] = _refine(image, strength, progress)
                for c in range(len(separate)):
                    image[..., c], facts = _refine(image[..., c], strength, progress)
                    result.report["separate_channels"][c]["refine"] = facts
        report = _run_facts(method, method_name, frames) | result.report | report
        with timed(times, "diagnose"):
            found = check_stack(stack.frames, stack.names, report)
    report["warnings"] = [str(notice) for notice in found]
    stack = dataclasses.replace(stack, notices=(*stack.notices, *found))
    report["seconds"] = round(time.perf_counter() - started, 3)
    logger.info("fused %d frames of %s in %.2f s", len(frames), frames.shape[1:], report["seconds"])
    result = dataclasses.replace(result, image=image, report=report, source=without_pixels(stack))
    return Fusion(stack, frames, result, alignment, times)


def prepare_stack(
    stack: Stack,
    *,
    align: "str | Alignment",
    hot_pixels: str,
    exposure: str,
    reference: int | None = None,
    borders: str = "full",
    allocate: Allocate = np.empty,
    overwrite: bool = False,
    bad: "BadFrames | None" = None,
    progress: Progress = silent,
    n_separate: int = 0,
    times: dict[str, float] | None = None,
) -> "tuple[Stack, Frames, Alignment | None, dict[str, Any]]":
    """Repair, align and equalise a stack; `align` may also be an alignment that is known already.

    The first `n_separate` channels are repaired and equalised each by itself, and aligned together.

    Returns
    -------
    stack : Stack
        The repaired and aligned stack.
    frames : Frames
        The same frames at equal exposure.
    alignment : Alignment or None
        None if `align` is "off".
    report : dict
        What was found in each step, as plain data; in `separate_channels` of each such channel.
    """
    times = {} if times is None else times
    check_corrections(hot_pixels, exposure)
    alignment: Alignment | None = None
    with timed(times, "repair"):  # before alignment, while pixels are still those of the sensor
        repaired, repairs = correct(stack.frames, n_separate, hot_pixels=hot_pixels)
        stack = dataclasses.replace(stack, frames=repaired)
    if align != "off":
        from panfocus.registration.aligned_frames import apply_alignment, find_stack_alignment

        with timed(times, "align"):
            if isinstance(align, str):
                stack, alignment = find_stack_alignment(
                    stack, align, reference=reference, borders=borders, bad=bad, progress=progress
                )
            else:
                alignment = align
            aligned = apply_alignment(
                alignment, stack.frames, borders, allocate=allocate, overwrite=overwrite, progress=progress
            )
            stack = dataclasses.replace(stack, frames=aligned)
    with timed(times, "equalise"):
        frames, exposures = correct(stack.frames, n_separate, exposure=exposure)
    reports = [repair | equalised for repair, equalised in zip(repairs, exposures, strict=True)]
    report: dict[str, Any] = {"separate_channels": reports} if n_separate else reports[0]
    if alignment:
        report["alignment"] = alignment.report() | {
            "borders": borders,
            "border_share": round(alignment.border_share(borders), 6),
        }
    return stack, frames, alignment, report


def apply(
    result: FusionResult,
    frames: ArrayLike | Sequence[ArrayLike] | Frames | Stack,
    *,
    threads: int | None = None,
) -> NDArray[Any]:
    """Compose other frames of the same scene, such as another channel, by the decisions of a fusion.

    Parameters
    ----------
    result : FusionResult
        The fusion of frames that were taken at the same positions. If they were aligned by `fuse`, the other
        frames are aligned in the same way first; otherwise they must be registered already. With `votes`, as
        after `fuse(..., maps=("votes",))`, each pixel is the same weighted mean of the frames as in the
        fused image. Otherwise each pixel is copied from the frame of its label, with hard borders.
    frames : array (n, h, w) or (n, h, w, c), or a sequence of n arrays
        Frames of any supported type; it may differ from the type of the fused frames.
    threads : int, optional
        Maximum number of threads; by default one per core. The result does not depend on it.

    Returns
    -------
    ndarray (h, w) or (h, w, c)
        The image, in the dtype and range of the frames.
    """
    if not isinstance(result, FusionResult):
        raise InputError(f"`result` must be a FusionResult, got {type(result).__name__}.", setting="result")
    if _checks.is_lazy(result.image):
        raise InputError("The result holds lazy arrays. Compute its labels, and the frames, first.")
    stack = _checks.frames_array(frames)
    with limit_threads(threads):
        return compose_like(result, _aligned_like(result, stack))


def _aligned_like(result: FusionResult, frames: Frames) -> Frames:
    """Apply the alignment of a result to other frames; return them unchanged if it has none."""
    facts = result.report.get("alignment")
    if not facts or facts["model"] == "none":
        return frames
    from panfocus.registration.aligned_frames import apply_alignment
    from panfocus.registration.alignment import Alignment

    alignment = Alignment.from_report(facts)
    _check_shape(frames, (len(alignment.transforms), *alignment.size))
    return apply_alignment(alignment, frames, facts["borders"])


def compose_like(result: FusionResult, stack: Frames) -> NDArray[Any]:
    """Compose aligned frames by the decisions of a result."""
    if result.votes is None and result.labels is None:
        raise InputError("The result has neither votes nor labels, so it cannot be applied to other frames.")
    n_frames = result.report.get("frames", len(stack) if result.votes is None else len(result.votes))
    _check_shape(stack, (n_frames, *result.image.shape[:2]))
    image = np.empty(stack.shape[1:], stack.dtype)
    every_column = slice(0, stack.shape[2])

    def compose(rows: slice) -> None:
        part = stack[:, rows, every_column]
        if result.votes is not None:
            image[rows] = by_votes(part, result.votes[:, rows, every_column])
        elif result.labels is not None:
            image[rows] = by_labels(part, result.labels[rows])

    n_rows = max(1, BAND_VALUES // (len(stack) * image[0].size))
    for_all(compose, [slice(top, min(top + n_rows, len(image))) for top in range(0, len(image), n_rows)])
    return image


def _check_shape(frames: Frames, expected: tuple[int, ...]) -> None:
    if frames.shape[:3] != expected:
        raise InputError(
            f"The decisions were made for {count_and_size(expected)}, got {count_and_size(frames.shape)}.",
            needed=expected,
            got=frames.shape[:3],
        )


@contextmanager
def timed(times: dict[str, float], step: str) -> Iterator[None]:
    """Record the seconds that the block takes."""
    started = time.perf_counter()
    yield
    times[step] = round(time.perf_counter() - started, 3)


def _make_method(method: str | FusionMethod, settings: dict[str, Any]) -> FusionMethod:
    if isinstance(method, str):
        return get_method(method, **settings)
    if settings:
        raise InputError("Settings need the name of a method; an instance has its own settings.")
    if not dataclasses.is_dataclass(method) or isinstance(method, type) or not hasattr(method, "fuse"):
        raise InputError(f"`method` must be a name or a fusion method, got {method!r}.", setting="method")
    return method


def _checked_stack(frames: ArrayLike | Sequence[ArrayLike] | Frames | Stack) -> Stack:
    array = _checks.frames_array(frames)
    if not isinstance(frames, Stack):
        return Stack(frames=array, names=tuple(f"frame {k}" for k in range(len(array))))
    if len(frames.names) != len(array):
        raise InputError(
            f"The stack has {len(array)} frames but {len(frames.names)} names.",
            frames=len(array),
            got=len(frames.names),
        )
    return dataclasses.replace(frames, frames=array)


def _check_maps(
    maps: Collection[str] | None, method: FusionMethod, *, in_slabs: bool = False
) -> Collection[str] | None:
    """Return the names of maps as a collection; refuse those that the method does not compute."""
    if maps is None:
        return None
    from panfocus.slabs import MAPS as MAPS_OF_SLABS

    names = (maps,) if isinstance(maps, str) else maps
    offered = (*method.maps, *layers_of(method))
    if in_slabs:
        offered = tuple(name for name in offered if name in MAPS_OF_SLABS)
    if not isinstance(names, Collection):
        raise InputError(f"`maps` must be names of maps, got {maps!r}.", setting="maps", got=maps)
    for name in names:
        if name not in offered:
            raise InputError(
                f"`maps` has {name!r}; this method computes {', '.join(offered) or 'none'}"
                f"{' in slabs' if in_slabs else ''}.",
                setting="maps",
                got=name,
            )
    return names


def _fuse_lazily(
    frames: Any,
    method: FusionMethod,
    *,
    method_name: str | None,
    hot_pixels: str,
    exposure: str,
    decide_channels: str,
    maps: Collection[str] | None,
    threads: int | None,
    max_memory: int | None,
) -> FusionResult:
    """Measure lazy frames now and return a result of Dask arrays."""
    from panfocus.tiling.dask_arrays import BlockFrames, lazy_channels, merge_lazily, run_lazily

    check_corrections(hot_pixels, exposure)
    blocks = BlockFrames(frames)
    _checks.frames_array(blocks)  # raises if they are no stack
    separate = separate_channels(decide_channels, blocks.shape)
    check_layers(maps, separate)

    def fuse_blocks(part: BlockFrames, maps: Collection[str] | None) -> FusionResult:
        corrections = Corrections.measure(part, hot_pixels=hot_pixels, exposure=exposure)
        result = run_lazily(method, part, corrections, maps=maps, max_memory=max_memory, threads=threads)
        return dataclasses.replace(result, report=corrections.report() | result.report)

    with limit_threads(threads):
        if separate:
            parts = [fuse_blocks(BlockFrames(channel), None) for channel in lazy_channels(frames)]
            result = keep_maps(merge_lazily(parts), maps)
        else:
            result = fuse_blocks(blocks, maps)
        report = _run_facts(method, method_name, blocks) | result.report
    return dataclasses.replace(result, report=report)


def _run_facts(method: FusionMethod, name: str | None, frames: Frames) -> dict[str, Any]:
    return {
        "panfocus": version("panfocus"),
        "method": name or type(method).__name__.lower(),
        "settings": _plain_settings(method),
        "frames": len(frames),
        "shape": list(frames.shape[1:]),
        "dtype": frames.dtype.name,
        **({"decide_channels": "together"} if frames.ndim == 4 else {}),
        "threads": thread_count(),
    }


def _refine_strength(strength: float | None) -> float:
    from panfocus.refine import PAPER_STRENGTH, check_strength

    strength = PAPER_STRENGTH if strength is None else strength
    check_strength(strength)
    return strength


def _refine(image: NDArray[Any], strength: float, progress: Progress) -> tuple[NDArray[Any], dict[str, Any]]:
    from panfocus.refine import refine_tv

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
