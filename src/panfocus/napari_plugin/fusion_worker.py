"""One fusion of layers, in a thread apart from the viewer; it can be cancelled at any time."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from panfocus._checks import frames_array
from panfocus._progress import Progress
from panfocus._threads import cancellable
from panfocus.job.summary import fusion_lines
from panfocus.napari_plugin.layer_frames import Source
from panfocus.napari_plugin.settings_form import PLUGIN
from panfocus.result import FusionResult
from panfocus.stack import NO_METADATA, Frames, LazyFrames, Stack

MAX_SHARES = 10  # shares of frames listed in the summary: the widget is narrow


class Cancelled(Exception):  # noqa: N818  # not an error
    """Raised in a fusion to cancel it."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of a fusion, and its summary."""

    result: FusionResult
    summary: tuple[str, ...]


class CheckedFrames(LazyFrames):
    """Frames that call `check` at every read."""

    def __init__(self, frames: Frames, check: Callable[[], None]) -> None:
        super().__init__(frames.shape, frames.dtype)
        self._frames = frames
        self._check = check

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        self._check()
        return self._frames[(k, *place)]


def fuse_source(
    source: Source,
    method: str,
    settings: dict[str, Any],
    *,
    align: str,
    hot_pixels: str,
    exposure: str,
    refine: bool,
    progress: Progress,
    check: Callable[[], None],
) -> Outcome:
    """Fuse the frames of layers, with the options of the command.

    Lazy layers are read once, frame by frame, into a scratch file. `check` is called at every read and
    several times a second; it and `progress` may raise to cancel the fusion.
    """
    from panfocus.io.disk_array import scratch_frames
    from panfocus.job.runner import allocator
    from panfocus.methods import get_method
    from panfocus.pipeline import process_stack

    with ExitStack() as scratch, cancellable(check):
        frames: Frames = CheckedFrames(source.frames, check)
        if not source.in_memory:
            copy = scratch.enter_context(scratch_frames(frames.shape, frames.dtype))
            for k in range(len(frames)):
                progress("read", k / len(frames))
                copy[k] = frames[k]
            frames = CheckedFrames(copy, check)
        frames = frames_array(frames, source.names)  # raises if the frames cannot be fused
        metadata = replace(NO_METADATA, acquisition=source.acquisition)
        fusion = process_stack(
            Stack(frames, tuple(source.names), metadata=metadata),
            get_method(method, **settings),
            method_name=method,
            align=align,
            hot_pixels=hot_pixels,
            exposure=exposure,
            refine=refine,
            allocate=allocator(scratch),
            progress=progress,
        )
        result = fusion.result
        if source.place:
            result.report["position"] = source.place
        report = result.report if len(frames) <= MAX_SHARES else result.report | {"frame_shares": None}
        lines = (*fusion_lines(fusion.frames.shape, report), *fusion.stack.notices)
        return Outcome(result, tuple(map(PLUGIN.text, lines)))
