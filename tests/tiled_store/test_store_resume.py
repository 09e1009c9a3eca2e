"""Interrupted runs of stores: they resume, or start again if something has changed."""

import shutil
import signal

import numpy as np
import pytest
from store_runs import InterruptedTerminal, Terminal, fuse_store, levels, request_for

import panfocus as pf
from panfocus.tiled_store import tasks
from panfocus.tiled_store.prepare import prepare

zarr = pytest.importorskip("zarr")
pytest.importorskip("ome_zarr")
tifffile = pytest.importorskip("tifffile")


def test_interrupted_run_resumes_without_repeating_tiles(tmp_path, store, whole, small_tiles):
    from panfocus.cli._tiled_store import fuse_store as command

    out, part = tmp_path / "out.ome.zarr", tmp_path / "out.ome.zarr.part"
    request = request_for(store, {"image": out})
    options = {"scheduler": None, "force": False, "dry_run": False}
    with pytest.raises(KeyboardInterrupt, match=r"out\.ome\.zarr\.part"):
        command(request, InterruptedTerminal(), **options)
    assert not out.exists()
    assert 3 <= len(list(part.rglob("done-fuse-*"))) < 9
    # A finished tile is not fused again: it stays blank.
    (made,) = part.rglob("image.ome.zarr")
    zarr.open_array(made / "0")[:128, :128] = 0
    command(request, Terminal(), **options)
    expected = whole.image.copy()
    expected[:128, :128] = 0
    np.testing.assert_array_equal(levels(out)[0], expected)
    assert not part.exists()


class InterruptedSurvey(Terminal):
    """Interrupts the run when a unit has been measured."""

    def progress(self, stage, done):
        if stage == "measure" and done > 0.2:
            raise KeyboardInterrupt


def test_interrupted_run_measures_no_unit_twice(tmp_path, channels, monkeypatch):
    path, pixels = channels
    out, measured, measure = tmp_path / "out.ome.zarr", [], tasks.measure

    def record(folder, task):
        measured.append(task.unit)
        return measure(folder, task)

    monkeypatch.setitem(tasks._STAGES, "measure", record)
    with pytest.raises(KeyboardInterrupt):
        fuse_store(path, {"image": out}, decide_channels="separate", terminal=InterruptedSurvey())
    assert measured == [0]
    fuse_store(path, {"image": out}, decide_channels="separate")
    assert measured == [0, 1, 2, 3]
    np.testing.assert_array_equal(levels(out)[0][1, 1], pf.fuse(pixels[1, 1]).image)


def test_ctrl_c_prints_one_line_with_the_checkpoint(tmp_path, channels, command):
    path, _ = channels
    out = tmp_path / "out.ome.zarr"
    run = command("fuse", path, "-o", out, "--decide-channels", "separate", "--threads", 1)
    for line in run.stdout:
        if line.startswith("search"):
            break
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=300)
    assert run.returncode == 130
    assert f"{out}.part" in err
    assert len(err.splitlines()) == 1
    assert not out.exists()


def test_other_settings_start_again_with_a_notice(tmp_path, channels):
    path, pixels = channels
    part = tmp_path / "out.ome.zarr.part"
    part.mkdir()
    (part / "plan.json").write_text('{"run": "run-0123456789abcdef", "plan": {"method": "another"}}')
    (part / "run-0123456789abcdef").mkdir()
    (part / "run-0123456789abcdef" / "done-fuse-0-0-0.json").write_text("{}")
    options = {"hot_pixels": "off", "exposure": "off", "channel": 2, "time": 2}
    fuse_store(path, {"image": tmp_path / "out.ome.zarr"}, terminal=(terminal := Terminal()), **options)
    assert str(part) in terminal.lines[0]
    (found,) = levels(tmp_path / "out.ome.zarr")
    np.testing.assert_array_equal(found[0, 0], pf.fuse(pixels[1, 1], hot_pixels="off", exposure="off").image)
    ome = zarr.open_group(tmp_path / "out.ome.zarr").attrs["ome"]
    assert [channel["label"] for channel in ome["omero"]["channels"]] == ["b"]
    transforms = ome["multiscales"][0]["datasets"][0]["coordinateTransformations"]
    assert transforms[1]["translation"] == [3, 0, -5, 7]  # the second time point, the place of the input


def test_other_description_is_another_input(tmp_path, store):
    """The same pixels with another scale."""
    copy = shutil.copytree(store, tmp_path / "in.ome.zarr")
    out = tmp_path / "out.ome.zarr"
    plans = [prepare(request_for(copy, {"image": out}), force=False).plan]
    (copy / ".zattrs").write_text((copy / ".zattrs").read_text().replace("0.25", "0.125"))
    plans += [prepare(request_for(copy, {"image": out}), force=False).plan]
    assert {name for name in plans[0] if plans[0][name] != plans[1][name]} == {"state"}


def test_ctrl_c_while_a_tiff_is_written_leaves_only_the_checkpoint(tmp_path, channels, monkeypatch):
    from panfocus.io import tiff_writer

    class IgnoringTerminal(Terminal):
        ignores_interrupts = False

        def finish(self):
            self.ignores_interrupts = True

    def interrupted(level, side):
        yield next(tiles(level, side))
        if not terminal.ignores_interrupts:
            raise KeyboardInterrupt

    tiles, terminal, out = tiff_writer._pad_tiles, IgnoringTerminal(), tmp_path / "out.ome.tif"
    options = {"decide_channels": "separate", "time": 1}
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(tiff_writer, "_pad_tiles", interrupted)
        fuse_store(channels[0], {"image": out}, terminal=terminal, **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["channels.ome.zarr", "out.ome.tif.part"]
    for function in ("run_task", "run_in_worker"):  # no task is left
        monkeypatch.setattr(f"panfocus.tiled_store.store_run.{function}", None)
    fuse_store(channels[0], {"image": out}, terminal=terminal, **options)
    assert terminal.ignores_interrupts
    with tifffile.TiffFile(out) as tiff:
        assert tiff.series[0].shape == (2, 150, 140)
