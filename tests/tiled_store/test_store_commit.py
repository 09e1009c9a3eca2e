"""Commits of outputs: after a kill at any moment, the same command finishes them."""

import dataclasses
import gc
import json
import shutil

import numpy as np
import pytest
from store_runs import Terminal, levels, request_for

import panfocus as pf
from kills import Killed, killed_at, on_two_disks
from panfocus.cli._tiled_store import fuse_store
from panfocus.tiled_store import outputs, store_run

zarr = pytest.importorskip("zarr")
tifffile = pytest.importorskip("tifffile")

OPTIONS = {"scheduler": None, "dry_run": False}


@pytest.fixture(scope="module")
def fused_whole(slices):
    return pf.fuse(slices[:, :150, :140])


@pytest.fixture
def made(tmp_path, slices, monkeypatch):
    """Return a request whose outputs are ready to be committed, and a function that restores that state.

    Labels and the report are on another disk.
    """
    zarr.create_array(tmp_path / "in.zarr", data=slices[:, :150, :140], chunks=(1, 64, 64))
    here, disk, kept = tmp_path / "here", tmp_path / "disk", tmp_path / "kept"
    here.mkdir()
    disk.mkdir()
    on_two_disks(monkeypatch, disk)
    outputs = {"image": here / "out.ome.zarr", "labels": disk / "labels.ome.zarr"}
    outputs |= {"confidence": here / "confidence.ome.tif", "report": disk / "report.json"}
    request = request_for(tmp_path / "in.zarr", outputs)

    def killed(*_, **__):
        shutil.copytree(here, kept, ignore=shutil.ignore_patterns(".panfocus.lock"))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(store_run, "prepare_commit", killed)
        fuse_store(request, Terminal(), force=False, **OPTIONS)

    def undo():
        shutil.rmtree(here)
        shutil.rmtree(disk)
        shutil.copytree(kept, here)
        disk.mkdir()

    return request, undo


def names(request):
    folders = (request.outputs.image.parent, request.outputs.labels.parent)
    return {path.name for folder in folders for path in folder.iterdir()}


def check(request, whole):
    """Check that all outputs exist, and nothing else."""
    outputs = request.outputs
    np.testing.assert_array_equal(levels(outputs.image)[0], whole.image)
    np.testing.assert_array_equal(levels(outputs.labels)[0], whole.labels)
    np.testing.assert_array_equal(np.squeeze(tifffile.imread(outputs.confidence)), whole.confidence)
    assert json.loads(outputs.report.read_text())["units"][0]["tiles"] == 1
    assert names(request) == {"out.ome.zarr", "labels.ome.zarr", "confidence.ome.tif", "report.json"}


@pytest.fixture
def quick_collections():
    """Let the garbage collector look at new objects only, which is ten times faster."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("quick_collections")
def test_run_killed_during_its_commit_resumes(made, fused_whole, monkeypatch):
    """At every change of the disk. Nothing is fused again."""
    request, undo = made
    for function in ("run_task", "run_in_worker"):
        monkeypatch.setattr(f"panfocus.tiled_store.store_run.{function}", None)
    part, n, had_some = request.outputs.image.with_suffix(".zarr.part"), 1, 0
    while True:
        undo()
        try:
            with monkeypatch.context() as patch:
                killed_at(patch, n)
                fuse_store(request, Terminal(), force=False, **OPTIONS)
        except Killed:
            gc.collect()  # a lock is held as long as its file is open
        if not part.exists() or json.loads((part / "plan.json").read_text()) == {}:
            break  # committed
        had_some += request.outputs.labels.exists()
        fuse_store(request, Terminal(), force=False, **OPTIONS)
        check(request, fused_whole)
        n += 1
    assert request.outputs.image.exists()
    assert had_some > 5


def stop_when_labels_appear(monkeypatch, request):
    """Kill a run when the first outputs are committed."""
    move_into_place = outputs.move_into_place

    def killed(waiting, target, *given, **options):
        move_into_place(waiting, target, *given, **options)
        if target == request.outputs.labels:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(outputs, "move_into_place", killed)
        with pytest.raises(Killed):
            fuse_store(request, Terminal(), force=False, **OPTIONS)
    gc.collect()
    assert request.outputs.labels.exists()


def test_resumed_commit_does_not_overwrite_other_files(made, fused_whole, monkeypatch):
    request, _ = made
    stop_when_labels_appear(monkeypatch, request)
    mine = zarr.create_array(request.outputs.image, data=np.zeros(3))
    with pytest.raises(pf.FileError, match=r"out\.ome\.zarr"):
        fuse_store(request, Terminal(), force=False, **OPTIONS)
    assert mine.shape == (3,)
    shutil.rmtree(request.outputs.image)
    fuse_store(request, Terminal(), force=False, **OPTIONS)
    check(request, fused_whole)


def test_commit_with_other_names_is_refused_and_with_other_settings_starts_again(made, monkeypatch):
    request, _ = made
    stop_when_labels_appear(monkeypatch, request)
    elsewhere = dataclasses.replace(request.outputs, labels=request.outputs.labels.with_name("l.ome.zarr"))
    with pytest.raises(pf.FileError, match=r"labels\.ome\.zarr"):
        fuse_store(dataclasses.replace(request, outputs=elsewhere), Terminal(), force=True, **OPTIONS)
    other = dataclasses.replace(request, hot_pixels="off")
    with pytest.raises(pf.FileError, match=r"labels\.ome\.zarr"):
        fuse_store(other, Terminal(), force=False, **OPTIONS)
    fuse_store(other, terminal := Terminal(), force=True, **OPTIONS)
    assert any("out.ome.zarr.part" in line for line in terminal.lines)
    assert names(request) == {path.name for path in request.outputs.files().values()}
