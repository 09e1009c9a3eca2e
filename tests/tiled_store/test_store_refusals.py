"""What is refused of giant images: one line that names it, before anything is written; and what is not."""

import json
import re
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from store_runs import Impatient, Quiet, fuse_store, levels, panfocus, request_for

import panfocus as pf
from fake_cluster import fake_cluster
from panfocus.io.ome_zarr import read_ome_zarr
from panfocus.job.request import Outputs, Request
from panfocus.job.run_report import repeat_request
from panfocus.parallel import Cluster
from panfocus.parallel.cluster import WorkerMemory
from panfocus.tiled_store import tile_plan
from panfocus.tiled_store.prepare import prepare

zarr = pytest.importorskip("zarr")
pytest.importorskip("ome_zarr")

ALIGNED_FIRST = "--align affine: slices of a store are fused as they lie"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"refine": True}, "--refine: stores are fused tile by tile"),
        ({"align": "affine"}, ALIGNED_FIRST),
        ({"reference": "0"}, "--reference: slices are fused as they lie on each other; leave it out"),
        ({"borders": "crop"}, "--borders: slices are fused as they lie on each other; leave it out"),
        ({"bits": 8}, "--bits: the picture has the type of its slices; leave it out"),
        ({"skip_bad": True}, "--skip-bad: no slice is left out, and one that cannot be read ends the run"),
        ({"jpeg_quality": 80}, "--jpeg-quality: no JPEG is written; leave it out"),
        ({"preview": True}, "--preview: stores are fused tile by tile"),
        ({"slabs": "4:2"}, "--slabs: stores are fused tile by tile"),
        ({"method": "pca"}, "--method pca: it needs the whole image at once"),
        ({"method": "dwt", "labels": Path("l.ome.zarr")}, "the method dwt gives no labels"),
        ({"sweep": Path("walk.webp")}, "--sweep: stores are fused tile by tile"),
        ({"steps": Path("steps")}, "--save-steps: stores are fused tile by tile"),
        ({"decisions": "some"}, "--decisions must be one of shared, each"),
        ({"channel": 2}, "it has 1 channels; --channel 2 is none of them"),
        ({"max_memory": "100MB"}, "of memory would be needed for each worker"),
        ({"image": Path("out.png")}, "its name ends in .ome.zarr, or .ome.tif"),
        ({"labels": Path("out.ome.zarr")}, "out.ome.zarr: two outputs have this name"),
        ({"labels": Path("out.ome.zarr/labels.zarr")}, "or it lies in another"),
        ({"labels": Path("s3://lab/labels.zarr")}, "stores are read and written as files; copy it"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(tmp_path, store, options, complaint, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outputs = {"image": Path("out.ome.zarr")}
    outputs |= {name: path for name, path in options.items() if isinstance(path, Path)}
    with pytest.raises(pf.InputError, match=re.escape(complaint)) as caught:
        fuse_store(store, outputs, **{k: v for k, v in options.items() if k not in outputs})
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("https://example.org/slide.ome.zarr", "https://example.org/slide.ome.zarr: stores are read"),
        ("photo.jpg", "photo.jpg: only a store, or a TIFF of slices, is fused to a store"),
        ("none.zarr", "none.zarr: there is no such store"),
        ("slide.ome.zarr.zip", "slide.ome.zarr.zip: zipped stores are not read; unpack it"),
        ("zipped.ome.zarr", "zipped.ome.zarr: zipped stores are not read; unpack it"),
    ],
)
def test_what_is_no_store_is_refused_by_name(tmp_path, given, complaint, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("photo.jpg").write_bytes(b"\xff\xd8")
    for name in ("slide.ome.zarr.zip", "zipped.ome.zarr"):
        with zipfile.ZipFile(name, "w") as packed:
            packed.writestr("zarr.json", "{}")
    with pytest.raises(pf.PanfocusError, match=re.escape(complaint)):
        fuse_store(given, {"image": Path("out.ome.zarr")})


def test_an_output_is_not_overwritten_and_no_input_is(tmp_path, store):
    def refused(match, force=True, given=store, **outputs):
        request = Request(inputs=(str(given),), outputs=Outputs(**outputs))
        with pytest.raises(pf.FileError, match=match):
            prepare(request, decisions="shared", force=force)

    refused("is one of the inputs", image=store)
    refused("or lies in one", image=store / read_ome_zarr(store).array / "inner.zarr")
    refused("lies in the input", image=tmp_path / "out.zarr", report=store / ".zattrs")
    refused("lies in the input", image=tmp_path / "out.zarr", labels=store / "labels.tif")
    tiff = tmp_path / "in.ome.tif"
    pytest.importorskip("tifffile").imwrite(
        tiff, np.zeros((2, 40, 50), np.uint8), tile=(16, 16), metadata={"axes": "ZYX"}
    )
    refused("is one of the inputs", given=tiff, image=tmp_path / "out.zarr", labels=tiff)
    mine = tmp_path / "photos.zarr"
    mine.mkdir()
    refused("exists already", force=False, image=mine)
    refused("is no Zarr store", image=mine)


def test_a_strangers_folder_is_left_alone(tmp_path, store):
    part = tmp_path / "out.ome.zarr.part"
    part.mkdir()
    (part / "thesis.txt").write_text("years")
    with pytest.raises(pf.FileError, match="is in the way"):
        fuse_store(store, {"image": tmp_path / "out.ome.zarr"})
    assert (part / "thesis.txt").exists()


def test_a_damaged_chunk_is_named_and_nothing_appears(tmp_path, store):
    """By the command: zarr complains, when a program ends, of chunks that it was reading."""
    copy = shutil.copytree(store, tmp_path / "stack.ome.zarr")
    pixels = copy / read_ome_zarr(copy).array
    chunk = next(path for path in sorted(pixels.rglob("*")) if path.is_file() and path.name[0] != ".")
    chunk.write_bytes(b"\xff" * 9)
    done = panfocus("fuse", copy, "-o", tmp_path / "out.ome.zarr", "--threads", 1)
    assert done.returncode == 1
    assert done.stderr.startswith(f"panfocus: {copy}, slice 1, rows 0 to ")
    kept = f"{tmp_path / 'out.ome.zarr'}.part keeps what is done, and the same command goes on from there"
    assert done.stderr.endswith(f"; {kept}, or begins anew if the input was changed\n")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out.ome.zarr").exists()


def test_a_missing_chunk_is_its_fill_value_and_said(tmp_path, slices):
    pixels = slices[:, :150, :140].copy()
    zarr.create_array(tmp_path / "in.zarr", data=pixels, chunks=(1, 64, 64), fill_value=7)
    (tmp_path / "in.zarr" / "c" / "1" / "0" / "0").unlink()
    pixels[1, :64, :64] = 7
    from panfocus.cli._tiled_store import fuse_store as command

    outputs = {"image": tmp_path / "out.zarr", "report": tmp_path / "report.json"}
    request = request_for(tmp_path / "in.zarr", outputs)
    listener = Quiet()
    command(request, listener, decisions="shared", scheduler=None, force=False, dry_run=False)
    assert json.loads((tmp_path / "report.json").read_text())["missing_chunks"] == 1
    assert f"{tmp_path / 'in.zarr'}: 1 chunks have no file; they count as its fill value" in listener.said
    np.testing.assert_array_equal(levels(tmp_path / "out.zarr")[0], pf.fuse(pixels).image)


def test_a_sharded_array_with_turned_axes_is_fused(tmp_path, slices):
    """Columns before rows, several chunks a file, and a last chunk that is one pixel wide."""
    pixels = slices[:, :129, :193]
    array = zarr.create_array(
        tmp_path / "in.zarr",
        shape=(193, 129, 3),
        chunks=(32, 32, 1),
        shards=(64, 64, 3),
        dtype=pixels.dtype,
        dimension_names=["x", "y", "z"],
    )
    array[...] = pixels.T
    listener = Quiet()
    job = prepare(
        request_for(tmp_path / "in.zarr", {"image": tmp_path / "o.zarr"}), decisions="shared", force=False
    )
    assert job.missing == 0
    fuse_store(tmp_path / "in.zarr", {"image": tmp_path / "out.zarr"}, listener=listener)
    np.testing.assert_array_equal(levels(tmp_path / "out.zarr")[0], pf.fuse(pixels).image)


@pytest.mark.parametrize(
    ("pixels", "complaint"),
    [
        (np.zeros((3, 40, 50), np.int16), "is int16; supported: uint8, uint16"),
        (np.zeros((3, 40, 50), bool), "is bool; supported: uint8"),
        (np.zeros((1, 40, 50), np.uint8), "it has 1 slices; fusion needs at least two"),
        (np.zeros((0, 40, 50), np.uint8), r"it is empty: \(0, 40, 50\)"),
        (np.zeros((40, 50), np.uint8), "an array of 2 axes without their names"),
        (np.full((2, 40, 50), np.inf, np.float32), "slice 1 holds NaN or infinite values"),
        (np.full((2, 40, 50), 1e30), "slice 1 holds values up to 1e[+]30; rescale them"),
    ],
)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_pixels_that_cannot_be_fused_are_named(tmp_path, pixels, complaint, zarr_format):
    zarr.create_array(tmp_path / "in.zarr", data=pixels, zarr_format=zarr_format)
    with pytest.raises(pf.PanfocusError, match=complaint) as caught:
        fuse_store(tmp_path / "in.zarr", {"image": tmp_path / "out.zarr"})
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "in.zarr") in str(caught.value)
    assert not (tmp_path / "out.zarr").exists()


