"""Long stacks in slabs: fuse overlapping groups of frames, then fuse the resulting images."""

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from panfocus import _checks
from panfocus._progress import Progress
from panfocus.errors import InputError
from panfocus.result import FusionResult
from panfocus.stack import Allocate, Frames, slab_of

MAPS = ("labels", "depth", "never_in_focus")
_JOINED = ("labels", "depth")  # maps of the whole stack that are put together from those of the slabs
_PER_SLAB = ("noise", "scale")  # measurements that differ between slabs


class FuseFrames(Protocol):
    """Fuse prepared frames and return the given maps."""

    def __call__(self, frames: Frames, maps: Collection[str], progress: Progress, /) -> FusionResult:
        """Return the result for these frames, with these maps."""
        ...


def slab_spans(n_frames: int, size: int, overlap: int) -> tuple[range, ...]:
    """Divide a stack into slabs; the last one has full size too and may overlap more."""
    for number in (size, overlap):
        _checks.check_integer("slabs", number, at_least=0)
    if size < 2 or overlap >= size:
        raise InputError(
            f"`slabs`: SIZE must be at least 2 and OVERLAP smaller than SIZE, got {size}:{overlap}.",
            setting="slabs",
            got=(size, overlap),
        )
    if n_frames <= size:
        raise InputError(
            f"Slabs of {size} frames need a longer stack; it has only {n_frames} frames.",
            setting="slabs",
            got=size,
            needed=n_frames - 1,
        )
    step = size - overlap
    starts = [*range(0, n_frames - size, step), n_frames - size]
    return tuple(range(start, start + size) for start in starts)


def fuse_in_slabs(
    frames: Frames,
    size: int,
    overlap: int,
    fuse_frames: FuseFrames,
    *,
    maps: Collection[str] | None,
    allocate: Allocate,
    progress: Progress,
) -> FusionResult:
    """Fuse each slab, then their images; return the result for the whole stack.

    Labels and depth count the frames of the stack. `allocate` provides the arrays for the slab images and
    their maps. Without `maps` all are returned.
    """
    maps = MAPS if maps is None else maps
    spans = slab_spans(len(frames), size, overlap)
    joined = [name for name in _JOINED if name == "labels" or name in maps]
    images = allocate((len(spans), *frames.shape[1:]), frames.dtype)
    planes: dict[str, Any] = {}
    parts = []
    for s, span in enumerate(spans):

        def slab_progress(stage: str, done: float, slab: str = f"slab {s + 1} of {len(spans)}") -> None:
            progress(f"{stage} {slab}", done)

        started = time.perf_counter()
        part = fuse_frames(slab_of(frames, span), joined, slab_progress)
        images[s] = part.image
        for name in joined:
            if (plane := getattr(part, name)) is not None:
                if name not in planes:
                    planes[name] = allocate((len(spans), *plane.shape), plane.dtype)
                planes[name][s] = plane
        measured = {name: part.report[name] for name in _PER_SLAB if name in part.report}
        seconds = round(time.perf_counter() - started, 3)
        parts.append({"first": span.start, "last": span.stop - 1, **measured, "seconds": seconds})
    last = fuse_frames(images, ["labels", "never_in_focus"], progress)
    report = last.report | {"slabs": parts}
    report.pop("mean_confidence", None)
    whole = {}
    if last.labels is not None:
        whole = {name: _join(stacked, last.labels, spans) for name, stacked in planes.items()}
    if "labels" in whole:
        counts = np.bincount(whole["labels"].ravel(), minlength=len(frames))
        report["frame_shares"] = [round(int(count) / whole["labels"].size, 6) for count in counts]
    return replace(
        last,
        labels=whole.get("labels") if "labels" in maps else None,
        depth=whole.get("depth"),
        never_in_focus=last.never_in_focus if "never_in_focus" in maps else None,
        slabs=images,
        report=report,
    )


def _join(planes: Any, chosen: NDArray[Any], spans: Sequence[range]) -> NDArray[Any]:
    """Take each pixel of a map from the chosen slab, counted from the first frame of the stack."""
    first = planes[0]
    dtype = first.dtype if first.dtype.kind == "f" else np.min_scalar_type(spans[-1].stop - 1)
    whole = np.empty(first.shape, dtype)
    for s, span in enumerate(spans):
        here = chosen == s
        whole[here] = planes[s][here].astype(dtype) + dtype.type(span.start)
    return whole
