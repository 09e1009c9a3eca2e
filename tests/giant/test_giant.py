"""Stores fused tile by tile by processes: the same bits as `fuse` of the whole, and nothing half."""

import os
import pickle
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import panfocus as pf
from panfocus.giant import plan
from panfocus.giant.folder import Task
from panfocus.giant.plan import rectangles
from panfocus.giant.prepare import prepare
from panfocus.giant.run import run
from panfocus.io.ome_zarr import read_ome_zarr
from panfocus.job.outputs import Outputs
from panfocus.job.request import Request
from panfocus.show.pyramid import halved

zarr = pytest.importorskip("zarr")
pytest.importorskip("ome_zarr")
tifffile = pytest.importorskip("tifffile")


def panfocus(*arguments, check=True):
    done = subprocess.run(
        [sys.executable, "-m", "panfocus", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def small_tiles(monkeypatch):
    """Chunks of 128 pixels, and tiles of two each way, as of images that are far larger."""
    monkeypatch.setattr(plan, "CHUNKS", (128,))
    monkeypatch.setattr(plan, "LARGEST_SIDE", 256)
    monkeypatch.setattr(plan, "LOOKED_AT", 200)  # a chunk of the store: parts end where others begin


class Quiet:
    """A listener that keeps what it is told."""

    def __init__(self):
        self.said = []

    def say(self, line):
        self.said.append(line)

    warn = say

    def progress(self, stage, done):
        pass

    def finish(self):
        pass


def fuse_store(store, outputs, *, decisions="shared", scheduler=None, listener=None, **options):
    """Fuse a store by processes, or a cluster; return the report."""
    request = Request(inputs=(str(store),), outputs=Outputs(**outputs), threads=2, **options)
    job = prepare(request, decisions=decisions, force=False)
    return run(job, listener or Quiet(), force=False, scheduler=scheduler)


def levels(path):
    group = zarr.open_group(path, mode="r")
    return [np.asarray(group[str(i)]) for i in range(len(group.attrs["ome"]["multiscales"][0]["datasets"]))]


def test_a_store_is_fused_to_the_bits_of_the_whole_image(tmp_path, store, slices, small_tiles):
    expected = pf.fuse(slices)
    assert expected.report["hot_pixels"]["fixed"] == 4
    assert expected.report["exposure"]["gains"] != [[1.0]] * 3
    out = {name: tmp_path / f"{name}.ome.zarr" for name in ("image", "labels", "confidence", "depth")}
    out["never_in_focus"] = tmp_path / "never.ome.zarr"
    told = fuse_store(store, out)["units"][0]
    assert (told["tile"], told["tiles"]) == (256, 9)
    for name in (
        "frame_shares",
        "mean_confidence",
        "never_in_focus_share",
        "hot_pixels",
        "exposure",
        "noise",
    ):
        assert told[name] == expected.report[name]
    for name, path in out.items():
        whole = getattr(expected, name)
        if name == "depth":
            whole = whole * np.float32(2)  # slices are 2 micrometers apart; exact in binary
        if name == "never_in_focus":
            whole = whole * np.uint8(255)
        found = levels(path)
        np.testing.assert_array_equal(found[0], whole)
        how = {"labels": "nearest", "never_in_focus": "any"}.get(name, "mean")
        np.testing.assert_array_equal(found[1], halved(whole, how))
    assert sorted(path.name for path in tmp_path.iterdir() if "part" in path.name) == []


def test_the_result_opens_with_ome_zarr_scale_intact(tmp_path, store):
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    panfocus("fuse", store, "-o", tmp_path / "out.ome.zarr", "--hot-pixels", "off")
    (node,) = Reader(parse_url(str(tmp_path / "out.ome.zarr")))()
    assert [axis["name"] for axis in node.metadata["axes"]] == ["y", "x"]
    assert [axis["unit"] for axis in node.metadata["axes"]] == ["micrometer"] * 2
    assert node.metadata["coordinateTransformations"][0][0]["scale"] == [0.5, 0.25]
    assert [level.shape for level in node.data] == [(700, 610), (350, 305)]


@pytest.fixture
def channels(tmp_path, slices):
    """Two time points of two channels, 0.5, whose channels are sharp in different slices; and the pixels."""
    from ome_zarr.writer import write_image

    part = slices[:, :300, :280]
    pixels = np.stack([np.stack([part, part[::-1] // 2]), np.stack([part[:, ::-1], part[::-1, ::-1] // 3])])
    write_image(
        pixels,
        str(tmp_path / "channels.ome.zarr"),
        axes="tczyx",
        scale_factors=(),
        scale={"t": 3.0, "c": 1.0, "z": 1.0, "y": 0.5, "x": 0.5},
        axes_units={"t": "second", **dict.fromkeys("zyx", "micrometer")},
    )
    group = zarr.open_group(tmp_path / "channels.ome.zarr")
    shown = [
        {"label": name, "color": "00FF00", "window": {"start": 0, "end": 9, "min": 0, "max": 9}}
        for name in "ab"
    ]
    group.attrs["ome"] = {**group.attrs["ome"], "omero": {"channels": shown}}
    return tmp_path / "channels.ome.zarr", pixels


def test_channels_share_a_decision_or_have_their_own_at_every_time(tmp_path, channels):
    path, pixels = channels
    fuse_store(path, {"image": tmp_path / "shared.ome.zarr", "labels": tmp_path / "one.ome.zarr"})
    fuse_store(
        path, {"image": tmp_path / "each.ome.zarr", "labels": tmp_path / "own.ome.zarr"}, decisions="each"
    )
    (shared,), (one,) = levels(tmp_path / "shared.ome.zarr"), levels(tmp_path / "one.ome.zarr")
    (each,), (own,) = levels(tmp_path / "each.ome.zarr"), levels(tmp_path / "own.ome.zarr")
    assert (shared.shape, one.shape, each.shape, own.shape) == (
        (2, 2, 300, 280),
        (2, 300, 280),
        (2, 2, 300, 280),
        (2, 2, 300, 280),
    )
    for t in range(2):
        # As channels of a microscope's TIFF: with a third, blank one, or the second would be alpha.
        beside = np.stack([pixels[t, 0], pixels[t, 1], np.zeros_like(pixels[t, 0])], axis=3)
        whole = pf.fuse(beside)
        np.testing.assert_array_equal(np.moveaxis(shared[t], 0, 2), whole.image[..., :2])
        np.testing.assert_array_equal(one[t], whole.labels)
        for c in range(2):
            alone = pf.fuse(pixels[t, c])
            np.testing.assert_array_equal(each[t, c], alone.image)
            np.testing.assert_array_equal(own[t, c], alone.labels)
    told = zarr.open_group(tmp_path / "shared.ome.zarr").attrs["ome"]
    assert [axis["name"] for axis in told["multiscales"][0]["axes"]] == ["t", "c", "y", "x"]
    assert told["multiscales"][0]["datasets"][0]["coordinateTransformations"][0]["scale"] == [3, 1, 0.5, 0.5]
    assert [channel["label"] for channel in told["omero"]["channels"]] == ["a", "b"]


def test_a_tiled_ome_tiff_is_written_too(tmp_path, channels, slices):
    path, pixels = channels
    fuse_store(path, {"image": tmp_path / "out.ome.tif"}, time=1, decisions="each")
    with tifffile.TiffFile(tmp_path / "out.ome.tif") as tiff:
        assert tiff.series[0].axes == "CYX"
        assert tiff.pages[0].is_tiled
        assert 'PhysicalSizeX="0.5" PhysicalSizeXUnit="µm"' in tiff.ome_metadata
        assert 'Name="b"' in tiff.ome_metadata
        found = tiff.asarray()
    np.testing.assert_array_equal(found[0], pf.fuse(pixels[0, 0]).image)
    np.testing.assert_array_equal(found[1], pf.fuse(pixels[0, 1]).image)


def test_a_run_that_was_cut_off_goes_on_and_does_nothing_twice(tmp_path, store, slices, small_tiles):
    class Impatient(Quiet):
        def progress(self, stage, done):
            if stage == "fuse" and done > 0.3:
                raise KeyboardInterrupt

    out, part = tmp_path / "out.ome.zarr", tmp_path / "out.ome.zarr.part"
    with pytest.raises(KeyboardInterrupt):
        fuse_store(store, {"image": out}, listener=Impatient())
    assert not out.exists()
    assert 3 <= len(list(part.glob("done-fuse-*"))) < 9
    # What is done is not done again: its chunks, made blank here, stay so.
    zarr.open_array(part / "image.ome.zarr" / "0")[:256, :256] = 0
    fuse_store(store, {"image": out})
    expected = pf.fuse(slices).image.copy()
    expected[:256, :256] = 0
    np.testing.assert_array_equal(levels(out)[0], expected)
    assert not part.exists()


def test_other_settings_begin_anew_and_say_so(tmp_path, channels, slices):
    path, pixels = channels
    part = tmp_path / "out.ome.zarr.part"
    part.mkdir()
    (part / "plan.json").write_text("{}")
    (part / "done-fuse-0-0-0.json").write_text("{}")
    options = {"hot_pixels": "off", "exposure": "off", "channel": 2, "time": 2}
    fuse_store(path, {"image": tmp_path / "out.ome.zarr"}, listener=(listener := Quiet()), **options)
    assert "begins anew" in listener.said[0]
    (found,) = levels(tmp_path / "out.ome.zarr")
    np.testing.assert_array_equal(found[0, 0], pf.fuse(pixels[1, 1], hot_pixels="off", exposure="off").image)
    told = zarr.open_group(tmp_path / "out.ome.zarr").attrs["ome"]
    assert [channel["label"] for channel in told["omero"]["channels"]] == ["b"]
    assert told["multiscales"][0]["datasets"][0]["coordinateTransformations"][1]["translation"] == [
        3,
        0,
        0,
        0,
    ]


def test_a_strangers_folder_is_left_alone(tmp_path, store):
    part = tmp_path / "out.ome.zarr.part"
    part.mkdir()
    (part / "thesis.txt").write_text("years")
    with pytest.raises(pf.FileError, match="is in the way"):
        fuse_store(store, {"image": tmp_path / "out.ome.zarr"})
    assert (part / "thesis.txt").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"refine": True}, "--refine: stores are fused tile by tile"),
        ({"align": "affine"}, "--align affine: slices of a store are fused as they lie"),
        ({"method": "pca"}, "--method pca: it needs the whole image at once"),
        ({"method": "dwt", "labels": Path("l.ome.zarr")}, "the method dwt gives no labels"),
        ({"sweep": Path("walk.webp")}, "--sweep: stores are fused tile by tile"),
        ({"steps": Path("steps")}, "--save-steps: stores are fused tile by tile"),
        ({"decisions": "some"}, "--decisions must be one of shared, each"),
        ({"channel": 2}, "it has 1 channels; --channel 2 is none of them"),
        ({"max_memory": "100MB"}, "of memory would be needed for each worker"),
        ({"image": Path("out.png")}, "its name ends in .ome.zarr, or .ome.tif"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(tmp_path, store, options, complaint, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outputs = {"image": Path("out.ome.zarr")}
    outputs |= {name: path for name, path in options.items() if isinstance(path, Path)}
    with pytest.raises(pf.InputError, match=re.escape(complaint)) as caught:
        fuse_store(store, outputs, **{k: v for k, v in options.items() if k not in outputs})
    assert "\n" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stack.ome.zarr"]


def test_an_output_is_not_overwritten_and_no_input_is(tmp_path, store):
    request = Request(inputs=(str(store),), outputs=Outputs(image=store))
    with pytest.raises(pf.FileError, match="is one of the inputs"):
        prepare(request, decisions="shared", force=True)
    mine = tmp_path / "photos.zarr"
    mine.mkdir()
    request = Request(inputs=(str(store),), outputs=Outputs(image=mine))
    with pytest.raises(pf.FileError, match="exists already"):
        prepare(request, decisions="shared", force=False)
    with pytest.raises(pf.FileError, match="is no Zarr store"):
        prepare(request, decisions="shared", force=True)


def test_a_damaged_chunk_is_named_and_nothing_appears(tmp_path, store):
    pixels = store / read_ome_zarr(store).array
    chunk = next(path for path in sorted(pixels.rglob("*")) if path.is_file() and path.name[0] != ".")
    chunk.write_bytes(b"\xff" * 9)
    done = panfocus("fuse", store, "-o", tmp_path / "out.ome.zarr", check=False)
    assert done.returncode == 1
    assert "stack.ome.zarr: " in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.ome.zarr").exists()


def test_floats_that_are_no_numbers_are_refused(tmp_path):
    pixels = np.random.default_rng(0).random((2, 90, 80)).astype(np.float32)
    pixels[1, 50, 60] = np.nan
    zarr.create_array(tmp_path / "plain.zarr", data=pixels, chunks=(1, 32, 32))
    with pytest.raises(pf.InputError, match="slice 2 holds NaN or infinite values"):
        fuse_store(tmp_path / "plain.zarr", {"image": tmp_path / "out.zarr"}, hot_pixels="off")


def test_tasks_are_small_and_rectangles_cover_an_image_once():
    task = Task("/a/long/path/to/a/folder.part", "0123456789abcdef", "fuse", 3, (0, 2048), (2048, 4096))
    assert len(pickle.dumps(task)) < 500
    seen = np.zeros((70, 50), int)
    for region in rectangles((70, 50), 32):
        seen[region] += 1
    assert (seen == 1).all()


def test_a_cluster_gives_the_same_bits_though_a_worker_is_killed(tmp_path, store, slices, small_tiles):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        victim, killed = next(iter(cluster.workers.values())).pid, []

        class Killer(Quiet):
            def progress(self, stage, done):
                if stage == "fuse" and done > 0 and not killed:
                    killed.append(victim)
                    os.kill(victim, signal.SIGKILL)

        out = tmp_path / "out.ome.zarr"
        fuse_store(store, {"image": out}, scheduler=cluster.scheduler_address, listener=Killer())
    assert killed
    np.testing.assert_array_equal(levels(out)[0], pf.fuse(slices).image)


def test_a_tiled_tiff_is_fused_to_a_store_and_back(tmp_path, slices):
    part = slices[:, :300, :280]
    told = {"axes": "ZYX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5, "PhysicalSizeZ": 1.0}
    tifffile.imwrite(tmp_path / "in.ome.tif", part, tile=(64, 64), photometric="minisblack", metadata=told)
    done = panfocus("fuse", tmp_path / "in.ome.tif", "-o", tmp_path / "out.ome.zarr", "--threads", 1)
    assert "fused 3 slices of 280 x 300" in done.stdout
    (found,) = levels(tmp_path / "out.ome.zarr")
    np.testing.assert_array_equal(found, pf.fuse(part).image)
    assert read_ome_zarr(tmp_path / "out.ome.zarr").acquisition.pixel_width == 0.5
