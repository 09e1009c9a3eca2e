"""Dask and Zarr arrays are fused only on demand, with the same bits as arrays in memory."""

import os
import platform
import re

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import panfocus as pf
from panfocus._checks import is_lazy
from panfocus.tiling.dask_arrays import BlockFrames

da = pytest.importorskip("dask.array")
zarr = pytest.importorskip("zarr")

MAPS = ("labels", "confidence", "depth", "never_in_focus")


@pytest.fixture(scope="module")
def frames():
    """Return three frames (500 x 410), each sharp in a third, with hot pixels; the last is brighter."""
    rng = np.random.default_rng(5)
    sharp = gaussian_filter(rng.random((500, 410)), 0.8)
    sharp = 0.1 + 0.7 * (sharp - sharp.min()) / np.ptp(sharp)
    soft = gaussian_filter(sharp, 3)
    stack = np.stack([soft] * 3)
    for k, cols in enumerate((slice(0, 140), slice(140, 270), slice(270, 410))):
        stack[k][:, cols] = sharp[:, cols]
    stack[2] *= 1.1
    stack = np.rint(stack * 40000).astype(np.uint16)
    stack[:, [100, 250, 251, 400], [20, 300, 140, 205]] = 65535
    stack[:, 330:333, 90:93] = 65535  # a cluster across chunks
    return stack


def assert_equal(lazy, eager):
    names = ("image", *MAPS)
    assert all(isinstance(getattr(lazy, name), da.Array) for name in names)
    computed = da.compute(*(getattr(lazy, name) for name in names))  # together: each tile is fused once
    for name, found in zip(names, computed, strict=True):
        promised, expected = getattr(lazy, name), getattr(eager, name)
        assert (promised.shape, promised.dtype) == (expected.shape, expected.dtype)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.fixture(scope="module")
def eager(frames):
    return pf.fuse(frames)


@pytest.mark.parametrize("chunks", [(1, 128, 100), (3, 500, 410)])
def test_dask_array_gives_the_same_bits_as_memory(frames, eager, chunks):
    assert eager.report["hot_pixels"]["fixed"] == 4
    assert eager.report["hot_pixels"]["clusters"] == 1
    assert eager.report["exposure"]["gains"] != [[1.0]] * 3
    lazy = pf.fuse(da.from_array(frames, chunks=chunks))
    assert_equal(lazy, eager)
    for name in ("hot_pixels", "exposure", "settings", "frames", "shape"):
        assert lazy.report[name] == eager.report[name]


def test_memory_and_threads_apply_to_one_tile(frames, eager, monkeypatch):
    array = da.from_array(frames, chunks=(1, 128, 128))
    lazy = pf.fuse(array, max_memory=24_000_000)
    assert lazy.report["threads"] == 1
    assert lazy.report["measured"]["scale"] == eager.report["scale"]
    monkeypatch.setattr("panfocus._threads.available_cores", lambda: 64)
    assert pf.fuse(array, max_memory=24_000_000).image.chunks == lazy.image.chunks


def test_list_of_lazy_frames_is_fused_lazily(frames, eager, tmp_path):
    arrays = [da.from_array(frame, chunks=200) for frame in frames]
    arrays[1] = zarr.create_array(tmp_path / "frame.zarr", data=frames[1], chunks=(64, 64))
    assert_equal(pf.fuse(arrays), eager)
    with pytest.raises(pf.InputError) as caught:
        pf.fuse([arrays[0], arrays[2].astype(np.uint8)])
    assert caught.value.facts["file"] == "frame 1"


def test_zarr_array_in_small_tiles_gives_the_same_bits(frames, eager, tmp_path):
    array = zarr.create_array(tmp_path / "stack.zarr", data=frames, chunks=(1, 64, 64))
    lazy = pf.fuse(array, max_memory=30_000_000, threads=2)
    assert lazy.image.npartitions >= 4
    assert_equal(lazy, eager)


