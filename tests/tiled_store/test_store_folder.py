"""Where a run keeps what it has done, and where its stores go: after kills, changes and by way of links."""

import importlib
import os
import shutil

import numpy as np
import pytest
from store_runs import Quiet, fuse_store, levels, request_for

import panfocus as pf
from panfocus.io.ome_zarr import count_missing_chunks, read_ome_zarr, store_state
from panfocus.tiled_store import store_run as whole_run
from panfocus.tiled_store.checkpoint import RunFolder
from panfocus.tiled_store.prepare import prepare
from panfocus.tiled_store.store_run import run
from panfocus.tiled_store.tasks import work

zarr = pytest.importorskip("zarr")


@pytest.fixture
def small(tmp_path, slices):
    """A store of plain chunks: another of the same size can take the place of each."""
    pixels = slices[:, :150, :140]
    zarr.create_array(tmp_path / "in.zarr", data=pixels, chunks=(1, 64, 64), compressors=None)
    return tmp_path / "in.zarr", pixels


def fuse_again(path, out):
    job = prepare(request_for(path, {"image": out}), decisions="shared", force=True)
    return run(job, Quiet(), force=True)


def test_a_store_that_is_a_link_is_replaced_where_the_link_leads_to(tmp_path, small):
    path, pixels = small
    (tmp_path / "disk").mkdir()
    link, target = tmp_path / "out.ome.zarr", tmp_path / "disk" / "old.ome.zarr"
    link.symlink_to(target)  # which is not there yet
    fuse_store(path, {"image": link})
    np.testing.assert_array_equal(levels(target)[0], pf.fuse(pixels).image)
    shutil.rmtree(target / "0")
    fuse_again(path, link)
    assert link.is_symlink()
    assert sorted(each.name for each in (tmp_path / "disk").iterdir()) == ["old.ome.zarr"]
    np.testing.assert_array_equal(levels(target)[0], pf.fuse(pixels).image)


def test_no_output_lies_where_the_picture_is_made(tmp_path, small):
    out = tmp_path / "out.ome.zarr"
    (tmp_path / "out.ome.zarr.part").mkdir()
    inside = {"image": out, "labels": tmp_path / "out.ome.zarr.part" / "labels.ome.zarr"}
    with pytest.raises(pf.InputError, match=r"labels\.ome\.zarr: .* where that is made"):
        fuse_store(small[0], inside)


def test_a_folder_that_a_kill_has_left_with_its_lock_alone_is_taken(tmp_path, small):
    path, pixels = small
    part = tmp_path / "out.ome.zarr.part"
    part.mkdir()
    (part / ".panfocus.lock").touch()
    fuse_store(path, {"image": tmp_path / "out.ome.zarr"})
    np.testing.assert_array_equal(levels(tmp_path / "out.ome.zarr")[0], pf.fuse(pixels).image)
    assert not part.exists()


@pytest.mark.parametrize("left", ["made-image.json", "done-fuse-0-0-0.json", "image.ome.zarr"])
def test_what_a_kill_leaves_of_a_folder_that_was_being_removed_counts_for_nothing(
    tmp_path, small, left, monkeypatch
):
    path, pixels = small
    out, part = tmp_path / "out.ome.zarr", tmp_path / "out.ome.zarr.part"

    def killed(folder):
        (part / "plan.json").write_text("{}")
        (folder.room / left).mkdir(exist_ok=True) if left == "image.ome.zarr" else None  # half of a store
        for entry in folder.room.iterdir():
            if entry.name != left:
                entry.unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            fuse_store(path, {"image": out})
    assert list(part.rglob(left))
    fuse_again(path, out)
    np.testing.assert_array_equal(levels(out)[0], pf.fuse(pixels).image)
    assert not part.exists()


class Stopper(Quiet):
    """A listener that ends the run when fusing begins."""

    def progress(self, stage, done):
        if stage == "fuse":
            raise KeyboardInterrupt


@pytest.fixture
def late(small, tmp_path, monkeypatch):
    """Let a worker be late: `late(at, meanwhile)` has it end its tile after what happens `meanwhile`.

    Its client has gone before; `at` is the function that it is in then.
    """
    path, _ = small

    def work_late(at, meanwhile):
        tasks, made = [], RunFolder.tasks
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(RunFolder, "tasks", lambda *of: [tasks.append(one) or one for one in made(*of)])
            fuse_store(path, {"image": tmp_path / "out.ome.zarr"}, listener=Stopper(), method="coupled")

        def then_go_on(*given, **options):
            found = function(*given, **options)
            patch.undo()
            meanwhile()
            return found

        function = getattr(importlib.import_module(at.rpartition(".")[0]), at.rpartition(".")[2])
        with monkeypatch.context() as patch:
            patch.setattr(at, then_go_on)
            with pytest.raises(pf.FileError, match="another run has taken this folder"):
                work(tasks[-1])

    return work_late


