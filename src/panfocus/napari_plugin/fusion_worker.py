"""One fusion, in a thread beside the viewer's: read, align, fuse; it can be cancelled at any time."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from panfocus._checks import frames_array
from panfocus._progress import Progress
from panfocus._threads import ended_by
from panfocus.job.summary import fusion_lines
from panfocus.napari_plugin.layer_frames import Source
from panfocus.result import FusionResult
from panfocus.stack import NO_METADATA, Frames, LazyFrames, Stack

MOST_SHARES = 10  # of frames that are listed: the widget is narrow

Place = tuple[slice, slice]


class Cancelled(Exception):  # noqa: N818  # it is no error
    """Raised inside a fusion that is no longer wanted."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a fusion: the result, the part of the frames it shows, and what is to be said."""

    result: FusionResult
    area: Place
    said: tuple[str, ...]


class Watched(LazyFrames):
    """Frames that call `check` whenever they are read."""

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
    """Fuse the frames of layers.

    Those of lazy layers are read one at a time, each once, into a scratch file; aligned ones lie there too.
    `progress` and `check`, which is called whenever a frame is read and several times a second beside, may
    raise to end the fusion; the other options are those of the command line.
    """
    from panfocus.io.disk_array import scratch_frames
    from panfocus.job.runner import allocator
    from panfocus.methods import get_method
    from panfocus.pipeline import process_stack

    with ExitStack() as rooms, ended_by(check):
        frames: Frames = Watched(source.frames, check)
        if not source.in_memory:
            room = rooms.enter_context(scratch_frames(frames.shape, frames.dtype))
            for k in range(len(frames)):
                progress("read", k / len(frames))
                room[k] = frames[k]
            frames = Watched(room, check)
        frames = frames_array(frames, source.names)  # refuses what no step could use
        metadata = replace(NO_METADATA, acquisition=source.acquisition)
        fusion = process_stack(
            Stack(frames, tuple(source.names), metadata=metadata),
            get_method(method, **settings),
            method_name=method,
            align=align,
            hot_pixels=hot_pixels,
            exposure=exposure,
            refine=refine,
            allocate=allocator(rooms),
            progress=progress,
        )
        result = fusion.result
        area = slice(0, frames.shape[1]), slice(0, frames.shape[2])
        if source.place:
            result.report["position"] = source.place
        told = result.report if len(frames) <= MOST_SHARES else result.report | {"frame_shares": None}
        lines = fusion_lines(fusion.frames.shape, told)
        return Outcome(result, area, (*lines, *map(str, fusion.stack.notices)))
