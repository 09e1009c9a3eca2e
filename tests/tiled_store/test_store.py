"""Stores fused tile by tile have the bits of the whole image, and the metadata of the input."""

import json
import os
import pickle
import signal

import numpy as np
import pytest
from store_runs import Terminal, fuse_store, levels, render, request_for

import panfocus as pf
from fake_cluster import MAX_TASK_BYTES, fake_cluster
from panfocus.cli._tiled_store import is_store
from panfocus.io.ome_zarr import read_ome_zarr
from panfocus.preprocess.hot_pixels import defect_limit, find_candidates
from panfocus.show.pyramid import halve
from panfocus.tiled_store import tasks
from panfocus.tiled_store.checkpoint import TileTask, resume_or_start
from panfocus.tiled_store.prepare import prepare
from panfocus.tiled_store.tile_plan import squares, tile_regions

zarr = pytest.importorskip("zarr")
pytest.importorskip("ome_zarr")
tifffile = pytest.importorskip("tifffile")


def test_store_has_the_bits_of_the_whole_image(fused, whole):
    assert whole.report["hot_pixels"]["fixed"] == 4
    assert whole.report["hot_pixels"]["clusters"] == 1
    assert whole.report["exposure"]["gains"] != [[1.0]] * 3
    (unit,) = fused.report["units"]
    assert (unit["tile"], unit["tiles"]) == (256, 9)
    for name in (
        "frame_shares",
        "mean_confidence",
        "never_in_focus_share",
        "hot_pixels",
        "exposure",
        "noise",
    ):
        assert unit[name] == whole.report[name]
    for name, path in fused.outputs.items():
        expected = getattr(whole, name)
        if name == "depth":
            expected = expected * np.float32(2)  # slices are 2 micrometers apart; exact in binary
        if name == "never_in_focus":
            expected = expected * np.uint8(255)
        found = levels(path)
        np.testing.assert_array_equal(found[0], expected)
        how = {"labels": "nearest", "never_in_focus": "any"}.get(name, "mean")
        np.testing.assert_array_equal(found[1], halve(expected, how))
    folder = fused.outputs["image"].parent
    assert sorted(path.name for path in folder.iterdir() if "part" in path.name) == []


def test_each_chunk_is_decoded_once_for_measuring(store, tmp_path, chunks_read):
    """Exposure, range, noise and scale are measured in strips and blocks that share chunks."""
    request = request_for(store, {"image": tmp_path / "out.ome.zarr"}, hot_pixels="off")
    job = prepare(request, force=False)
    with resume_or_start(job.folder, job.plan, print) as folder:
        tasks.measure(folder, TileTask("", "", "measure", 0, (0, 513), (0, 530)))
    assert len(chunks_read) == 3 * 3 * 4  # slices x chunks of each


def test_chunks_are_cached_as_far_as_memory_allows(store, tmp_path, chunks_read, monkeypatch):
    request = request_for(store, {"image": tmp_path / "out.ome.zarr"}, hot_pixels="off", max_memory=10**9)
    job = prepare(request, force=False)
    task = TileTask("", "", "measure", 0, (0, 513), (0, 530))
    with resume_or_start(job.folder, job.plan, print) as folder:
        plenty = tasks.measure(folder, task)
        chunks_read.clear()
        fixed = tasks.STORE_MEMORY + 2 * job.image.chunk_bytes
        monkeypatch.setattr(tasks, "PROGRAM", 10**9 - fixed - 2 * 4 * job.image.chunk_bytes)
        assert tasks.measure(folder, task) == plenty
    assert len(chunks_read) > 3 * 3 * 4  # four are cached, and a slice has twelve


