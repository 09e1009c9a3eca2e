"""Stores fused tile by tile by workers: the same bits as `fuse` of the whole, and nothing half or twice."""

import json
import os
import pickle
import signal

import numpy as np
import pytest
from store_runs import Quiet, fuse_store, levels, render, request_for

import panfocus as pf
from fake_cluster import MAX_TASK_BYTES, fake_cluster
from panfocus.cli._tiled_store import is_store
from panfocus.io.ome_zarr import read_ome_zarr
from panfocus.preprocess import most_defects, standing_alone
from panfocus.show.pyramid import halved
from panfocus.tiled_store import survey
from panfocus.tiled_store.checkpoint import Task, taken
from panfocus.tiled_store.prepare import prepare
from panfocus.tiled_store.tile_plan import rectangles, tiles

zarr = pytest.importorskip("zarr")
pytest.importorskip("ome_zarr")
tifffile = pytest.importorskip("tifffile")


def test_a_store_is_fused_to_the_bits_of_the_whole_image(fused, whole):
    assert whole.report["hot_pixels"]["fixed"] == 4
    assert whole.report["exposure"]["gains"] != [[1.0]] * 3
    (told,) = fused.report["units"]
    assert (told["tile"], told["tiles"]) == (256, 9)
    for name in (
        "frame_shares",
        "mean_confidence",
        "never_in_focus_share",
        "hot_pixels",
        "exposure",
        "noise",
    ):
        assert told[name] == whole.report[name]
    for name, path in fused.outputs.items():
        expected = getattr(whole, name)
        if name == "depth":
            expected = expected * np.float32(2)  # slices are 2 micrometers apart; exact in binary
        if name == "never_in_focus":
            expected = expected * np.uint8(255)
        found = levels(path)
        np.testing.assert_array_equal(found[0], expected)
        how = {"labels": "nearest", "never_in_focus": "any"}.get(name, "mean")
        np.testing.assert_array_equal(found[1], halved(expected, how))
    folder = fused.outputs["image"].parent
    assert sorted(path.name for path in folder.iterdir() if "part" in path.name) == []


def test_a_chunk_is_decoded_once_to_be_measured(store, tmp_path, chunks_read):
    """Exposure, range and noise, and the scale: of strips and blocks that lie in the same chunks."""
    request = request_for(store, {"image": tmp_path / "out.ome.zarr"}, hot_pixels="off")
    job = prepare(request, decisions="shared", force=False)
    with taken(job.folder, job.plan, print) as folder:
        survey.measure(folder, Task("", "", "measure", 0, (0, 513), (0, 530)))
    assert len(chunks_read) == 3 * 3 * 4  # slices, and chunks of each: all are kept


def test_chunks_are_kept_to_be_measured_as_far_as_memory_allows(store, tmp_path, chunks_read, monkeypatch):
    request = request_for(store, {"image": tmp_path / "out.ome.zarr"}, hot_pixels="off", max_memory="1GB")
    job = prepare(request, decisions="shared", force=False)
    task = Task("", "", "measure", 0, (0, 513), (0, 530))
    with taken(job.folder, job.plan, print) as folder:
        plenty = survey.measure(folder, task)
        chunks_read.clear()
        beside = survey.STORES + 2 * job.image.chunk_bytes
        monkeypatch.setattr(survey, "PROGRAM", 10**9 - beside - 2 * 4 * job.image.chunk_bytes)
        assert survey.measure(folder, task) == plenty
    assert len(chunks_read) > 3 * 3 * 4  # four are kept, and a slice has twelve