def test_colour_and_other_methods_give_the_same_bits(frames):
    colour = np.stack([frames[:2, :90, :120], frames[:2, 90:180, :120], frames[:2, 180:270, :120]], axis=3)
    lazy = pf.fuse(da.from_array(colour, chunks=(1, 40, 50, 3)), "dwt", hot_pixels="off")
    expected = pf.fuse(colour, "dwt", hot_pixels="off")
    np.testing.assert_array_equal(lazy.image.compute(), expected.image)
    assert lazy.labels is None


def test_blocks_are_read_and_fused_only_on_demand(frames):
    read = []

    def load(block_info=None):
        place = block_info[None]["chunk-location"]
        read.append(place)
        spans = (slice(*span) for span in block_info[None]["array-location"])
        return frames[tuple(spans)]

    array = da.map_blocks(load, chunks=((1, 1, 1), (250, 250), (205, 205)), dtype=frames.dtype)
    read.clear()
    lazy = pf.fuse(array, hot_pixels="off", exposure="off", maps=())
    n_measured = len(read)
    assert n_measured <= 24  # each of the 12 at most twice: for its range and its scale
    np.testing.assert_array_equal(
        lazy.image.compute(), pf.fuse(frames, hot_pixels="off", exposure="off", maps=()).image
    )
    assert len(read) > n_measured


def test_block_frames_are_indexed_like_an_array(frames):
    blocks = BlockFrames(da.from_array(frames, chunks=((2, 1), (100, 399, 1), (300, 110))))
    assert is_lazy(blocks.array)
    assert not is_lazy(frames)
    np.testing.assert_array_equal(blocks[:], frames)
    np.testing.assert_array_equal(blocks[1, 90:500, 299:301], frames[1, 90:500, 299:301])
    np.testing.assert_array_equal(blocks[2], frames[2])


def test_samples_of_frames_in_one_block_are_read_together(rng, monkeypatch):
    """Of 5 frames in blocks of 3, a strip is read twice, not five times, although no block fits the cache."""
    monkeypatch.setattr("panfocus.tiling.dask_arrays.CACHE_BYTES", 4000)
    monkeypatch.setattr("panfocus.tiling.dask_arrays.SAMPLED", 200)
    pixels = rng.integers(0, 255, (5, 40, 50), np.uint8)
    read = []

    class Watched:
        shape, dtype, chunks = pixels.shape, pixels.dtype, (3, 40, 50)

        def __getitem__(self, key):
            read.append(key)
            return pixels[key]

    frames = BlockFrames(Watched(), sampled=True)
    for _ in range(2):
        for k in range(5):
            for top in (0, 36):
                part = frames[k, top : top + 4, 0:50]
                np.testing.assert_array_equal(part, pixels[k, top : top + 4])
                part[:] = 0  # the cache must not change
    assert len(read) == 4
    monkeypatch.setattr("panfocus.tiling.dask_arrays.SAMPLED", 1200)  # only one frame fits at a time
    np.testing.assert_array_equal(BlockFrames(Watched(), sampled=True)[:, 3:9], pixels[:, 3:9])
    assert len(read) == 4 + 5


@pytest.mark.parametrize(
    "options", [{"method": "pca"}, {"refine": True}, {"maps": ("votes",)}], ids=["method", "refine", "maps"]
)
def test_options_that_need_the_whole_image_are_rejected(frames, options):
    with pytest.raises(pf.InputError) as caught:
        pf.fuse(da.from_array(frames, chunks=(1, 250, 205)), hot_pixels="off", exposure="off", **options)
    assert caught.value.facts["setting"] in options


def test_frames_of_unknown_size_are_rejected(frames):
    array = da.from_array(frames, chunks=(1, 250, 205))
    with pytest.raises(pf.InputError) as caught:
        pf.fuse(array[array[:, 0, 0] > 0])
    assert caught.value.facts["setting"] == "frames"


