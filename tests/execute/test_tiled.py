"""Tiles: they cover the image once, and give what the whole image gives."""

import dataclasses
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import uniform_filter

from panfocus._threads import limit_threads
from panfocus.execute import run
from panfocus.methods import FusionResult, Tile, cover


@dataclasses.dataclass(frozen=True)
class Blurred:
    """The mean of 5 x 5 pixels around each of the first frame: halo 2."""

    maps: ClassVar = ("labels",)
    halo: int | None = 2

    def fuse(self, frames, tile):
        mean = uniform_filter(frames[0].astype(np.int64) * 25, 5, mode="nearest")
        return FusionResult(mean[tile.core].astype(frames.dtype), labels=mean[tile.core] % 7)


@settings(deadline=None)
@given(
    shape=st.tuples(st.integers(1, 60), st.integers(1, 60)), side=st.integers(1, 70), halo=st.integers(0, 9)
)
def test_tiles_cover_every_pixel_once_and_their_halos_reach_as_far_as_the_image(shape, side, halo):
    covered = np.zeros(shape, int)
    places = np.arange(covered.size).reshape(shape)
    for tile in cover(shape, side, halo):
        covered[tile.inner] += 1
        for inner, outer, length in zip(tile.inner, tile.outer, shape, strict=True):
            assert inner.stop - inner.start <= side
            assert outer == slice(max(0, inner.start - halo), min(length, inner.stop + halo))
        np.testing.assert_array_equal(places[tile.outer][tile.core], places[tile.inner])
    assert (covered == 1).all()


def test_tiles_of_one_image_differ_little_in_size():
    heights = {tile.inner[0].stop - tile.inner[0].start for tile in cover((521, 10), 320, 3)}
    assert heights == {260, 261}


@pytest.mark.parametrize("side", [1, 5, 8, 100, None])
def test_tiles_give_what_the_whole_image_gives(rng, side):
    frames = rng.integers(0, 256, (2, 23, 31), np.uint8)
    whole = Blurred().fuse(frames, Tile.whole((23, 31)))
    tiled = run(Blurred(), frames, side=side)
    np.testing.assert_array_equal(tiled.image, whole.image)
    np.testing.assert_array_equal(tiled.labels, whole.labels)


def test_a_halo_that_is_too_small_shows(rng):
    frames = rng.integers(0, 256, (2, 23, 31), np.uint8)
    whole = Blurred().fuse(frames, Tile.whole((23, 31)))
    assert (run(Blurred(halo=1), frames, side=8).image != whole.image).any()


@pytest.mark.parametrize(("halo", "side"), [(2, 320), (60, 480), (300, 1000)])
def test_tiles_grow_with_the_halo_up_to_a_limit(rng, halo, side):
    """With 8 halos a side, the halo is 9/16 of the work; of what is asked for, every thread holds one."""
    sizes = []

    class Recording(Blurred):
        def fuse(self, frames, tile):
            sizes.append(tile.inner[1].stop - tile.inner[1].start)
            return super().fuse(frames, tile)

    run(Recording(halo), rng.integers(0, 256, (2, 3, 4000), dtype=np.uint8))
    assert side / 1.2 < max(sizes) <= side


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_a_bit(rng, threads):
    frames = rng.integers(0, 256, (2, 40, 50), np.uint8)
    with limit_threads(threads):
        tiled = run(Blurred(), frames, side=9)
    np.testing.assert_array_equal(tiled.image, Blurred().fuse(frames, Tile.whole((40, 50))).image)


def test_a_method_without_a_halo_is_given_the_whole_image(rng):
    frames = rng.integers(0, 256, (2, 23, 31), np.uint8)
    result = run(Blurred(halo=None), frames, side=4)
    np.testing.assert_array_equal(result.image, Blurred().fuse(frames, Tile.whole((23, 31))).image)


@pytest.mark.parametrize("halo", [2, None])
def test_progress_rises_from_nothing_to_one(rng, halo):
    seen = []
    run(
        Blurred(halo=halo),
        rng.integers(0, 256, (2, 23, 31), np.uint8),
        lambda *call: seen.append(call),
        side=9,
    )
    assert {stage for stage, _ in seen} == {"fuse"}
    shares = [done for _, done in seen]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)


def test_an_error_in_a_callback_stops_the_work(rng):
    def stop(stage, done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Blurred(), rng.integers(0, 256, (2, 23, 31), np.uint8), stop)