@pytest.mark.parametrize(("slices_that_fit", "times"), [(4, 1), (2, 2), (0, 4)])
def test_slices_of_one_chunk_are_searched_together_as_far_as_memory_allows(
    tmp_path, monkeypatch, chunks_read, slices_that_fit, times
):
    pixels = render(330, 310, n=5)
    zarr.create_array(tmp_path / "in.zarr", data=pixels, chunks=(4, 512, 512))
    request = request_for(tmp_path / "in.zarr", {"image": tmp_path / "out.zarr"}, max_memory=10**9)
    job = prepare(request, force=False)
    fixed = 2 * job.image.chunk_bytes + tasks.STORE_MEMORY  # the chunk as stored and decoded
    monkeypatch.setattr(tasks, "PROGRAM", 10**9 - fixed - 2 * slices_that_fit * pixels[0].nbytes)
    with resume_or_start(job.folder, job.plan, print) as folder:
        folder.write_note("range-0", {"span": 1000.0})
        note = tasks.search(folder, TileTask("", "", "search", 0, (0, 330), (0, 310)))
    most = defect_limit(pixels.shape)
    counts = [len(find_candidates(each, most, span=1000.0, single=True)) for each in pixels]
    assert note["counts"][1] == counts
    assert len(chunks_read) == times + 1  # the last slice is in another chunk


@pytest.mark.parametrize(("unit", "written"), [("micron", "µm"), ("furlong", "reference frame")])
def test_units_are_written_as_in_ome_or_reported_as_lost(tmp_path, slices, unit, written):
    from panfocus.cli._tiled_store import fuse_store as command

    group = zarr.create_group(tmp_path / "in.zarr")
    group.create_array("0", data=slices[:, :90, :80])
    axes = [{"name": name, "type": "space", "unit": unit} for name in "zyx"]
    places = [{"type": "scale", "scale": [2, 0.5, 0.5]}]
    dataset = {"path": "0", "coordinateTransformations": places}
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": [dataset]}]}
    terminal, outputs = Terminal(), {"image": tmp_path / "out.ome.tif", "report": tmp_path / "report.json"}
    request = request_for(tmp_path / "in.zarr", outputs)
    command(request, terminal, scheduler=None, force=False, dry_run=False)
    with tifffile.TiffFile(tmp_path / "out.ome.tif") as tiff:
        pixels = tifffile.xml2dict(tiff.ome_metadata)["OME"]["Image"]["Pixels"]
    assert (pixels["PhysicalSizeX"], pixels["PhysicalSizeXUnit"]) == (0.5, written)
    notices = [line for line in terminal.lines if "OME-TIFF" in line]
    assert len(notices) == (unit == "furlong")
    assert all("furlong" in notice for notice in notices)
    assert len(json.loads((tmp_path / "report.json").read_text())["warnings"]) == len(notices)


def test_store_with_chunks_across_slices_has_the_same_bits(tmp_path, slices, whole, small_tiles):
    zarr.create_array(tmp_path / "in.zarr", data=slices, chunks=(2, 200, 150))
    fuse_store(tmp_path / "in.zarr", {"image": tmp_path / "out.zarr"})
    np.testing.assert_array_equal(levels(tmp_path / "out.zarr")[0], whole.image)


def test_single_task_in_this_process_leaves_the_settings_of_zarr(tmp_path, slices):
    before = {name: zarr.config.get(name) for name in ("async.concurrency", "threading.max_workers")}
    zarr.create_array(tmp_path / "in.zarr", data=slices[:, :90, :80])
    fuse_store(tmp_path / "in.zarr", {"image": tmp_path / "out.ome.tif"})
    assert {name: zarr.config.get(name) for name in before} == before


def test_report_has_the_time_of_each_stage(fused):
    assert any("3 frames of 530 x 513 in 9 tiles" in line for line in fused.lines)
    assert (fused.report["step"], fused.report["unit"]) == (2.0, "micrometer")
    *by_workers, written = fused.report["stages"]
    assert [stage["stage"] for stage in by_workers] == ["range", "search", "measure", "fuse", "pyramid"]
    for stage in by_workers:  # there are two workers
        assert 0 < stage["seconds_of_workers"] <= 2 * stage["seconds"]
    assert (written["stage"], written["tasks"]) == ("write", 0)
    in_stages = sum(stage["seconds"] for stage in fused.report["stages"])
    assert in_stages == pytest.approx(fused.report["seconds"], abs=0.05)


def test_ome_zarr_opens_the_result_with_its_scale(fused):
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    (node,) = Reader(parse_url(str(fused.outputs["image"])))()
    assert [axis["name"] for axis in node.metadata["axes"]] == ["y", "x"]
    assert [axis["unit"] for axis in node.metadata["axes"]] == ["micrometer"] * 2
    assert node.metadata["coordinateTransformations"][0][0]["scale"] == [0.5, 0.25]
    assert [level.shape for level in node.data] == [(513, 530), (257, 265)]