def test_floats_that_are_no_numbers_are_refused(tmp_path):
    pixels = np.random.default_rng(0).random((2, 90, 80)).astype(np.float32)
    pixels[1, 50, 60] = np.nan
    zarr.create_array(tmp_path / "plain.zarr", data=pixels, chunks=(1, 32, 32))
    for hot_pixels in ("off", "auto"):
        with pytest.raises(pf.PanfocusError, match="slice 2 holds NaN or infinite values"):
            fuse_store(tmp_path / "plain.zarr", {"image": tmp_path / "out.zarr"}, hot_pixels=hot_pixels)


def test_chunks_too_large_for_the_memory_are_refused(tmp_path):
    """A chunk is decoded whole, whatever the tiles: 2 x 8192 x 8192 bytes in 16 bit, and as much again."""
    zarr.create_array(
        tmp_path / "in.zarr", shape=(2, 8192, 8192), chunks=(2, 8192, 8192), dtype=np.uint16, fill_value=1
    )
    with pytest.raises(pf.InputError, match="save it in smaller chunks"):
        fuse_store(tmp_path / "in.zarr", {"image": tmp_path / "out.zarr"}, max_memory="1GB")
    image = read_ome_zarr(tmp_path / "in.zarr")
    assert image.chunk_bytes == 2 * 8192 * 8192 * 2
    assert (
        tile_plan.searched_side(image) == 2048
    )  # a part of a chunk that is larger than what is searched at once


