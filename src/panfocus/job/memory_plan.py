"""How a fusion will go about its work: where the frames are kept, how much memory and time it will take."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from panfocus.errors import NotEnoughMemoryError
from panfocus.job.byte_size import format_size

if TYPE_CHECKING:
    from panfocus.methods import FusionMethod
    from panfocus.stack import Frames

# Bytes, all measured. The program with its compiled code: 240 MB, on a first run 435 with the compiler.
PROGRAM = 440_000_000
DECODING = 2.5  # frames' sizes for each that is decoded: its file, the decoder's picture, ours
REDUCING = 2.0  # of the same, if it is then made smaller: sums of rows
ENCODED = {"labels": 10, "confidence": 8, "depth": 8, "never_in_focus": 2}  # a map's pixel, kept and written
REFINING = 136  # a value: the solver's image, gradients, multipliers and their transforms in float64

FREE_SHARE = 4  # without --max-memory a fusion takes at most the 4th part of what is free
# And no more than these bytes, or than tiles of so many halos take: more would hardly save time.
PLENTY, ENOUGH_HALOS = 1_340_000_000, 10
UNKNOWN_FREE = 8_000_000_000  # where the system does not tell

# Of one core, for a megapixel of one frame of photographs with default settings: measured, about.
SECONDS = {
    "coupled": 1.5,
    "dsift": 3.6,
    "dwt": 0.13,
    "panfocus": 0.15,
    "pca": 0.04,
    "sr-cm": 1.2,
    "sr-fm": 2.2,
    "sr-ksvd": 1.0,
}
FILE_SECONDS = 0.04  # for reading a megapixel of a frame
# For aligning a frame, and for each of its megapixels: frames that have to be moved.
ALIGN_SECONDS, ALIGN_MEGAPIXEL_SECONDS = 0.12, 0.135
REFINE_SECONDS = 3.0  # for a megapixel of the picture, by one core whatever there are


@dataclass(frozen=True)
class Plan:
    """Decisions that change no pixel, and what they are expected to cost."""

    in_memory: bool  # else the frames go through a scratch file
    decoded_at_once: int  # frames
    tile_memory: int  # bytes that tiles may take
    side: int | None  # of tiles, about; None: the whole image at once
    memory: int  # bytes at the peak, about
    seconds: float | None  # about; None if nobody has measured


@dataclass(frozen=True)
class _Needs:
    """Bytes that the steps of a fusion take, whatever is decided."""

    always: int  # the program, and what its method holds
    frames: int  # all of them, where they are held
    decoding: int  # a frame
    before: int  # the most that a step before the fusion takes: alignment, survey
    result: int  # the picture, once more as its file, and the maps

    def at_peak(self, *, tiles: int, in_memory: bool, decoded_at_once: int = 1) -> int:
        """Return the most that is taken at once, if tiles take so much."""
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
    reduced_from: int | None = None,
) -> Plan:
    """Plan the fusion of frames like these, blank ones will do, or say that memory does not suffice.

    `spans`: frames of each slab, if there are slabs. `reduced_from`: bytes of a frame in its file,
    if it is made smaller when it is read.
    """
    from panfocus._checks import blank
    from panfocus._threads import thread_count
    from panfocus.methods import Surveyor, Tile
    from panfocus.tiling import LEAST_SIDE, tile_bytes, tile_side, working_memory

    n_frames, height, width = frames.shape[:3]
    # Of slabs, one is worked on at a time; then all of their pictures.
    fused = blank((max(len(spans[0]), len(spans)), *frames.shape[1:]), frames.dtype) if spans else frames
    usual, worst = method.foreseen((height, width)) if isinstance(method, Surveyor) else (method, method)
    all_maps = {*maps, *(["labels"] if spans else [])}
    needs = _needs(method, frames, all_maps, refine=refine, align=align, reduced_from=reduced_from)
    if usual.halo is None or worst.halo is None:
        tiles = tile_bytes(method, fused, Tile.whole((height, width)))
        enough = least = needs.at_peak(tiles=tiles, in_memory=not spans)
    else:
        # What the frames turn out to need is known when they have been read: too late to refuse them.
        tiles = working_memory(worst, fused, LEAST_SIDE, halo=worst.halo, n_layers=n_layers)
        least = needs.at_peak(tiles=tiles, in_memory=False)
        large = working_memory(usual, fused, ENOUGH_HALOS * usual.halo, halo=usual.halo, n_layers=n_layers)
        enough = needs.at_peak(tiles=large, in_memory=False)
    limit = _limit(least, enough, max_memory)
    # Frames that would take more than a quarter of the room go to the disk, from where reading them takes
    # little: larger tiles save more.
    in_memory = (usual.halo is None and not spans) or (
        needs.frames <= (limit - needs.always - needs.result) // 4
        and needs.at_peak(tiles=tiles, in_memory=True) <= limit
    )
    left = limit - needs.always - (needs.frames if in_memory else 0)
    decoded_at_once = max(1, min(thread_count(), left // needs.decoding))
    tile_memory = left - needs.result
    side = None
    work = 1.0  # times that of the whole image at once
    if usual.halo is not None:
        side = tile_side(usual, fused, tile_memory, halo=usual.halo, n_layers=n_layers)
        tiles = working_memory(usual, fused, side, halo=usual.halo, n_layers=n_layers)
        work = (1 + 2 * usual.halo / side) ** 2
    n_fused = sum(map(len, spans)) + len(spans) if spans else n_frames
    return Plan(
        in_memory=in_memory,
        decoded_at_once=decoded_at_once,
        tile_memory=tile_memory,
        side=side,
        memory=needs.at_peak(tiles=tiles, in_memory=in_memory, decoded_at_once=decoded_at_once),
        seconds=_seconds(name, frames, n_fused, work, align=align, refine=refine),
    )


def _needs(
    method: "FusionMethod",
    frames: "Frames",
    maps: Collection[str],
    *,
    refine: bool,
    align: bool,
    reduced_from: int | None,
) -> _Needs:
    from panfocus.methods import Surveyor
    from panfocus.registration import alignment_bytes

    frame, pixels = frames[0].nbytes, frames.shape[1] * frames.shape[2]
    result = 2 * frame + pixels * sum(ENCODED[kept] for kept in maps)
    survey = frame + pixels * method.survey_bytes if isinstance(method, Surveyor) else 0
    return _Needs(
        always=PROGRAM + 4 * _count_atoms(method) ** 2,
        frames=len(frames) * frame,
        decoding=int((DECODING + REDUCING) * reduced_from if reduced_from else DECODING * frame),
        before=max(alignment_bytes(frames) if align else 0, survey),
        result=result + (REFINING * frames[0].size if refine else 0),
    )


def _limit(least: int, enough: int, max_memory: int | None) -> int:
    """Return the bytes that may be taken, or refuse if they do not suffice."""
    from panfocus._memory import free_memory

    free = free_memory() or UNKNOWN_FREE
    if max_memory is None:
        allowed, said = free, f"{format_size(free)} free; use"
    else:
        allowed, said = max_memory, f"{format_size(max_memory)} of --max-memory; allow more, or use"
    if least > allowed:
        raise NotEnoughMemoryError(
            f"about {format_size(least)} of memory would be needed, more than the {said} "
            "fewer or smaller frames",
            needed=least,
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
    """Count the atoms of all levels of a method's dictionary, if it has one."""
    dictionary = getattr(method, "dictionary", None)
    return dictionary.n_levels * dictionary.n_atoms if dictionary else 0