@pytest.mark.parametrize(("slices_that_fit", "times"), [(4, 1), (2, 2), (0, 4)])
def test_slices_of_one_chunk_are_looked_at_together_as_far_as_memory_allows(
    tmp_path, monkeypatch, chunks_read, slices_that_fit, times
):
    pixels = render(330, 310, n=5)
    zarr.create_array(tmp_path / "in.zarr", data=pixels, chunks=(4, 512, 512))
    request = request_for(tmp_path / "in.zarr", {"image": tmp_path / "out.zarr"}, max_memory="1GB")
    job = prepare(request, decisions="shared", force=False)
    beside = 2 * job.image.chunk_bytes + survey.STORES  # the chunk as it is stored and decoded
    monkeypatch.setattr(survey, "PROGRAM", 10**9 - beside - 2 * slices_that_fit * pixels[0].nbytes)
    with taken(job.folder, job.plan, print) as folder:
        folder.keep("span-0", {"span": 1000.0})
        told = survey.look(folder, Task("", "", "look", 0, (0, 330), (0, 310)))
    most = most_defects(pixels.shape)
    assert told["counts"][1] == [len(standing_alone(each, most, span=1000.0)) for each in pixels]
    assert len(chunks_read) == times + 1  # the last slice is in a chunk of its own


@pytest.mark.parametrize(("unit", "written"), [("micron", "µm"), ("furlong", "reference frame")])
def test_units_of_a_store_are_written_as_ome_has_them_or_said_to_be_lost(tmp_path, slices, unit, written):
    from panfocus.cli._tiled_store import fuse_store as command

    group = zarr.create_group(tmp_path / "in.zarr")
    group.create_array("0", data=slices[:, :90, :80])
    axes = [{"name": name, "type": "space", "unit": unit} for name in "zyx"]
    places = [{"type": "scale", "scale": [2, 0.5, 0.5]}]
    dataset = {"path": "0", "coordinateTransformations": places}
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": [dataset]}]}
    listener, outputs = Quiet(), {"image": tmp_path / "out.ome.tif", "report": tmp_path / "report.json"}
    request = request_for(tmp_path / "in.zarr", outputs)
    command(request, listener, decisions="shared", scheduler=None, force=False, dry_run=False)
    with tifffile.TiffFile(tmp_path / "out.ome.tif") as tiff:
        pixels = tifffile.xml2dict(tiff.ome_metadata)["OME"]["Image"]["Pixels"]
    assert (pixels["PhysicalSizeX"], pixels["PhysicalSizeXUnit"]) == (0.5, written)
    said = "OME-TIFF does not have the unit furlong, which is left out"
    lost = [said] * (unit == "furlong")
    assert [line for line in listener.said if "OME-TIFF" in line] == [
        f"{tmp_path / 'in.zarr'}: {each}" for each in lost
    ]
    assert json.loads((tmp_path / "report.json").read_text())["warnings"] == lost
    assert f"{tmp_path / 'out.ome.tif'}, {tmp_path / 'report.json'}" in listener.said[-1]


def test_a_store_with_chunks_across_slices_is_fused_to_the_same_bits(tmp_path, slices, whole, small_tiles):
    zarr.create_array(tmp_path / "in.zarr", data=slices, chunks=(2, 200, 150))
    fuse_store(tmp_path / "in.zarr", {"image": tmp_path / "out.zarr"})
    np.testing.assert_array_equal(levels(tmp_path / "out.zarr")[0], whole.image)


def test_what_was_done_and_how_long_it_took_is_told(fused):
    assert any("3 slices of 530 x 513" in line for line in fused.said)
    assert (fused.report["step"], fused.report["unit"]) == (2.0, "micrometer")
    *by_workers, written = fused.report["stages"]
    assert [stage["stage"] for stage in by_workers] == ["span", "look", "measure", "fuse", "pyramid"]
    for stage in by_workers:  # two workers cannot have worked for longer than that
        assert 0 < stage["seconds_of_workers"] <= 2 * stage["seconds"]
    assert (written["stage"], written["tasks"]) == ("write", 0)
    in_stages = sum(stage["seconds"] for stage in fused.report["stages"])
    assert in_stages == pytest.approx(fused.report["seconds"], abs=0.05)