@pytest.mark.parametrize(
    ("limit", "typed", "planned"),
    [(3e9, None, 2_100_000_000), (1e9, None, 700_000_000), (1e9, "650MB", 650_000_000), (0, None, 10**9)],
)
def test_work_is_planned_for_what_a_clusters_workers_have(tmp_path, store, limit, typed, planned):
    from panfocus.cli._tiled_store import fuse_store as command

    listener, request = Quiet(), request_for(store, {"image": tmp_path / "out.zarr"}, max_memory=typed)
    with fake_cluster(memory_limit=int(limit)):
        command(request, listener, decisions="shared", scheduler="tcp://far:8786", force=False, dry_run=True)
    assert listener.said[-1].endswith(f", at most {planned / 1e6:,.0f} MB for each task")


def test_workers_with_too_little_memory_are_refused_with_their_limit_before_any_work(tmp_path, store):
    complaint = (
        "more than the 420 MB for a task on a worker with a limit of 600 MB and 1 thread; give workers"
    )
    with fake_cluster(memory_limit=600_000_000), pytest.raises(pf.InputError, match=complaint):
        fuse_store(store, {"image": tmp_path / "out.zarr"}, scheduler="tcp://far:8786")
    assert list(tmp_path.iterdir()) == []


def test_worker_with_the_least_memory_for_each_thread_counts(monkeypatch):
    workers = {"tcp://a": (3000, 1), "tcp://b": (4000, 4), "tcp://unlimited": (0, 1)}
    info = {address: {"memory_limit": limit, "nthreads": n} for address, (limit, n) in workers.items()}
    monkeypatch.setattr(Cluster, "_connect", lambda _: None)
    monkeypatch.setattr(Cluster, "worker_info", lambda _: info)
    smallest = Cluster("tcp://far:8786", print).smallest_worker()
    assert smallest == WorkerMemory(limit=4000, threads=4)
    assert smallest.task_bytes == 700


@pytest.mark.parametrize(("limit", "goes_on"), [(2e9, True), (1.2e9, False)])
def test_a_run_goes_on_with_larger_workers_and_begins_anew_with_smaller_ones(
    tmp_path, store, limit, goes_on, small_tiles
):
    outputs = {"image": tmp_path / "out.zarr"}
    with fake_cluster(memory_limit=1_500_000_000), pytest.raises(KeyboardInterrupt):
        fuse_store(store, outputs, scheduler="tcp://far:8786", listener=Impatient())
    with fake_cluster(memory_limit=int(limit)):
        fuse_store(store, outputs, scheduler="tcp://far:8786", listener=(listener := Quiet()))
    assert any("begins anew" in line for line in listener.said) != goes_on


def test_a_report_of_a_store_is_not_done_again_and_says_so(fused):
    report = fused.outputs["image"].with_name("report.json")
    assert json.loads(report.read_text())["source"].endswith("stack.ome.zarr")
    with pytest.raises(pf.FileError, match=r"report\.json: it tells of a store, .* type its command again"):
        repeat_request(report, Request(inputs=(), outputs=Outputs()))
