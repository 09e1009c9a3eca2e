"""Methods do not work with more memory than they say: plans rely on it."""

import dataclasses
import tracemalloc

import pytest
from test_all_methods import case_name, focus_stack, made

from panfocus._threads import limit_threads
from panfocus.methods import Surveyor, Tile, get_method, largest

CASES = [
    ("coupled", {"stride": 2}),
    ("dsift", {}),
    ("dsift", {"refinement": "none"}),
    ("dwt", {}),
    ("panfocus", {}),
    ("pca", {}),
    ("sr-cm", {"reconstruct": "codes", "stride": 2}),
    ("sr-fm", {"stride": 2}),
]
SMALL, LARGE = (200, 200), (400, 500)


def peak(case, n_frames, shape):
    """Bytes that fusing a whole image takes at its peak, beside the frames."""
    frames = focus_stack(n_frames, channels=3, shape=shape)
    with limit_threads(1):
        method = made(case)
        if isinstance(method, Surveyor):
            method = method.survey(frames)
        method.fuse(frames[:, : SMALL[0], : SMALL[1]], Tile.whole(SMALL))  # compiles all that is used
        tracemalloc.start()
        try:
            method.fuse(frames, Tile.whole(shape))
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("case", CASES, ids=case_name)
@pytest.mark.parametrize("n_frames", [2, 6])
def test_a_method_works_with_as_many_bytes_as_it_says(case, n_frames):
    """By the growth from a small image to a large one: what any image takes, as a dictionary, is no part."""
    grown = peak(case, n_frames, LARGE) - peak(case, n_frames, SMALL)
    with limit_threads(1):
        large, small = (made(case).working_bytes(n_frames, 3, Tile.whole(shape)) for shape in (LARGE, SMALL))
    said = large - small
    assert said / 8 < grown < said


def test_a_tile_of_soft_frames_takes_as_many_bytes_as_is_said():
    """Verdicts on a picture that is soft look at wide surroundings, which have to be fused with the tile."""
    frames = focus_stack(30, channels=3, shape=(760, 760))
    with limit_threads(1):
        method = dataclasses.replace(get_method("panfocus").survey(frames), scale=4)
        tile = largest((760, 760), 64, method.halo)
        outer = frames[:, *tile.outer]
        method.fuse(outer, tile)  # compiles all that is used
        tracemalloc.start()
        try:
            method.fuse(outer, tile)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        said = method.working_bytes(30, 3, tile)
    assert said / 4 < peak < said
