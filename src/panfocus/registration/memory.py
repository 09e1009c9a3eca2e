"""What alignment holds beside the frames themselves: as one frame is large, and little for each more."""

from panfocus._threads import thread_count
from panfocus.registration._kernel_resample import MARGIN
from panfocus.registration.pair_alignment import SIDE, SMALL_SIDE
from panfocus.registration.pyramid import READ_ROWS, finest_level
from panfocus.registration.resample import TILE_COLS, TILE_ROWS
from panfocus.registration.stack_alignment import REACH
from panfocus.stack import Frames

ALL_LEVELS = 4 / 3  # of the finest: each has a quarter of the one before
MATCH = 64  # bytes of a block that was found: two places and a precision
FITTING = 1000  # bytes of a block while a movement is fitted: what each of 8 parameters does, weighed
STEEPEST = 1.7  # times as long as a tile is what it looks at, each way: scale and rotation at most
LOOKED_AT = 3  # times a tile's values: as read, and the least and most around; besides the splines' float


def alignment_bytes(frames: Frames) -> int:
    """Return the most that finding and applying an alignment takes, frames and compiled code not counted."""
    return max(_registering(frames), _resampling(frames))


def _registering(frames: Frames) -> int:
    """Reduced frames, the bands that they are made from, and what was found in every pair."""
    n_frames, height, width = frames.shape[:3]
    pixels = (height * width) >> (2 * finest_level((height, width)))
    row = frames[0][:1].nbytes
    pyramids = 4 * pixels * ((REACH + 1) * ALL_LEVELS + 1)  # and one level while its contrast is measured
    blocks = pixels / SIDE**2 + pixels / (16 * SMALL_SIDE**2)
    found = blocks * (REACH * n_frames * MATCH + FITTING)
    return int(pyramids + thread_count() * READ_ROWS * row + found)


def _resampling(frames: Frames) -> int:
    """Two frames, the one that is made and the one before, and tiles."""
    frame = frames[0]
    values = frame.size // (frame.shape[0] * frame.shape[1])
    working = 8 if frame.dtype.itemsize == 8 else 4
    seen = (STEEPEST * TILE_ROWS + 2 * MARGIN) * (STEEPEST * TILE_COLS + 2 * MARGIN)
    tile = seen * values * (LOOKED_AT * frame.dtype.itemsize + working)
    masks = 3 * frame.shape[0] * frame.shape[1]  # what all frames show, for marked borders
    return int(2 * frame.nbytes + thread_count() * tile + masks)
