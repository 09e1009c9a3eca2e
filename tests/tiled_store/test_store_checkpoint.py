"""Checkpoints of stores: after kills, changes of the input, late workers, and with symbolic links."""

import importlib
import os
import shutil

import numpy as np
import pytest
from store_runs import Terminal, fuse_store, levels, request_for

import panfocus as pf
from panfocus.io.ome_zarr import read_ome_zarr, store_state
from panfocus.tiled_store import store_run
from panfocus.tiled_store.checkpoint import StoreCheckpoint
from panfocus.tiled_store.prepare import prepare
from panfocus.tiled_store.store_run import run
from panfocus.tiled_store.tasks import run_task

zarr = pytest.importorskip("zarr")


@pytest.fixture
def small(tmp_path, slices):
    """A store of uncompressed chunks, and its pixels."""
    pixels = slices[:, :150, :140]
    zarr.create_array(tmp_path / "in.zarr", data=pixels, chunks=(1, 64, 64), compressors=None)
    return tmp_path / "in.zarr", pixels


def fuse_again(path, out):
    job = prepare(request_for(path, {"image": out}), force=True)
    return run(job, force=True)


def test_symbolic_link_to_a_store_is_kept_and_its_target_replaced(tmp_path, small):
    path, pixels = small
    (tmp_path / "disk").mkdir()
    link, target = tmp_path / "out.ome.zarr", tmp_path / "disk" / "old.ome.zarr"
    link.symlink_to(target)  # a broken link at first
    fuse_store(path, {"image": link})
    np.testing.assert_array_equal(levels(target)[0], pf.fuse(pixels).image)
    shutil.rmtree(target / "0")
    fuse_again(path, link)
    assert link.is_symlink()
    assert sorted(each.name for each in (tmp_path / "disk").iterdir()) == ["old.ome.zarr"]
    np.testing.assert_array_equal(levels(target)[0], pf.fuse(pixels).image)


def test_output_in_the_checkpoint_folder_is_refused(tmp_path, small):
    out = tmp_path / "out.ome.zarr"
    (tmp_path / "out.ome.zarr.part").mkdir()
    inside = {"image": out, "labels": tmp_path / "out.ome.zarr.part" / "labels.ome.zarr"}
    with pytest.raises(pf.InputError) as caught:
        fuse_store(small[0], inside)
    assert caught.value.facts["file"] == inside["labels"]


def test_folder_with_only_a_lock_is_used(tmp_path, small):
    path, pixels = small
    part = tmp_path / "out.ome.zarr.part"
    part.mkdir()
    (part / ".panfocus.lock").touch()
    fuse_store(path, {"image": tmp_path / "out.ome.zarr"})
    np.testing.assert_array_equal(levels(tmp_path / "out.ome.zarr")[0], pf.fuse(pixels).image)
    assert not part.exists()


@pytest.mark.parametrize("left", ["made-image.json", "done-fuse-0-0-0.json", "image.ome.zarr"])
def test_rest_of_a_checkpoint_that_was_being_removed_is_ignored(tmp_path, small, left, monkeypatch):
    path, pixels = small
    out, part = tmp_path / "out.ome.zarr", tmp_path / "out.ome.zarr.part"

    def remove_and_die(checkpoint):
        (part / "plan.json").write_text("{}")
        if left == "image.ome.zarr":  # half of a store
            (checkpoint.run_folder / left).mkdir(exist_ok=True)
        for entry in checkpoint.run_folder.iterdir():
            if entry.name != left:
                entry.unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(StoreCheckpoint, "remove", remove_and_die)
        with pytest.raises(KeyboardInterrupt):
            fuse_store(path, {"image": out})
    assert list(part.rglob(left))
    fuse_again(path, out)
    np.testing.assert_array_equal(levels(out)[0], pf.fuse(pixels).image)
    assert not part.exists()


class Stopper(Terminal):
    """Interrupts the run when fusing starts."""

    def progress(self, stage, done):
        if stage == "fuse":
            raise KeyboardInterrupt


def interrupted_tasks(monkeypatch, path, out, **settings):
    """Interrupt a run when fusing starts; return all its tasks."""
    tasks, make_tasks = [], StoreCheckpoint.tasks

    def record(*arguments):
        made = make_tasks(*arguments)
        tasks.extend(made)
        return made

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(StoreCheckpoint, "tasks", record)
        fuse_store(path, {"image": out}, terminal=Stopper(), **settings)
    return tasks


