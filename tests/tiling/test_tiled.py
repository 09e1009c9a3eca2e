"""Tiles cover the image once, and give the same bits as the whole image."""

import dataclasses
import time
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import uniform_filter

from panfocus._threads import limit_threads, thread_count
from panfocus.errors import NotEnoughMemoryError
from panfocus.methods import Tile, cover
from panfocus.result import FusionResult
from panfocus.tiling.tiled import run_method, tile_bytes


@dataclasses.dataclass(frozen=True)
class Blurred:
    """Mean of 5 x 5 pixels of the first frame: halo 2."""

    maps: ClassVar = ("labels",)
    uses_all_threads: ClassVar = False
    halo: int | None = 2

    def working_bytes(self, n_frames, n_channels, tile):
        return 30 * tile.pixels

    def fuse(self, frames, tile):
        mean = uniform_filter(frames[0].astype(np.int64) * 25, 5, mode="nearest")
        return FusionResult(mean[tile.core].astype(frames.dtype), labels=mean[tile.core] % 2)


@settings(deadline=None)
@given(
    shape=st.tuples(st.integers(1, 60), st.integers(1, 60)), side=st.integers(1, 70), halo=st.integers(0, 9)
)
def test_tiles_cover_every_pixel_once_with_halos_inside_the_image(shape, side, halo):
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
def test_tiles_give_the_same_bits_as_the_whole_image(rng, side):
    frames = rng.integers(0, 256, (2, 23, 31), np.uint8)
    whole = Blurred().fuse(frames, Tile.whole((23, 31)))
    tiled = run_method(Blurred(), frames, side=side)
    np.testing.assert_array_equal(tiled.image, whole.image)
    np.testing.assert_array_equal(tiled.labels, whole.labels)


def test_halo_that_is_too_small_changes_the_result(rng):
    frames = rng.integers(0, 256, (2, 23, 31), np.uint8)
    whole = Blurred().fuse(frames, Tile.whole((23, 31)))
    assert (run_method(Blurred(halo=1), frames, side=8).image != whole.image).any()


@pytest.mark.parametrize(("halo", "side"), [(2, 320), (60, 900), (300, 2000)])
def test_tiles_grow_with_the_halo_up_to_a_limit(rng, halo, side):
    """With 15 halos per side, tiles take (17/15)**2 of the work: 28 % more."""
    sizes = []

    class Recording(Blurred):
        def fuse(self, frames, tile):
            sizes.append(tile.inner[1].stop - tile.inner[1].start)
            return super().fuse(frames, tile)

    run_method(Recording(halo), rng.integers(0, 256, (2, 3, 8000), dtype=np.uint8))
    assert side / 1.2 < max(sizes) <= side


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_the_result(rng, threads):
    frames = rng.integers(0, 256, (2, 40, 50), np.uint8)
    with limit_threads(threads):
        tiled = run_method(Blurred(), frames, side=9)
    np.testing.assert_array_equal(tiled.image, Blurred().fuse(frames, Tile.whole((40, 50))).image)


def test_method_without_halo_gets_the_whole_image(rng):
    frames = rng.integers(0, 256, (2, 23, 31), np.uint8)
    result = run_method(Blurred(halo=None), frames, side=4)
    np.testing.assert_array_equal(result.image, Blurred().fuse(frames, Tile.whole((23, 31))).image)


@pytest.mark.parametrize("halo", [2, None])
def test_progress_rises_from_0_to_1(rng, halo):
    seen = []
    run_method(
        Blurred(halo=halo),
        rng.integers(0, 256, (2, 23, 31), np.uint8),
        lambda *call: seen.append(call),
        side=9,
    )
    assert {stage for stage, _ in seen} == {"fuse"}
    shares = [done for _, done in seen]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)


