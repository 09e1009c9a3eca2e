"""Memory plan of a fusion: where frames are stored, tile size, expected memory and time."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from panfocus.errors import InputError, NotEnoughMemoryError

if TYPE_CHECKING:
    from panfocus.methods import FusionMethod
    from panfocus.stack import Frames

# Bytes, all measured. The program with its compiled code takes 240 MB; a first run with the compiler, 435 MB.
PROGRAM = 440_000_000
DECODING = 2.5  # frame sizes per decoded frame: the file, the decoder's image and ours
REDUCING = 2.0  # further frame sizes if the frame is then reduced: sums of rows
ENCODED = {
    "labels": 10,
    "confidence": 8,
    "depth": 8,
    "never_in_focus": 2,
}  # per pixel of a map, held and encoded
REFINING = 136  # per value refined at once: image, gradients, multipliers and their transforms in float64

FREE_SHARE = 4  # without a limit, a fusion takes at most 1/4 of the free memory,
# and no more than these bytes, or than tiles of this many halos take: more would hardly save time.
PLENTY, ENOUGH_HALOS = 1_340_000_000, 10
UNKNOWN_FREE = 8_000_000_000  # assumed where the system does not report its free memory

# Seconds of one core per megapixel of one frame, for photographs with default settings (measured).
SECONDS = {
    "coupled": 1.5,
    "dsift": 3.6,
    "dwt": 0.13,
    "log-energy": 0.06,
    "max-projection": 0.01,
    "min-projection": 0.01,
    "panfocus": 0.15,
    "pca": 0.04,
    "sr-cm": 1.2,
    "sr-fm": 2.2,
    "sr-ksvd": 1.0,
    "variance": 0.045,
}
FILE_SECONDS = 0.04  # to read one megapixel of a frame
ALIGN_SECONDS, ALIGN_MEGAPIXEL_SECONDS = 0.12, 0.135  # to align a frame, and for each of its megapixels
REFINE_SECONDS = 3.0  # per megapixel of the image, on one core


@dataclass(frozen=True)
class MemoryPlan:
    """Decisions that change no pixel, and their expected cost."""

    in_memory: bool  # otherwise the frames are stored in a scratch file
    decoded_at_once: int  # frames
    tile_memory: int  # bytes that tiles may take
    side: int | None  # approximate side of a tile in pixels; None: the whole image at once
    memory: int  # expected peak in bytes
    seconds: float | None  # expected time; None for methods without measurements


def parse_size(text: str, setting: str = "max_memory") -> int:
    """Return the number of bytes in a size such as 500MB, 2GB, 1.5GiB or 4096."""
    match = re.fullmatch(r"(\d{1,18}(?:\.\d+)?)\s*(?:([kmgt])(i?))?b?", text.strip().lower())
    if not match:
        raise InputError(
            f"`{setting}` must be a size such as 500MB, 2GB or 1.5GiB, got {text!r}.",
            setting=setting,
            got=text,
        )
    number, prefix, binary = match.groups()
    unit: int = (1024 if binary else 1000) ** (" kmgt".index(prefix or " "))
    return int(float(number) * unit)


def format_size(size: int) -> str:
    """Return a size in megabytes for people."""
    return f"{size / 1e6:,.0f} MB"


@dataclass(frozen=True)
class _Needs:
    """Bytes that the steps of a fusion take under any plan."""

    always: int  # the program and the data of its method
    frames: int  # all frames, where they are held
    decoding: int  # one frame
    before: int  # the largest step before the fusion: alignment or survey
    result: int  # the image, its encoded file and the maps

    def at_peak(self, *, tiles: int, in_memory: bool, decoded_at_once: int = 1) -> int:
        """Return the peak if tiles take this many bytes."""
        held = self.frames if in_memory else 0
        return self.always + held + max(decoded_at_once * self.decoding, self.before, self.result + tiles)


def make_plan(
    name: str,
    method: "FusionMethod",
    frames: "Frames",
    *,
    maps: Collection[str],
    refine: bool,
    align: bool,
    max_memory: int | None,
    n_layers: int = 0,
    spans: Sequence[range] = (),
    n_separate: int = 0,
    reduced_from: int | None = None,
) -> MemoryPlan:
    """Plan the fusion of frames of this shape and type, or raise NotEnoughMemoryError.

    Parameters
    ----------
    name : str
        Name of the method, for the expected time.
    frames : Frames
        Frames of the right shape and type; their pixels are not read.
    spans : sequence of range
        The frames of each slab, if there are slabs.
    n_separate : int
        Number of channels that are fused one after another, as grey stacks; 0 if all are fused together.
    reduced_from : int, optional
        Bytes of a frame in its file, if frames are reduced when they are read.
    """
    from panfocus._checks import blank
    from panfocus._threads import thread_count
    from panfocus.methods import Surveyor, Tile
    from panfocus.tiling.tiled import MIN_PLANNED_SIDE, tile_bytes, tile_side, working_memory

    n_frames, height, width = frames.shape[:3]
    # One slab is processed at a time, then all slab images.
    n_at_once = max(len(spans[0]), len(spans)) if spans else n_frames
    fused = blank((n_at_once, *frames.shape[1 : 3 if n_separate else None]), frames.dtype)
    usual, worst = method.plan_surveys((height, width)) if isinstance(method, Surveyor) else (method, method)
    all_maps = {*maps, *(["labels"] if spans else [])}
    refined = fused[0].size if refine else 0
    needs = _needs(method, frames, all_maps, refined=refined, align=align, reduced_from=reduced_from)
    if usual.halo is None or worst.halo is None:
        tiles = tile_bytes(method, fused, Tile.whole((height, width)))
        enough = least = needs.at_peak(tiles=tiles, in_memory=not spans)
    else:
        # The real halo is known only after reading the frames, too late to refuse them: plan for the worst.
        tiles = working_memory(worst, fused, MIN_PLANNED_SIDE, halo=worst.halo, n_layers=n_layers)
        least = needs.at_peak(tiles=tiles, in_memory=False)
        useful = max(MIN_PLANNED_SIDE, ENOUGH_HALOS * usual.halo)
        large = working_memory(usual, fused, useful, halo=usual.halo, n_layers=n_layers)
        enough = needs.at_peak(tiles=large, in_memory=False)
    limit = _limit(least, enough, max_memory)
    # Frames above a quarter of the memory go to disk: reading them is cheap, and larger tiles save more.
    in_memory = (usual.halo is None and not spans) or (
        needs.frames <= (limit - needs.always - needs.result) // 4
        and needs.at_peak(tiles=tiles, in_memory=True) <= limit
    )
    left = limit - needs.always - (needs.frames if in_memory else 0)
    decoded_at_once = max(1, min(thread_count(), left // needs.decoding))
    tile_memory = left - needs.result
    side = None
    work = 1.0  # relative to processing the whole image at once
    if usual.halo is not None:
        side = tile_side(usual, fused, tile_memory, halo=usual.halo, n_layers=n_layers)
        tiles = working_memory(usual, fused, side, halo=usual.halo, n_layers=n_layers)
        work = (1 + 2 * usual.halo / side) ** 2
    n_fused = sum(map(len, spans)) + len(spans) if spans else n_frames
    return MemoryPlan(
        in_memory=in_memory,
        decoded_at_once=decoded_at_once,
        tile_memory=tile_memory,
        side=side,
        memory=needs.at_peak(tiles=tiles, in_memory=in_memory, decoded_at_once=decoded_at_once),
        seconds=_seconds(name, frames, n_fused * (n_separate or 1), work, align=align, refine=refine),
    )


def _needs(
    method: "FusionMethod",
    frames: "Frames",
    maps: Collection[str],
    *,
    refined: int,
    align: bool,
    reduced_from: int | None,
) -> _Needs:
    from panfocus.methods import Surveyor
    from panfocus.registration.alignment import alignment_bytes

    frame, pixels = frames[0].nbytes, frames.shape[1] * frames.shape[2]
    result = 2 * frame + pixels * sum(ENCODED[kept] for kept in maps)
    survey = frame + pixels * method.survey_bytes if isinstance(method, Surveyor) else 0
    return _Needs(
        always=PROGRAM + 4 * _count_atoms(method) ** 2,
        frames=len(frames) * frame,
        decoding=int((DECODING + REDUCING) * reduced_from if reduced_from else DECODING * frame),
        before=max(alignment_bytes(frames) if align else 0, survey),
        result=result + REFINING * refined,
    )


def _limit(least: int, enough: int, max_memory: int | None) -> int:
    """Return the number of bytes to use, or raise NotEnoughMemoryError."""
    from panfocus._memory import free_memory

    free = free_memory() or UNKNOWN_FREE
    allowed = free if max_memory is None else max_memory
    if least > allowed:
        limit = "are free" if max_memory is None else "are allowed by `max_memory`"
        raise NotEnoughMemoryError(
            f"The fusion needs about {format_size(least)} of memory, but {format_size(allowed)} {limit}.",
            hint="fewer_frames" if max_memory is None else "more_memory",
            needed=least,
            limit=allowed,
        )
    return max(min(free // FREE_SHARE, max(PLENTY, enough)), least) if max_memory is None else max_memory


def _seconds(
    name: str, frames: "Frames", n_fused: int, work_with_halos: float, *, align: bool, refine: bool
) -> float | None:
    from panfocus._threads import thread_count

    if name not in SECONDS:
        return None
    n_frames, height, width = frames.shape[:3]
    megapixels = height * width / 1e6
    of_cores = n_fused * megapixels * (work_with_halos * SECONDS[name] + FILE_SECONDS)
    if align:
        of_cores += n_frames * (ALIGN_SECONDS + megapixels * ALIGN_MEGAPIXEL_SECONDS)
    return of_cores / thread_count() + (megapixels * REFINE_SECONDS if refine else 0.0)


def _count_atoms(method: "FusionMethod") -> int:
    """Return the number of atoms of all levels of the method's dictionary, 0 without one."""
    dictionary = getattr(method, "dictionary", None)
    return dictionary.n_levels * dictionary.n_atoms if dictionary else 0