@pytest.fixture
def late(small, tmp_path, monkeypatch):
    """Run a tile of an interrupted run, and let something happen when it returns from a function."""
    path, _ = small

    def run_late(name, meanwhile):
        tasks = interrupted_tasks(monkeypatch, path, tmp_path / "out.ome.zarr", method="coupled")

        def return_late(*arguments, **options):
            result = function(*arguments, **options)
            patch.undo()
            meanwhile()
            return result

        module, _, attribute = name.rpartition(".")
        function = getattr(importlib.import_module(module), attribute)
        with monkeypatch.context() as patch:
            patch.setattr(name, return_late)
            with pytest.raises(pf.FileError) as caught:
                run_task(tasks[-1])
        assert str(caught.value.facts["file"]) == str(tmp_path / "out.ome.zarr.part")

    return run_late


PLACES = [
    "panfocus.tiling.tiled.fuse_part",
    "panfocus.io.ome_zarr_writer.open_level",
]  # while it fuses, while it writes


@pytest.mark.parametrize("at", PLACES)
def test_late_worker_with_other_settings_does_not_change_a_new_run(tmp_path, small, late, at):
    """Even if a run with its settings was started again in between."""
    path, pixels = small
    out = {"image": tmp_path / "out.ome.zarr"}

    def restart():
        for method in ("dwt", "coupled", "panfocus"):
            with pytest.raises(KeyboardInterrupt):
                fuse_store(path, out, terminal=Stopper(), method=method)

    late(at, restart)
    assert len(list((tmp_path / "out.ome.zarr.part").glob("run-*"))) == 1
    fuse_store(path, out, method="panfocus")
    np.testing.assert_array_equal(levels(out["image"])[0], pf.fuse(pixels).image)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in.zarr", "out.ome.zarr"]


def test_error_of_a_late_worker_is_part_of_the_message(tmp_path, small, monkeypatch):
    path, _ = small
    tasks = interrupted_tasks(monkeypatch, path, tmp_path / "out.ome.zarr")

    def fails(*_):
        (tmp_path / "out.ome.zarr.part" / "plan.json").write_text("{}")
        raise pf.FileError("in.zarr, slice 2: damaged")

    monkeypatch.setattr("panfocus.tiling.tiled.fuse_part", fails)
    with pytest.raises(pf.FileError, match=r"out\.ome\.zarr\.part.*in\.zarr, slice 2: damaged"):
        run_task(tasks[-1])


@pytest.mark.parametrize("at", PLACES)
def test_worker_that_ends_after_the_run_leaves_nothing(tmp_path, small, late, at):
    path, pixels = small
    out = {"image": tmp_path / "out.ome.zarr"}
    late(at, lambda: fuse_store(path, out))
    np.testing.assert_array_equal(levels(out["image"])[0], pf.fuse(pixels).image)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in.zarr", "out.ome.zarr"]


def test_chunk_of_the_same_size_and_another_time_is_another_input(tmp_path, small):
    path, _ = small
    request = request_for(path, {"image": tmp_path / "out.ome.zarr"})
    before = prepare(request, force=False).plan
    chunk = path / "c" / "1" / "0" / "0"
    chunk.write_bytes(bytes(chunk.stat().st_size))
    os.utime(chunk, (1e9, 1e9))
    after = prepare(request, force=False).plan
    assert {name for name in before if before[name] != after[name]} == {"state"}


@pytest.mark.parametrize("changed", ["c/1/0/0", "zarr.json"])
def test_input_that_changes_during_the_run_is_refused(tmp_path, small, monkeypatch, changed):
    """Its pixels, or its description."""
    path, _ = small
    reduce_levels = store_run._reduce_levels

    def change_then_reduce_levels(*given):
        (path / changed).write_bytes((path / changed).read_bytes() + b" ")
        reduce_levels(*given)

    monkeypatch.setattr(store_run, "_reduce_levels", change_then_reduce_levels)
    with pytest.raises(pf.FileError) as caught:
        fuse_store(path, {"image": tmp_path / "out.ome.zarr"})
    assert caught.value.facts["file"] == path
    assert [each.name for each in tmp_path.iterdir()] == ["in.zarr"]


def test_other_files_do_not_count_as_chunks(small):
    path, _ = small
    (path / "c" / "1" / "0" / "0").unlink()
    (path / "c" / "1" / "0" / ".DS_Store").touch()
    (path / "notes.txt").touch()
    image = read_ome_zarr(path)
    assert image.count_missing(store_state(image).n_files) == 1
