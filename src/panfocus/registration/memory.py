"""Memory that alignment needs in addition to the frames."""

from panfocus._threads import thread_count
from panfocus.registration._kernel_resample import MARGIN
from panfocus.registration.pair_alignment import SIDE, SMALL_SIDE
from panfocus.registration.pyramid import READ_ROWS, finest_level
from panfocus.registration.resample import TILE_COLS, TILE_ROWS
from panfocus.registration.stack_alignment import REACH
from panfocus.stack import Frames

ALL_LEVELS = 4 / 3  # size of a pyramid relative to its finest level
MATCH_BYTES = 64  # of a matched block: two positions and a precision
FIT_BYTES = 1000  # of a block during a fit: derivatives of up to 8 parameters, plain and weighted
LARGEST_SCALE = 1.7  # of a tile's source area per side, at the largest scale and rotation
TILE_COPIES = 3  # of a tile's source: as read, and the smallest and largest neighbours


def alignment_bytes(frames: Frames) -> int:
    """Return the bytes that finding and applying an alignment takes, without frames and compiled code."""
    return max(_registration_bytes(frames), _resampling_bytes(frames))


def _registration_bytes(frames: Frames) -> int:
    """Return the size of pyramids, of the bands they are made from, and of the matches of all pairs."""
    n_frames, height, width = frames.shape[:3]
    pixels = (height * width) >> (2 * finest_level((height, width)))
    row = frames[0][:1].nbytes
    pyramids = 4 * pixels * ((REACH + 1) * ALL_LEVELS + 1)  # one more level while contrast is measured
    blocks = pixels / SIDE**2 + pixels / (16 * SMALL_SIDE**2)
    matches = blocks * (REACH * n_frames * MATCH_BYTES + FIT_BYTES)
    return int(pyramids + thread_count() * READ_ROWS * row + matches)


def _resampling_bytes(frames: Frames) -> int:
    """Return the size of two frames (the new one and its neighbour) and of the tiles of all threads."""
    frame = frames[0]
    values = frame.size // (frame.shape[0] * frame.shape[1])
    working = 8 if frame.dtype.itemsize == 8 else 4
    source = (LARGEST_SCALE * TILE_ROWS + 2 * MARGIN) * (LARGEST_SCALE * TILE_COLS + 2 * MARGIN)
    tile = source * values * (TILE_COPIES * frame.dtype.itemsize + working)
    masks = 3 * frame.shape[0] * frame.shape[1]  # pixels that all frames show, and temporaries
    return int(2 * frame.nbytes + thread_count() * tile + masks)
