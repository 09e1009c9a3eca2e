"""One fusion of layers, in a thread apart from the viewer; it can be cancelled at any time."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from panfocus._checks import frames_array
from panfocus._progress import Progress
from panfocus._threads import cancellable
from panfocus.job.summary import fusion_lines
from panfocus.napari_plugin.layer_frames import Source
from panfocus.napari_plugin.settings_form import PLUGIN
from panfocus.result import FusionResult
from panfocus.stack import NO_METADATA, Frames, Stack

MAX_SHARES = 10  # shares of frames listed in the summary: the widget is narrow


class Cancelled(Exception):  # noqa: N818  # not an error
    """Raised in a fusion to cancel it."""


def fuse_source(
    source: Source,
    method: str,
    settings: dict[str, Any],
    *,
    align: str,
    hot_pixels: str,
    exposure: str,
    decide_channels: str,
    refine: bool,
    progress: Progress,
    check: Callable[[], None],
) -> tuple[FusionResult, list[str]]:
    """Fuse the frames of layers, with the options of the command; return the result and its summary.

    Lazy layers are read once, frame by frame, into a scratch file. `check` is called several times a second;
    it and `progress` may raise to cancel the fusion.
    """
    from panfocus.io.disk_array import scratch_allocator, scratch_frames
    from panfocus.methods import get_method
    from panfocus.pipeline import process_stack

    with ExitStack() as scratch, cancellable(check):
        frames: Frames = source.frames
        if not source.in_memory:
            frames = copy = scratch.enter_context(scratch_frames(frames.shape, frames.dtype))
            for k in range(len(frames)):
                progress("read", k / len(frames))
                copy[k] = source.frames[k]
        frames = frames_array(frames, source.names)  # raises if the frames cannot be fused
        metadata = replace(NO_METADATA, acquisition=source.acquisition)
        fusion = process_stack(
            Stack(frames, tuple(source.names), metadata=metadata),
            get_method(method, **settings),
            method_name=method,
            align=align,
            hot_pixels=hot_pixels,
            exposure=exposure,
            decide_channels=decide_channels,
            refine=refine,
            allocate=scratch_allocator(scratch),
            progress=progress,
        )
        result = fusion.result
        if source.place:
            result.report["position"] = source.place
        report = result.report if len(frames) <= MAX_SHARES else result.report | {"frame_shares": None}
        lines = (*fusion_lines(fusion.frames.shape, report), *fusion.stack.notices)
        return result, [PLUGIN.text(line) for line in lines]