def test_the_result_opens_with_ome_zarr_scale_intact(fused):
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    (node,) = Reader(parse_url(str(fused.outputs["image"])))()
    assert [axis["name"] for axis in node.metadata["axes"]] == ["y", "x"]
    assert [axis["unit"] for axis in node.metadata["axes"]] == ["micrometer"] * 2
    assert node.metadata["coordinateTransformations"][0][0]["scale"] == [0.5, 0.25]
    assert [level.shape for level in node.data] == [(513, 530), (257, 265)]


def test_channels_share_a_decision_or_have_their_own_at_every_time(tmp_path, channels):
    path, pixels = channels
    fuse_store(path, {"image": tmp_path / "shared.ome.zarr", "labels": tmp_path / "one.ome.zarr"})
    fuse_store(
        path, {"image": tmp_path / "each.ome.zarr", "labels": tmp_path / "own.ome.zarr"}, decisions="each"
    )
    (shared,), (one,) = levels(tmp_path / "shared.ome.zarr"), levels(tmp_path / "one.ome.zarr")
    (each,), (own,) = levels(tmp_path / "each.ome.zarr"), levels(tmp_path / "own.ome.zarr")
    size = pixels.shape[-2:]
    assert (shared.shape, one.shape) == ((2, 2, *size), (2, *size))
    assert (each.shape, own.shape) == ((2, 2, *size), (2, 2, *size))
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
    assert told["omero"]["rdefs"] == {"defaultZ": 0, "defaultT": 1, "model": "color"}  # there is no z now


def test_one_time_point_is_the_first_of_its_store_and_depth_counts_from_the_first_slice(tmp_path, channels):
    outputs = {name: tmp_path / f"{name}.ome.zarr" for name in ("image", "depth")}
    fuse_store(channels[0], outputs, time=2, hot_pixels="off")
    told = zarr.open_group(outputs["image"]).attrs["ome"]
    assert told["omero"]["rdefs"] == {"defaultZ": 0, "defaultT": 0, "model": "color"}
    (depth,) = levels(outputs["depth"])
    assert 0 <= depth.min() < depth.max() <= 2  # slices are at 20, 21 and 22