def test_align_and_apply_reject_lazy_arrays(frames, eager):
    array = da.from_array(frames, chunks=(1, 250, 205))
    for step in (pf.align, lambda lazy: pf.apply(eager, lazy)):
        with pytest.raises(pf.InputError) as caught:
            step(array)
        assert caught.value.facts["setting"] == "frames"
    lazy = pf.fuse(array, hot_pixels="off", exposure="off")
    with pytest.raises(pf.InputError):
        pf.apply(lazy, frames)


def swapped_on_disk(frames, folder):
    room = np.memmap(folder / "frames", ">u2", "w+", shape=frames.shape)
    room[...] = frames
    return room


def swapped_zarr(frames, folder):
    array = zarr.create_array(
        folder / "z", shape=frames.shape, chunks=(1, 40, 40), dtype=">u2", zarr_format=2
    )
    array[...] = frames
    return array


OTHER_BYTE_ORDER = {
    "array": lambda frames, _: frames.astype(">u2"),
    "list": lambda frames, _: [frames[0], *frames[1:].astype(">u2")],
    "on disk": swapped_on_disk,
    "dask": lambda frames, _: da.from_array(frames.astype(">u2"), chunks=(1, 40, 40)),
    "zarr": swapped_zarr,
}


@pytest.mark.parametrize("kind", OTHER_BYTE_ORDER)
def test_byte_order_does_not_change_the_result(frames, eager, tmp_path, kind):
    result = pf.fuse(OTHER_BYTE_ORDER[kind](frames, tmp_path))
    assert result.image.dtype.isnative
    assert np.asarray(result.image).dtype == frames.dtype
    np.testing.assert_array_equal(result.image, eager.image)
    np.testing.assert_array_equal(result.labels, eager.labels)


def go_to(folder):
    os.chdir(folder)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Return a client of a cluster whose worker has another working folder than this process."""
    distributed = pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("elsewhere")
    options = {"dashboard_address": None, "local_directory": str(folder), "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options) as started,
        distributed.Client(started) as client,
    ):
        client.run(go_to, folder)
        yield client


@pytest.fixture
def relative(frames, tmp_path, monkeypatch):
    """Return a Zarr array with a relative path."""
    monkeypatch.chdir(tmp_path)
    zarr.create_array("stack.zarr", data=frames, chunks=(1, 128, 128))
    return zarr.open_array("stack.zarr", mode="r")


def test_workers_in_another_folder_read_the_same_zarr_array(elsewhere, relative, eager):
    assert_equal(pf.fuse(relative), eager)
    assert str(relative.store.root) == "stack.zarr"  # the caller's array is unchanged


def test_zarr_arrays_in_a_list_get_absolute_paths(elsewhere, frames, eager, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arrays = [zarr.create_array(f"{k}.zarr", data=frame, chunks=(64, 64)) for k, frame in enumerate(frames)]
    assert_equal(pf.fuse(arrays), eager)


@pytest.mark.parametrize("cut", [slice(None), slice(1, 3)])
def test_dask_array_of_a_folder_missing_on_a_worker_is_rejected(elsewhere, relative, cut):
    """Otherwise all its pixels would be the fill value there."""
    for array in (da.from_zarr(relative), da.from_array(relative, inline_array=True)):
        with pytest.raises(pf.FileError) as caught:
            pf.fuse(array[cut])
        assert caught.value.facts == {"file": "stack.zarr", "host": platform.node()}


def test_dask_array_with_absolute_path_is_accepted(elsewhere, relative, eager, tmp_path):
    assert_equal(pf.fuse(da.from_zarr(tmp_path / "stack.zarr")), eager)
    assert_equal(pf.fuse(da.from_zarr(zarr.open_array(tmp_path / "stack.zarr"))), eager)


def test_worker_that_misses_a_zarr_array_reports_it(elsewhere, relative, tmp_path):
    lazy = pf.fuse(relative)
    (tmp_path / "stack.zarr").rename(tmp_path / "hidden.zarr")  # as on a machine that has not mounted it
    with pytest.raises(pf.FileError, match=re.escape(str(tmp_path / "stack.zarr"))):
        lazy.image.compute()