def test_error_in_a_callback_stops_the_work(rng):
    def stop(stage, done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_method(Blurred(), rng.integers(0, 256, (2, 23, 31), np.uint8), stop)


@pytest.mark.parametrize("halo", [2, None])
def test_watcher_gets_every_pixel_once(rng, halo):
    seen = np.zeros((23, 31), int)
    labels = np.full((23, 31), -1)

    def watch(rows, cols, part):
        seen[rows, cols] += 1
        labels[rows, cols] = part.labels

    frames = rng.integers(0, 256, (2, 23, 31), np.uint8)
    result = run_method(Blurred(halo=halo), frames, side=9, watch=watch)
    np.testing.assert_array_equal(seen, 1)
    np.testing.assert_array_equal(labels, result.labels)


@dataclasses.dataclass(frozen=True)
class Busy(Blurred):
    """One that uses all threads itself; it records how many there are, and how many tiles are at work."""

    uses_all_threads: ClassVar = True
    threads: list = dataclasses.field(default_factory=list)
    at_work: set = dataclasses.field(default_factory=set)

    def fuse(self, frames, tile):
        assert not self.at_work
        self.at_work.add(tile.inner[0].start)
        time.sleep(0.001)
        self.threads.append(thread_count())
        self.at_work.clear()
        return super().fuse(frames, tile)


def test_method_that_uses_all_threads_runs_one_tile_at_a_time(rng):
    frames = rng.integers(0, 256, (2, 40, 50), np.uint8)
    method = Busy()
    with limit_threads(3):
        result = run_method(method, frames, side=9)
    assert set(method.threads) == {3}
    np.testing.assert_array_equal(result.image, Blurred().fuse(frames, Tile.whole((40, 50))).image)


def test_concurrent_tiles_fit_into_memory(rng):
    """Blurred works with 30 bytes a pixel, beside two frames of one: 32 in all, for each of two threads."""
    frames = rng.integers(0, 256, (2, 300, 400), np.uint8)
    outer = []

    class Recording(Blurred):
        def fuse(self, frames, tile):
            outer.append(frames[0].size)
            return super().fuse(frames, tile)

    assert tile_bytes(Blurred(), frames, Tile.whole((2, 5))) == 320
    assert tile_bytes(Blurred(), frames.astype(np.float64), Tile.whole((2, 5))) == 10 * (2 * 30 + 2 * 8)
    expected = Blurred().fuse(frames, Tile.whole((300, 400)))
    with limit_threads(2):
        result = run_method(Recording(), frames, max_memory=2 * 32 * 10_000)
    assert 5_000 < max(outer) <= 10_000
    np.testing.assert_array_equal(result.image, expected.image)
    with limit_threads(2), pytest.raises(NotEnoughMemoryError) as caught:
        run_method(Blurred(halo=200), frames, max_memory=10**6)
    assert caught.value.facts["got"] == 10**6
    with limit_threads(2):
        run_method(Blurred(halo=200), frames, max_memory=caught.value.facts["needed"])


def test_omitted_maps_are_still_counted(rng):
    frames = rng.integers(0, 256, (2, 23, 31), np.uint8)
    for halo in (2, None):
        every, none = (
            run_method(Blurred(halo), frames, side=8),
            run_method(Blurred(halo), frames, maps=(), side=8),
        )
        assert every.labels is not None
        assert none.labels is None
        np.testing.assert_array_equal(none.image, every.image)
        assert none.report == every.report
        shares = np.bincount(every.labels.ravel()) / every.labels.size
        assert every.report["frame_shares"] == pytest.approx(shares, abs=1e-6)


def test_statistics_do_not_depend_on_tiles(rng):
    frames, confidence = rng.integers(0, 256, (2, 23, 31), np.uint8), rng.random((23, 31), np.float32)

    class Sure(Blurred):
        maps: ClassVar = ("confidence", "never_in_focus")

        def fuse(self, frames, tile):
            part = confidence[tile.inner]
            return FusionResult(frames[0][tile.core], confidence=part, never_in_focus=part < 0.3)

    reports = [run_method(Sure(), frames, side=side).report for side in (1, 7, 100)]
    assert reports[0] == reports[1] == reports[2]
    assert reports[0] == {
        "mean_confidence": pytest.approx(confidence.mean(dtype=float), abs=1e-6),
        "never_in_focus_share": pytest.approx(np.mean(confidence < 0.3), abs=1e-6),
    }


class OnDisk:
    """An array that is not one: it knows its shape and can be indexed, as those of zarr and h5py."""

    def __init__(self, array):
        self._array, self.shape, self.dtype, self.ndim = array, array.shape, array.dtype, array.ndim
        self.largest = 0

    def __len__(self):
        return len(self._array)

    def __iter__(self):
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key):
        part = self._array[key]
        self.largest = max(self.largest, part.size)
        return part.copy()


def test_frames_on_disk_are_read_in_parts(rng, tmp_path):
    frames = rng.integers(0, 256, (5, 90, 110), np.uint8)
    lazy = OnDisk(frames)
    expected = run_method(Blurred(), frames)
    np.testing.assert_array_equal(run_method(Blurred(), lazy, side=20).image, expected.image)
    assert lazy.largest <= 5 * 24 * 24
    mapped = np.memmap(tmp_path / "frames", np.uint8, "w+", shape=frames.shape)
    mapped[:] = frames
    np.testing.assert_array_equal(run_method(Blurred(), mapped, side=20).image, expected.image)
