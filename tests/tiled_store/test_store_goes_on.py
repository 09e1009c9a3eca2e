"""Runs of stores that were ended before their time: what is kept, and what goes on or begins anew."""

import shutil
import signal

import numpy as np
import pytest
from store_runs import Impatient, Quiet, fuse_store, levels, request_for

import panfocus as pf
from panfocus.tiled_store import survey, tasks
from panfocus.tiled_store.prepare import prepare

zarr = pytest.importorskip("zarr")
pytest.importorskip("ome_zarr")
tifffile = pytest.importorskip("tifffile")


def test_a_run_that_was_interrupted_says_so_goes_on_and_does_nothing_twice(
    tmp_path, store, whole, small_tiles
):
    from panfocus.cli._tiled_store import fuse_store as command

    out, part = tmp_path / "out.ome.zarr", tmp_path / "out.ome.zarr.part"
    request = request_for(store, {"image": out})
    options = {"decisions": "shared", "scheduler": None, "force": False, "dry_run": False}
    with pytest.raises(KeyboardInterrupt, match=r"out\.ome\.zarr\.part"):
        command(request, Impatient(), **options)
    assert not out.exists()
    assert 3 <= len(list(part.rglob("done-fuse-*"))) < 9
    # What is done is not done again: its chunks, made blank here, stay so.
    (made,) = part.rglob("image.ome.zarr")
    zarr.open_array(made / "0")[:256, :256] = 0
    command(request, Quiet(), **options)
    expected = whole.image.copy()
    expected[:256, :256] = 0
    np.testing.assert_array_equal(levels(out)[0], expected)
    assert not part.exists()


class Surveyor(Quiet):
    """One that presses Ctrl-C when a unit has been measured."""

    def progress(self, stage, done):
        if stage == "measure" and done > 0.2:
            raise KeyboardInterrupt


def test_a_run_that_was_interrupted_as_it_measured_measures_no_unit_twice(tmp_path, channels, monkeypatch):
    path, pixels = channels
    out, measured = tmp_path / "out.ome.zarr", []

    def noting(folder, task):
        measured.append(task.unit)
        return survey.measure(folder, task)

    monkeypatch.setitem(tasks._STAGES, "measure", noting)
    with pytest.raises(KeyboardInterrupt):
        fuse_store(path, {"image": out}, decisions="each", listener=Surveyor())
    assert measured == [0]
    fuse_store(path, {"image": out}, decisions="each")
    assert measured == [0, 1, 2, 3]
    np.testing.assert_array_equal(levels(out)[0][1, 1], pf.fuse(pixels[1, 1]).image)


def test_ctrl_c_in_a_terminal_is_one_line_on_what_is_kept(tmp_path, channels, command):
    path, _ = channels
    out = tmp_path / "out.ome.zarr"
    run = command("fuse", path, "-o", out, "--decisions", "each", "--threads", 1)
    for line in run.stdout:
        if line.startswith("look"):  # then a process begins with the first of four parts
            break
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=60)
    assert run.returncode == 130
    assert f"{out}.part" in told
    assert len(told.splitlines()) == 1
    assert not out.exists()


def test_other_settings_begin_anew_and_say_so(tmp_path, channels):
    path, pixels = channels
    part = tmp_path / "out.ome.zarr.part"
    part.mkdir()
    (part / "plan.json").write_text('{"run": "run-0123456789abcdef", "plan": {"method": "another"}}')
    (part / "run-0123456789abcdef").mkdir()
    (part / "run-0123456789abcdef" / "done-fuse-0-0-0.json").write_text("{}")
    options = {"hot_pixels": "off", "exposure": "off", "channel": 2, "time": 2}
    fuse_store(path, {"image": tmp_path / "out.ome.zarr"}, listener=(listener := Quiet()), **options)
    assert "begins anew" in listener.said[0]
    (found,) = levels(tmp_path / "out.ome.zarr")
    np.testing.assert_array_equal(found[0, 0], pf.fuse(pixels[1, 1], hot_pixels="off", exposure="off").image)
    told = zarr.open_group(tmp_path / "out.ome.zarr").attrs["ome"]
    assert [channel["label"] for channel in told["omero"]["channels"]] == ["b"]
    transforms = told["multiscales"][0]["datasets"][0]["coordinateTransformations"]
    assert transforms[1]["translation"] == [3, 0, -5, 7]  # the second time point, the place of the input


def test_a_description_that_was_mended_begins_anew(tmp_path, store):
    """With the pixels of before, but another scale: what was begun has the old one."""
    copy = shutil.copytree(store, tmp_path / "in.ome.zarr")
    out = tmp_path / "out.ome.zarr"
    plans = [prepare(request_for(copy, {"image": out}), decisions="shared", force=False).plan]
    (copy / ".zattrs").write_text((copy / ".zattrs").read_text().replace("0.25", "0.125"))
    plans += [prepare(request_for(copy, {"image": out}), decisions="shared", force=False).plan]
    assert {name for name in plans[0] if plans[0][name] != plans[1][name]} == {"description"}


def test_ctrl_c_while_a_tiff_is_written_leaves_no_half_file_and_what_is_fused(
    tmp_path, channels, monkeypatch
):
    from panfocus.io import tiled_tiff

    class Listener(Quiet):
        deaf = False

        def finish(self):
            self.deaf = True  # to Ctrl-C, as the command line is then

    def interrupted(level, side):
        yield next(tiles(level, side))
        if not listener.deaf:
            raise KeyboardInterrupt

    tiles, listener, out = tiled_tiff._tiles, Listener(), tmp_path / "out.ome.tif"
    options = {"decisions": "each", "time": 1}
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(tiled_tiff, "_tiles", interrupted)
        fuse_store(channels[0], {"image": out}, listener=listener, **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["channels.ome.zarr", "out.ome.tif.part"]
    monkeypatch.setattr("panfocus.tiled_store.scheduler.work", None)  # nothing is left to do
    fuse_store(channels[0], {"image": out}, listener=listener, **options)
    assert listener.deaf
    with tifffile.TiffFile(out) as tiff:
        assert tiff.series[0].shape == (2, 150, 140)
