"""One fusion, in a thread beside the viewer's: read, align, fuse; it can be cancelled at any time."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from panfocus._checks import frames_array
from panfocus._progress import Progress
from panfocus._threads import ended_by
from panfocus.errors import AlignmentError
from panfocus.job.alignment import ONLY_SHIFTS, alignment_report, model_for
from panfocus.job.messages import sentences_on
from panfocus.methods import FusionResult
from panfocus.napari_plugin.layer_frames import Source
from panfocus.stack import Frames, LazyFrames

if TYPE_CHECKING:
    from panfocus.registration import Alignment

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
    from panfocus.pipeline import fuse, repair_hot_pixels
    from panfocus.registration import apply_alignment

    with ExitStack() as rooms, ended_by(check):
        frames: Frames = Watched(source.frames, check)
        if not source.in_memory:
            room = rooms.enter_context(scratch_frames(frames.shape, frames.dtype))
            for k in range(len(frames)):
                progress("read", k / len(frames))
                room[k] = frames[k]
            frames = Watched(room, check)
        frames = frames_array(frames, source.names)  # refuses what no step could use
        area = slice(0, frames.shape[1]), slice(0, frames.shape[2])
        done: dict[str, Any] = {}
        said: tuple[str, ...] = ()
        if align != "off":
            frames, done = repair_hot_pixels(frames, hot_pixels)  # while pixels are still those of the sensor
            hot_pixels = "off"
            found, said = _found(frames, align, source, progress)
            done |= {"alignment": alignment_report(found)}
            if found.model != "none":
                room = rooms.enter_context(scratch_frames(frames.shape, frames.dtype))
                apply_alignment(found, frames, room, progress=progress)
                frames = Watched(room, check)
        result = fuse(
            frames,
            method,
            hot_pixels=hot_pixels,
            exposure=exposure,
            refine=refine,
            progress=progress,
            **settings,
        )
        result.report.update(done)
        if source.place:
            result.report["position"] = source.place
        told = result.report if len(frames) <= MOST_SHARES else result.report | {"frame_shares": None}
        return Outcome(result, area, (*sentences_on(frames.shape, told), *said))


def _found(
    frames: Frames, align: str, source: Source, progress: Progress
) -> "tuple[Alignment, tuple[str, ...]]":
    """Return how frames are to be moved, and what to say of it."""
    from panfocus.registration import check_aligned, find_alignment

    model = model_for(align, source.acquisition, frames.shape)
    by_shifts = [f"{ONLY_SHIFTS}; align=similarity allows scale and rotation"] if model != align else []
    found = find_alignment(frames, model, progress=progress)
    try:
        check_aligned(found, frames, source.names)
    except AlignmentError as error:
        told = "; ".join([str(error), "leave it out, or fuse with align=off", *by_shifts])
        raise AlignmentError(told, **error.facts) from error
    return found, (*found.notices(source.names), *by_shifts)
