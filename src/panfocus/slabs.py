"""Long stacks by slabs: overlapping parts are fused first, then the pictures that came of them."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus import _checks, pipeline
from panfocus._progress import Progress, silent
from panfocus._threads import limit_threads
from panfocus.errors import InputError
from panfocus.methods import DEFAULT_METHOD, FusionMethod, FusionResult
from panfocus.stack import Frames, slab_of
from panfocus.tiling import Allocate

COMPOSED = ("labels", "depth")  # maps of the slabs that make up those of the whole
JUDGED = "never_in_focus"  # told of the last picture


@dataclass(frozen=True)
class SlabFusion:
    """A stack that was fused by slabs.

    Attributes
    ----------
    result : FusionResult
        Of the whole: its labels and depth count the frames of the stack. It has no confidence: where slabs
        overlap either may be right.
    slabs : ndarray (m, h, w) or (m, h, w, c), or such pictures on disk
        What the slabs were fused to.
    spans : tuple of range
        Which frames each was fused from.
    """

    result: FusionResult
    slabs: Frames
    spans: tuple[range, ...]


def slab_spans(n_frames: int, size: int, overlap: int) -> tuple[range, ...]:
    """Cut so many frames into slabs; the last has the full size too, and overlaps by what that takes."""
    _checks.whole_number("the size of slabs", size, at_least=2)
    _checks.whole_number("the overlap of slabs", overlap, at_least=0, at_most=size - 1)
    if n_frames <= size:
        raise InputError(f"slabs of {size} frames: there are only {n_frames}; fuse them at once")
    step = size - overlap
    starts = [*range(0, n_frames - size, step), n_frames - size]
    return tuple(range(start, start + size) for start in starts)


def fuse_slabs(
    frames: ArrayLike | Sequence[ArrayLike] | Frames,
    size: int,
    overlap: int,
    method: str | FusionMethod = DEFAULT_METHOD,
    *,
    maps: Collection[str] = (*COMPOSED, JUDGED),
    allocate: Allocate = np.empty,
    progress: Progress = silent,
    hot_pixels: str = "auto",
    exposure: str = "auto",
    refine: bool = False,
    **options: Any,
) -> SlabFusion:
    """Fuse overlapping parts of a stack, then the pictures that come of them.

    Parameters
    ----------
    frames, method
        As of `fuse`.
    size, overlap : int
        Frames of a slab, and how many of them it shares with the next.
    maps : collection of str, optional
        Which to return, of `labels`, `depth` and `never_in_focus`; by default all that the method gives.
    allocate : callable, optional
        Called as `allocate(shape, dtype)` for room for the slabs and their maps; by default in memory.
    progress : callable, optional
        As of `fuse`; each slab is a stage.
    hot_pixels, exposure : str
        As of `fuse`, for the whole stack at once.
    refine : bool
        As of `fuse`; what is refined is the last picture.
    **options
        Others of `fuse`, and settings of the method.

    Returns
    -------
    SlabFusion
    """
    stack = _checks.frames_array(frames)
    spans = slab_spans(len(stack), size, overlap)
    composed = [name for name in COMPOSED if name == "labels" or name in maps]
    started = time.perf_counter()
    with limit_threads(options.get("threads")):
        stack, corrections = pipeline.corrected(stack, hot_pixels=hot_pixels, exposure=exposure)
    options |= {"hot_pixels": "off", "exposure": "off"}
    slabs = allocate((len(spans), *stack.shape[1:]), stack.dtype)
    of_slabs: dict[str, Any] = {}
    parts = []
    for s, span in enumerate(spans):

        def of_this(stage: str, done: float, slab: str = f"slab {s + 1} of {len(spans)}") -> None:
            progress(f"{stage} {slab}", done)

        fused = pipeline.fuse(slab_of(stack, span), method, maps=composed, progress=of_this, **options)
        slabs[s] = fused.image
        for name in composed:
            if (found := getattr(fused, name)) is not None:
                if name not in of_slabs:
                    of_slabs[name] = allocate((len(spans), *found.shape), found.dtype)
                of_slabs[name][s] = found
        parts.append({"first": span.start, "last": span.stop - 1} | _measured(fused.report))
    last = pipeline.fuse(slabs, method, maps=["labels", JUDGED], progress=progress, refine=refine, **options)
    whole = {
        name: _composed(planes, last.labels, spans)
        for name, planes in of_slabs.items()
        if last.labels is not None
    }
    report = last.report | corrections | {"frames": len(stack), "slabs": parts}
    report.pop("mean_confidence", None)
    if "labels" in whole:
        counts = np.bincount(whole["labels"].ravel(), minlength=len(stack))
        report["frame_shares"] = [round(int(count) / whole["labels"].size, 6) for count in counts]
    report["seconds"] = round(time.perf_counter() - started, 3)
    result = replace(
        last,
        labels=whole.get("labels") if "labels" in maps else None,
        depth=whole.get("depth"),
        never_in_focus=last.never_in_focus if JUDGED in maps else None,
        report=report,
    )
    return SlabFusion(result, slabs, spans)


def _composed(planes: Any, chosen: NDArray[Any], spans: Sequence[range]) -> NDArray[Any]:
    """Take each pixel from the slab (m, h, w) that is chosen there, counted from the stack's first frame."""
    first = planes[0]
    kind = first.dtype if first.dtype.kind == "f" else np.min_scalar_type(spans[-1].stop - 1)
    whole = np.empty(first.shape, kind)
    for s, span in enumerate(spans):
        here = chosen == s
        whole[here] = planes[s][here].astype(kind) + kind.type(span.start)
    return whole


def _measured(report: dict[str, Any]) -> dict[str, Any]:
    """Keep what was measured of a slab; its settings are those of the whole."""
    return {name: report[name] for name in ("noise", "scale", "seconds") if name in report}