def test_channels_are_fused_separately_unless_together_is_chosen(tmp_path, channels):
    path, pixels = channels
    outputs = {"image": tmp_path / "shared.ome.zarr", "labels": tmp_path / "one.ome.zarr"}
    fuse_store(path, outputs, decide_channels="together")
    fuse_store(path, {"image": tmp_path / "each.ome.zarr", "labels": tmp_path / "own.ome.zarr"})
    (shared,), (one,) = levels(tmp_path / "shared.ome.zarr"), levels(tmp_path / "one.ome.zarr")
    (each,), (own,) = levels(tmp_path / "each.ome.zarr"), levels(tmp_path / "own.ome.zarr")
    size = pixels.shape[-2:]
    assert (shared.shape, one.shape) == ((2, 2, *size), (2, *size))
    assert (each.shape, own.shape) == ((2, 2, *size), (2, 2, *size))
    for t in range(2):
        # With a third, blank channel; without it the second would be alpha.
        frames = np.stack([pixels[t, 0], pixels[t, 1], np.zeros_like(pixels[t, 0])], axis=3)
        whole = pf.fuse(frames, decide_channels="together")
        np.testing.assert_array_equal(np.moveaxis(shared[t], 0, 2), whole.image[..., :2])
        np.testing.assert_array_equal(one[t], whole.labels)
        for c in range(2):
            alone = pf.fuse(pixels[t, c])
            np.testing.assert_array_equal(each[t, c], alone.image)
            np.testing.assert_array_equal(own[t, c], alone.labels)
    ome = zarr.open_group(tmp_path / "shared.ome.zarr").attrs["ome"]
    assert [axis["name"] for axis in ome["multiscales"][0]["axes"]] == ["t", "c", "y", "x"]
    assert ome["multiscales"][0]["datasets"][0]["coordinateTransformations"][0]["scale"] == [3, 1, 0.5, 0.5]
    assert [channel["label"] for channel in ome["omero"]["channels"]] == ["a", "b"]
    assert ome["omero"]["rdefs"] == {"defaultZ": 0, "defaultT": 1, "model": "color"}  # without z


def test_single_time_point_is_shown_first_and_depth_starts_at_0(tmp_path, channels):
    outputs = {name: tmp_path / f"{name}.ome.zarr" for name in ("image", "depth")}
    fuse_store(channels[0], outputs, time=2, hot_pixels="off")
    ome = zarr.open_group(outputs["image"]).attrs["ome"]
    assert ome["omero"]["rdefs"] == {"defaultZ": 0, "defaultT": 0, "model": "color"}
    (depth,) = levels(outputs["depth"])
    assert 0 <= depth.min() < depth.max() <= 2  # slices are at 20, 21 and 22