PLACES = ["panfocus.tiling.fuse_part", "panfocus.io.ome_zarr_writer.open_level"]  # as it fuses, as it writes


@pytest.mark.parametrize("at", PLACES)
def test_a_late_worker_of_other_settings_has_no_say_in_a_run_begun_anew(tmp_path, small, late, at):
    """Even if that was begun with its settings once more in between."""
    path, pixels = small
    out = {"image": tmp_path / "out.ome.zarr"}

    def begin_anew():
        for method in ("dwt", "coupled", "panfocus"):
            with pytest.raises(KeyboardInterrupt):
                fuse_store(path, out, listener=Stopper(), method=method)

    late(at, begin_anew)
    assert len(list((tmp_path / "out.ome.zarr.part").glob("run-*"))) == 1
    fuse_store(path, out, method="panfocus")
    np.testing.assert_array_equal(levels(out["image"])[0], pf.fuse(pixels).image)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in.zarr", "out.ome.zarr"]


def test_what_a_late_worker_fails_at_is_told_beside_that_its_run_is_over(tmp_path, small, monkeypatch):
    path, _ = small
    tasks, made = [], RunFolder.tasks
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(RunFolder, "tasks", lambda *of: [tasks.append(one) or one for one in made(*of)])
        fuse_store(path, {"image": tmp_path / "out.ome.zarr"}, listener=Stopper())

    def fails(*_):
        (tmp_path / "out.ome.zarr.part" / "plan.json").write_text("{}")
        raise pf.FileError("in.zarr, slice 2: damaged")

    monkeypatch.setattr("panfocus.tiling.fuse_part", fails)
    with pytest.raises(pf.FileError, match=r"another run has taken .* \(in\.zarr, slice 2: damaged\)"):
        work(tasks[-1])


@pytest.mark.parametrize("at", PLACES)
def test_a_worker_later_than_the_whole_run_leaves_nothing_behind(tmp_path, small, late, at):
    path, pixels = small
    out = {"image": tmp_path / "out.ome.zarr"}
    late(at, lambda: fuse_store(path, out))
    np.testing.assert_array_equal(levels(out["image"])[0], pf.fuse(pixels).image)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in.zarr", "out.ome.zarr"]


def test_another_chunk_of_the_same_size_and_an_older_time_is_another_input(tmp_path, small):
    path, _ = small
    request = request_for(path, {"image": tmp_path / "out.ome.zarr"})
    before = prepare(request, decisions="shared", force=False).plan
    chunk = path / "c" / "1" / "0" / "0"
    chunk.write_bytes(bytes(chunk.stat().st_size))
    os.utime(chunk, (1e9, 1e9))
    after = prepare(request, decisions="shared", force=False).plan
    assert {name for name in before if before[name] != after[name]} == {"state"}


@pytest.mark.parametrize("changed", ["c/1/0/0", "zarr.json"])
def test_an_input_that_is_changed_while_it_is_fused_is_refused(tmp_path, small, monkeypatch, changed):
    """Its pixels, or its scale or fill value; nothing stays of a result that would be of two inputs."""
    path, _ = small
    halve = whole_run._halve

    def change_then_halve(*given):
        (path / changed).write_bytes((path / changed).read_bytes() + b" ")
        halve(*given)

    monkeypatch.setattr(whole_run, "_halve", change_then_halve)
    with pytest.raises(pf.FileError, match=r"in\.zarr: was changed while it was fused"):
        fuse_store(path, {"image": tmp_path / "out.ome.zarr"})
    assert [each.name for each in tmp_path.iterdir()] == ["in.zarr"]


def test_files_that_are_no_chunks_hide_no_missing_one(small):
    path, _ = small
    (path / "c" / "1" / "0" / "0").unlink()
    (path / "c" / "1" / "0" / ".DS_Store").touch()
    (path / "notes.txt").touch()
    image = read_ome_zarr(path)
    assert count_missing_chunks(image, store_state(image)) == 1
