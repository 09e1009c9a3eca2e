"""Methods stay within the memory that `working_bytes` returns, which plans rely on."""

import dataclasses
import tracemalloc

import pytest
from test_all_methods import case_name, create, focus_stack

from panfocus._threads import limit_threads
from panfocus.methods import Surveyor, Tile, get_method, largest_tile

CASES = [
    ("coupled", {"stride": 2}),
    ("dsift", {}),
    ("dsift", {"refinement": "none"}),
    ("dwt", {}),
    ("log-energy", {}),
    ("max-projection", {}),
    ("panfocus", {}),
    ("panfocus", {"bright_field": "on"}),
    ("pca", {}),
    ("sr-cm", {"reconstruct": "codes", "stride": 4}),
    ("sr-fm", {"stride": 2}),
    ("variance", {}),
]
SMALL, LARGE = (200, 200), (400, 500)


def peak(case, n_frames, shape):
    """Return the peak memory of fusing a whole image, without the frames."""
    frames = focus_stack(n_frames, channels=3, shape=shape)
    with limit_threads(1):
        method = create(case)
        if isinstance(method, Surveyor):
            method = method.survey(frames)
        method.fuse(frames[:, : SMALL[0], : SMALL[1]], Tile.whole(SMALL))  # compile the kernels first
        tracemalloc.start()
        try:
            method.fuse(frames, Tile.whole(shape))
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("case", CASES, ids=case_name)
@pytest.mark.parametrize("n_frames", [2, 6])
def test_memory_grows_as_stated(case, n_frames):
    # Compare a small and a large image, so that constant parts such as dictionaries do not count.
    grown = peak(case, n_frames, LARGE) - peak(case, n_frames, SMALL)
    with limit_threads(1):
        large, small = (
            create(case).working_bytes(n_frames, 3, Tile.whole(shape)) for shape in (LARGE, SMALL)
        )
    stated = large - small
    assert stated / 8 < grown < stated


def test_memory_of_a_tile_of_soft_frames_is_as_stated():
    # The out-of-focus mask of soft frames has a wide halo, which is fused with the tile.
    frames = focus_stack(6, channels=3, shape=(760, 760))
    with limit_threads(1):
        method = dataclasses.replace(get_method("panfocus").survey(frames), scale=4)
        tile = largest_tile((760, 760), 64, method.halo)
        outer = frames[:, *tile.outer]
        method.fuse(outer, tile)  # compile the kernels first
        tracemalloc.start()
        try:
            method.fuse(outer, tile)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        stated = method.working_bytes(6, 3, tile)
    assert stated / 4 < peak < stated