@pytest.mark.parametrize("names", [("Red", "Green", "Blue", "Alpha"), ("grey", "alpha"), ("DAPI", "GFP")])
def test_alpha_is_ignored_and_other_channels_are_not(tmp_path, slices, names):
    """The last channel is sharp in other slices than the others."""
    has_alpha = names[-1].lower() == "alpha"
    part = slices[:, :150, :140]
    pixels = np.stack([*[part // (c + 1) for c in range(len(names) - 1)], part[::-1]])
    path = tmp_path / "in.ome.zarr"
    group = zarr.create_group(path)
    group.create_array("0", data=pixels, chunks=(1, 1, 100, 100))
    multiscale = {
        "axes": [{"name": name} for name in "czyx"],
        "datasets": [{"path": "0"}],
    }
    omero = {"channels": [{"label": name} for name in names]}
    group.attrs["ome"] = {"version": "0.5", "multiscales": [multiscale], "omero": omero}
    outputs = {"image": tmp_path / "out.ome.zarr", "labels": tmp_path / "labels.ome.zarr"}
    fuse_store(path, outputs, decide_channels="auto" if has_alpha else "together")
    (labels,), (image,) = levels(tmp_path / "labels.ome.zarr"), levels(tmp_path / "out.ome.zarr")
    frames = np.moveaxis(pixels, 0, 3)
    if has_alpha:
        expected = pf.fuse(frames)
        np.testing.assert_array_equal(expected.labels, pf.fuse(frames[..., :-1]).labels)  # so it is ignored
    else:
        expected = pf.fuse(np.concatenate([frames, np.zeros_like(frames[..., :1])], axis=3))
        assert not np.array_equal(expected.labels, pf.fuse(frames[..., 0]).labels)
    np.testing.assert_array_equal(labels, expected.labels)
    np.testing.assert_array_equal(np.moveaxis(image, 0, 2), expected.image[..., : len(names)])


def test_tiled_ome_tiff_is_written_with_metadata(tmp_path, channels):
    path, pixels = channels
    fuse_store(path, {"image": tmp_path / "out.ome.tif"}, decide_channels="separate", hot_pixels="off")
    with tifffile.TiffFile(tmp_path / "out.ome.tif") as tiff:
        assert tiff.series[0].axes == "TCYX"
        assert tiff.pages[0].is_tiled
        image = tifffile.xml2dict(tiff.ome_metadata)["OME"]["Image"]
        found = tiff.asarray()
    pixels_of_tiff = image["Pixels"]
    assert image["Name"] == "cells"
    assert (pixels_of_tiff["PhysicalSizeX"], pixels_of_tiff["PhysicalSizeXUnit"]) == (0.5, "µm")
    assert (pixels_of_tiff["TimeIncrement"], pixels_of_tiff["TimeIncrementUnit"]) == (3.0, "s")
    assert pixels_of_tiff["Channel"][1]["Name"] == "b"
    assert {channel["Color"] for channel in pixels_of_tiff["Channel"]} == {0x00FF00FF}  # opaque green
    keys = ("PositionX", "PositionXUnit", "PositionY", "PositionYUnit")
    places = [tuple(plane[key] for key in keys) for plane in pixels_of_tiff["Plane"]]
    assert places == [(7.0, "µm", -5.0, "µm")] * 4
    for t, c in np.ndindex(2, 2):
        np.testing.assert_array_equal(found[t, c], pf.fuse(pixels[t, c], hot_pixels="off").image)


def test_tiff_has_the_time_of_its_first_time_point(tmp_path, channels):
    path, _ = channels
    outputs = {"image": tmp_path / "out.ome.tif", "labels": tmp_path / "labels.ome.tif"}
    fuse_store(path, outputs, time=2, hot_pixels="off")
    for output, n_planes in zip(outputs.values(), (2, 2), strict=True):
        with tifffile.TiffFile(output) as tiff:
            assert tiff.ome_metadata.count('DeltaT="3.0" DeltaTUnit="s"') == n_planes


def test_time_axis_without_a_unit_is_reported_as_lost_in_tiff(tmp_path, channels):
    path, _ = channels
    group = zarr.open_group(path)
    ome = group.attrs["ome"]
    del ome["multiscales"][0]["axes"][0]["unit"]
    group.attrs["ome"] = ome
    request = request_for(path, {"image": tmp_path / "out.ome.tif"})
    (notice,) = prepare(request, force=False).notices
    assert "OME-TIFF" in notice


def test_depth_map_names_the_unit_of_its_values(tmp_path, channels):
    path, _ = channels
    outputs = {"image": tmp_path / "out.ome.zarr", "depth": tmp_path / "depth.ome.tif"}
    fuse_store(path, outputs, decide_channels="separate", step="3um", time=1)
    with tifffile.TiffFile(outputs["depth"]) as tiff:
        assert tiff.ome_metadata.count('Name="depth in um"') == 2


def test_tiff_with_several_times_is_fused_to_a_tiled_tiff(tmp_path, slices, run):
    pixels = np.stack([slices[:, :150, :140], slices[:, 150:300, :140]])
    tifffile.imwrite(
        tmp_path / "in.ome.tif", pixels, tile=(64, 64), photometric="minisblack", metadata={"axes": "TZYX"}
    )
    ran = run("fuse", tmp_path / "in.ome.tif", "-o", tmp_path / "out.ome.tif", "--tiled")
    assert ran.code == 0, ran.err
    with tifffile.TiffFile(tmp_path / "out.ome.tif") as tiff:
        assert tiff.pages[0].is_tiled
        found = tiff.asarray()
    for fused, frames in zip(found, pixels, strict=True):
        np.testing.assert_array_equal(fused, pf.fuse(frames).image)


def test_tiled_tiff_is_fused_to_a_store(tmp_path, slices):
    part = slices[:, :150, :140]
    metadata = {"axes": "ZYX", "PhysicalSizeX": 500.0, "PhysicalSizeY": 500.0, "PhysicalSizeZ": 1000.0}
    metadata |= {f"PhysicalSize{axis}Unit": "nm" for axis in "XYZ"}
    tifffile.imwrite(
        tmp_path / "in.ome.tif", part, tile=(64, 64), photometric="minisblack", metadata=metadata
    )
    assert is_store(request_for(tmp_path / "in.ome.tif", {"image": tmp_path / "out.ome.zarr"}))
    fuse_store(tmp_path / "in.ome.tif", {"image": tmp_path / "out.ome.zarr"})
    (found,) = levels(tmp_path / "out.ome.zarr")
    np.testing.assert_array_equal(found, pf.fuse(part).image)
    _, across = read_ome_zarr(tmp_path / "out.ome.zarr").axes
    assert (across.scale, across.unit) == (500.0, "nanometer")


def test_tasks_are_small_and_squares_cover_an_image_once():
    task = TileTask("/a/long/path/to/a/folder.part", "0123456789abcdef", "fuse", 3, (0, 2048), (2048, 4096))
    assert len(pickle.dumps(task)) < 500
    seen = np.zeros((70, 50), int)
    for region in squares((70, 50), 32):
        seen[region] += 1
    assert (seen == 1).all()


@pytest.mark.parametrize("length", [1, 512, 2048, 2600, 5000, 20_000, 100_000])
@pytest.mark.parametrize("side", [512, 1536, 2048])
def test_tiles_have_similar_sizes_in_whole_chunks(length, side):
    found = [region[0] for region in tile_regions((length, 1), side, 512)]
    assert len(found) == len(list(squares((length, 1), side)))
    assert [span.start for span in found] == [0, *(span.stop for span in found[:-1])]
    assert found[-1].stop == length
    assert all(span.start % 512 == 0 and span.stop - span.start <= side for span in found)
    largest = max(span.stop - span.start for span in found)
    assert largest < length / len(found) + 512


def test_four_tiles_have_similar_sizes():
    areas = [(r.stop - r.start) * (c.stop - c.start) for r, c in tile_regions((2600, 2600), 2048, 512)]
    assert len(areas) == 4
    assert max(areas) < 0.36 * 2600**2


def test_cluster_runs_all_tasks_and_they_hold_no_pixels(tmp_path, channels, slices):
    """Also a single tile: this machine may lack the memory."""
    zarr.create_array(tmp_path / "one.zarr", data=slices[:, :150, :140], chunks=(1, 100, 100))
    for path, n_units in ((tmp_path / "one.zarr", 1), (channels[0], 4)):
        with fake_cluster() as cluster:
            fuse_store(path, {"image": tmp_path / f"{n_units}.ome.zarr"}, scheduler="tcp://far:8786")
        assert [name for name, _ in cluster.tasks] == [
            "run_in_worker"
        ] * 4 * n_units  # range, search, measure, fuse
        assert max(size for _, size in cluster.tasks) < MAX_TASK_BYTES


def test_wrong_address_is_reported_before_anything_is_written(tmp_path, store, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("panfocus.parallel.cluster.TIMEOUT", 0.5)
    with pytest.raises(pf.InputError):
        fuse_store(store, {"image": tmp_path / "out.ome.zarr"}, scheduler="tcp://127.0.0.1:1")
    assert list(tmp_path.iterdir()) == []


def test_cluster_gives_the_same_bits_although_a_worker_is_killed(
    tmp_path, store, whole, small_tiles, small_cluster
):
    victim, killed = next(iter(small_cluster.workers.values())).pid, []

    class Killer(Terminal):
        def progress(self, stage, done):
            if stage == "fuse" and done > 0 and not killed:
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

    out = tmp_path / "out.ome.zarr"
    fuse_store(store, {"image": out}, scheduler=small_cluster.scheduler_address, terminal=Killer())
    assert killed
    np.testing.assert_array_equal(levels(out)[0], whole.image)