@pytest.mark.parametrize("names", [("Red", "Green", "Blue", "Alpha"), ("grey", "alpha"), ("DAPI", "GFP")])
def test_alpha_has_no_say_and_other_channels_have(tmp_path, slices, names):
    """The last channel is sharp elsewhere than the others, and so would decide."""
    part = slices[:, :150, :140]
    pixels = np.stack([*[part // (c + 1) for c in range(len(names) - 1)], part[::-1]])
    path = tmp_path / "in.ome.zarr"
    group = zarr.create_group(path)
    group.create_array("0", data=pixels, chunks=(1, 1, 100, 100))
    described = {
        "axes": [{"name": name} for name in "czyx"],
        "datasets": [{"path": "0"}],
    }
    omero = {"channels": [{"label": name} for name in names]}
    group.attrs["ome"] = {"version": "0.5", "multiscales": [described], "omero": omero}
    fuse_store(path, {"image": tmp_path / "out.ome.zarr", "labels": tmp_path / "labels.ome.zarr"})
    (labels,), (image,) = levels(tmp_path / "labels.ome.zarr"), levels(tmp_path / "out.ome.zarr")
    frames = np.moveaxis(pixels, 0, 3)
    if names[-1].lower() == "alpha":
        expected = pf.fuse(frames)
        np.testing.assert_array_equal(expected.labels, pf.fuse(frames[..., :-1]).labels)  # so it is ignored
    else:
        expected = pf.fuse(np.concatenate([frames, np.zeros_like(frames[..., :1])], axis=3))
        assert not np.array_equal(expected.labels, pf.fuse(frames[..., 0]).labels)
    np.testing.assert_array_equal(labels, expected.labels)
    np.testing.assert_array_equal(np.moveaxis(image, 0, 2), expected.image[..., : len(names)])


def test_a_tiled_ome_tiff_is_written_too(tmp_path, channels):
    path, pixels = channels
    fuse_store(path, {"image": tmp_path / "out.ome.tif"}, decisions="each", hot_pixels="off")
    with tifffile.TiffFile(tmp_path / "out.ome.tif") as tiff:
        assert tiff.series[0].axes == "TCYX"
        assert tiff.pages[0].is_tiled
        assert 'PhysicalSizeX="0.5" PhysicalSizeXUnit="µm"' in tiff.ome_metadata
        assert 'TimeIncrement="3.0" TimeIncrementUnit="s"' in tiff.ome_metadata
        assert 'Name="b"' in tiff.ome_metadata
        assert tiff.ome_metadata.count('Color="16711935"') == 2  # 00FF00, opaque: 0x00FF00FF
        assert '<Image ID="Image:0" Name="cells">' in tiff.ome_metadata
        assert tiff.ome_metadata.count('PositionX="7.0" PositionXUnit="µm"') == 4
        assert tiff.ome_metadata.count('PositionY="-5.0" PositionYUnit="µm"') == 4
        found = tiff.asarray()
    for t, c in np.ndindex(2, 2):
        np.testing.assert_array_equal(found[t, c], pf.fuse(pixels[t, c], hot_pixels="off").image)


def test_a_tiff_tells_when_its_first_time_point_is(tmp_path, channels):
    path, _ = channels
    outputs = {"image": tmp_path / "out.ome.tif", "labels": tmp_path / "labels.ome.tif"}
    fuse_store(path, outputs, time=2, hot_pixels="off")
    for output, n_planes in zip(outputs.values(), (2, 1), strict=True):
        with tifffile.TiffFile(output) as tiff:
            assert tiff.ome_metadata.count('DeltaT="3.0" DeltaTUnit="s"') == n_planes


def test_a_time_axis_without_a_unit_is_said_to_be_lost_in_tiffs(tmp_path, channels):
    path, _ = channels
    group = zarr.open_group(path)
    ome = group.attrs["ome"]
    del ome["multiscales"][0]["axes"][0]["unit"]
    group.attrs["ome"] = ome
    request = request_for(path, {"image": tmp_path / "out.ome.tif"})
    (notice,) = prepare(request, decisions="shared", force=False).notices
    assert notice.startswith("OME-TIFF has times in units of time only")


def test_a_map_of_depth_tells_the_unit_of_its_values_in_stores_and_tiffs(tmp_path, channels):
    path, _ = channels
    outputs = {"image": tmp_path / "out.ome.zarr", "depth": tmp_path / "depth.ome.tif"}
    fuse_store(path, outputs, decisions="each", step="3um", time=1)
    with tifffile.TiffFile(outputs["depth"]) as tiff:
        assert tiff.ome_metadata.count('Name="depth in um"') == 2


def test_a_tiff_is_fused_to_a_tiff_by_tiles_with_all_its_times(tmp_path, slices, run):
    pixels = np.stack([slices[:, :150, :140], slices[:, 150:300, :140]])
    tifffile.imwrite(
        tmp_path / "in.ome.tif", pixels, tile=(64, 64), photometric="minisblack", metadata={"axes": "TZYX"}
    )
    ran = run("fuse", tmp_path / "in.ome.tif", "-o", tmp_path / "out.ome.tif", "--decisions", "shared")
    assert ran.code == 0, ran.err
    with tifffile.TiffFile(tmp_path / "out.ome.tif") as tiff:
        assert tiff.pages[0].is_tiled
        found = tiff.asarray()
    for fused, frames in zip(found, pixels, strict=True):
        np.testing.assert_array_equal(fused, pf.fuse(frames).image)


def test_a_tiled_tiff_is_fused_to_a_store(tmp_path, slices):
    part = slices[:, :150, :140]
    told = {"axes": "ZYX", "PhysicalSizeX": 500.0, "PhysicalSizeY": 500.0, "PhysicalSizeZ": 1000.0}
    told |= {f"PhysicalSize{axis}Unit": "nm" for axis in "XYZ"}
    tifffile.imwrite(tmp_path / "in.ome.tif", part, tile=(64, 64), photometric="minisblack", metadata=told)
    assert is_store(request_for(tmp_path / "in.ome.tif", {"image": tmp_path / "out.ome.zarr"}))
    fuse_store(tmp_path / "in.ome.tif", {"image": tmp_path / "out.ome.zarr"})
    (found,) = levels(tmp_path / "out.ome.zarr")
    np.testing.assert_array_equal(found, pf.fuse(part).image)
    _, across = read_ome_zarr(tmp_path / "out.ome.zarr").axes
    assert (across.scale, across.unit) == (500.0, "nanometer")


def test_tasks_are_small_and_rectangles_cover_an_image_once():
    task = Task("/a/long/path/to/a/folder.part", "0123456789abcdef", "fuse", 3, (0, 2048), (2048, 4096))
    assert len(pickle.dumps(task)) < 500
    seen = np.zeros((70, 50), int)
    for region in rectangles((70, 50), 32):
        seen[region] += 1
    assert (seen == 1).all()


@pytest.mark.parametrize("length", [1, 512, 2048, 2600, 5000, 20_000, 100_000])
@pytest.mark.parametrize("side", [512, 1536, 2048])
def test_tiles_are_even_and_of_whole_chunks_and_no_more_than_squares_would_be(length, side):
    found = [region[0] for region in tiles((length, 1), side, 512)]
    assert len(found) == len(list(rectangles((length, 1), side)))
    assert [span.start for span in found] == [0, *(span.stop for span in found[:-1])]
    assert found[-1].stop == length
    assert all(span.start % 512 == 0 and span.stop - span.start <= side for span in found)
    largest = max(span.stop - span.start for span in found)
    assert largest < length / len(found) + 512  # no other whole chunks would be less


def test_no_tile_of_four_has_most_of_the_work():
    areas = [(r.stop - r.start) * (c.stop - c.start) for r, c in tiles((2600, 2600), 2048, 512)]
    assert len(areas) == 4
    assert max(areas) < 0.36 * 2600**2


def test_a_cluster_does_all_tasks_over_one_connection_and_they_carry_no_pixels(tmp_path, channels, slices):
    """Of the store with one part and one tile too: whoever asks for a cluster has no memory here."""
    zarr.create_array(tmp_path / "one.zarr", data=slices[:, :150, :140], chunks=(1, 100, 100))
    for path, n_units in ((tmp_path / "one.zarr", 1), (channels[0], 2)):
        with fake_cluster() as cluster:
            fuse_store(path, {"image": tmp_path / f"{n_units}.ome.zarr"}, scheduler="tcp://far:8786")
        assert [work for work, _ in cluster.tasks] == ["work"] * 4 * n_units  # span, look, measure, fuse
        assert max(size for _, size in cluster.tasks) < MAX_TASK_BYTES


def test_a_wrong_address_is_told_before_the_folder_of_the_run_is_made(tmp_path, store, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("panfocus.parallel.cluster.TIMEOUT", 0.5)
    with pytest.raises(pf.InputError):
        fuse_store(store, {"image": tmp_path / "out.ome.zarr"}, scheduler="tcp://127.0.0.1:1")
    assert list(tmp_path.iterdir()) == []


def test_cluster_gives_the_same_bits_although_a_worker_is_killed(
    tmp_path, store, whole, small_tiles, small_cluster
):
    victim, killed = next(iter(small_cluster.workers.values())).pid, []

    class Killer(Quiet):
        def progress(self, stage, done):
            if stage == "fuse" and done > 0 and not killed:
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

    out = tmp_path / "out.ome.zarr"
    fuse_store(store, {"image": out}, scheduler=small_cluster.scheduler_address, listener=Killer())
    assert killed
    np.testing.assert_array_equal(levels(out)[0], whole.image)
