"""Stores that cannot be fused are refused before anything is written; unusual ones are fused."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from store_runs import InterruptedTerminal, Terminal, fuse_store, levels, panfocus, request_for

import panfocus as pf
from fake_cluster import fake_cluster
from panfocus.errors import NotEnoughMemoryError
from panfocus.io.ome_zarr import read_ome_zarr
from panfocus.job.request import Outputs, Request
from panfocus.job.run_report import repeat_request
from panfocus.parallel import Cluster
from panfocus.parallel.cluster import WorkerMemory
from panfocus.tiled_store import tile_plan
from panfocus.tiled_store.prepare import check_settings, prepare

zarr = pytest.importorskip("zarr")
pytest.importorskip("ome_zarr")

SCHEDULER = "tcp://far:8786"


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        ({"refine": True}, "refine"),
        ({"align": "affine"}, "align"),
        ({"reference": "0"}, "reference"),
        ({"borders": "crop"}, "borders"),
        ({"bits": 8}, "bits"),
        ({"skip_bad": True}, "skip_bad"),
        ({"jpeg_quality": 80}, "jpeg_quality"),
        ({"preview": True}, "preview"),
        ({"slabs": "4:2"}, "slabs"),
        ({"method": "pca"}, "method"),
        ({"method": "dwt", "labels": Path("l.ome.zarr")}, "labels"),
        ({"sweep": Path("walk.webp")}, "sweep"),
        ({"steps": Path("steps")}, "steps"),
        ({"decide_channels": "some"}, "decide_channels"),
    ],
)
def test_unsupported_setting_is_refused(tmp_path, store, options, setting, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outputs = {"image": Path("out.ome.zarr")}
    outputs |= {name: path for name, path in options.items() if isinstance(path, Path)}
    with pytest.raises(pf.InputError) as caught:
        fuse_store(store, outputs, **{k: v for k, v in options.items() if k not in outputs})
    assert caught.value.facts["setting"] == setting
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("setting", ["channel", "time"])
def test_missing_channel_or_time_point_is_refused(tmp_path, store, setting):
    with pytest.raises(pf.FileError) as caught:
        fuse_store(store, {"image": tmp_path / "out.ome.zarr"}, **{setting: 2})
    assert caught.value.facts == {"file": str(store), "setting": setting, "got": 2}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("setting", ["scheduler", "tiled"])
def test_setting_of_stores_is_refused_for_other_images(setting):
    request = Request(inputs=("a.png", "b.png"), outputs=Outputs(image=Path("out.png")))
    with pytest.raises(pf.InputError) as caught:
        check_settings(request, setting)
    assert caught.value.facts["setting"] == setting


def test_refused_setting_gives_the_reason(tmp_path, store, message):
    with pytest.raises(pf.InputError) as caught:
        fuse_store(store, {"image": tmp_path / "out.ome.zarr"}, refine=True)
    message("store with an unsupported setting", str(caught.value))


@pytest.mark.parametrize(
    "outputs",
    [
        {"image": "out.png"},
        {"labels": "out.ome.zarr"},
        {"labels": "out.ome.zarr/labels.zarr"},
        {"labels": "s3:/lab/labels.zarr"},
    ],
)
def test_wrong_output_path_is_refused(tmp_path, store, outputs, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = {kind: Path(path) for kind, path in ({"image": "out.ome.zarr"} | outputs).items()}
    with pytest.raises(pf.InputError) as caught:
        fuse_store(store, paths)
    assert str(caught.value.facts["file"]) in {*outputs.values(), "out.ome.zarr"}
    assert list(tmp_path.iterdir()) == []


def test_too_little_memory_is_refused(tmp_path, store, message):
    with pytest.raises(NotEnoughMemoryError) as caught:
        fuse_store(store, {"image": tmp_path / "out.ome.zarr"}, max_memory=100_000_000)
    facts = caught.value.facts
    assert facts["limit"] == 100_000_000 < facts["needed"]
    assert list(tmp_path.iterdir()) == []
    message("store with too little memory", str(caught.value), needed=f"{facts['needed'] / 1e6:,.0f}")


@pytest.mark.parametrize(
    "name",
    ["https:/example.org/a.zarr", "photo.jpg", "none.zarr", "slide.ome.zarr.zip", "zipped.ome.zarr"],
)
def test_input_that_is_not_a_store_is_refused(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("photo.jpg").write_bytes(b"\xff\xd8")
    for zipped in ("slide.ome.zarr.zip", "zipped.ome.zarr"):
        with zipfile.ZipFile(zipped, "w") as packed:
            packed.writestr("zarr.json", "{}")
    with pytest.raises(pf.PanfocusError, match=name):
        fuse_store(name, {"image": Path("out.ome.zarr")})


def test_existing_outputs_and_inputs_are_not_overwritten(tmp_path, store):
    def refuse(path, force=True, source=store, **outputs):
        request = Request(inputs=(str(source),), outputs=Outputs(**outputs))
        with pytest.raises(pf.FileError, match=path.name):
            prepare(request, force=force)

    refuse(store, image=store)
    refuse(Path("inner.zarr"), image=store / read_ome_zarr(store).array / "inner.zarr")
    refuse(Path(".zattrs"), image=tmp_path / "out.zarr", report=store / ".zattrs")
    refuse(Path("labels.tif"), image=tmp_path / "out.zarr", labels=store / "labels.tif")
    tiff = tmp_path / "in.ome.tif"
    pytest.importorskip("tifffile").imwrite(
        tiff, np.zeros((2, 40, 50), np.uint8), tile=(16, 16), metadata={"axes": "ZYX"}
    )
    refuse(tiff, source=tiff, image=tmp_path / "out.zarr", labels=tiff)
    mine = tmp_path / "photos.zarr"
    mine.mkdir()
    refuse(mine, force=False, image=mine)
    refuse(mine, image=mine)  # not a store


def test_other_folder_at_the_path_of_the_checkpoint_is_kept(tmp_path, store):
    part = tmp_path / "out.ome.zarr.part"
    part.mkdir()
    (part / "thesis.txt").write_text("years")
    with pytest.raises(pf.FileError) as caught:
        fuse_store(store, {"image": tmp_path / "out.ome.zarr"})
    assert caught.value.facts["file"] == part
    assert (part / "thesis.txt").exists()


def test_damaged_chunk_is_named(tmp_path, store):
    """With the command: zarr may complain at exit about chunks that it was reading."""
    copy = shutil.copytree(store, tmp_path / "stack.ome.zarr")
    pixels = copy / read_ome_zarr(copy).array
    chunk = next(path for path in sorted(pixels.rglob("*")) if path.is_file() and path.name[0] != ".")
    chunk.write_bytes(b"\xff" * 9)
    done = panfocus("fuse", copy, "-o", tmp_path / "out.ome.zarr", "--threads", 1)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert f"{copy}, slice 1, rows 0 to " in done.stderr
    assert f"{tmp_path / 'out.ome.zarr'}.part" in done.stderr
    assert not (tmp_path / "out.ome.zarr").exists()


def test_missing_chunk_is_reported_and_has_the_fill_value(tmp_path, slices):
    pixels = slices[:, :150, :140].copy()
    zarr.create_array(tmp_path / "in.zarr", data=pixels, chunks=(1, 64, 64), fill_value=7)
    (tmp_path / "in.zarr" / "c" / "1" / "0" / "0").unlink()
    pixels[1, :64, :64] = 7
    from panfocus.cli._tiled_store import fuse_store as command

    outputs = {"image": tmp_path / "out.zarr", "report": tmp_path / "report.json"}
    request = request_for(tmp_path / "in.zarr", outputs)
    terminal = Terminal()
    command(request, terminal, scheduler=None, force=False, dry_run=False)
    assert json.loads((tmp_path / "report.json").read_text())["missing_chunks"] == 1
    assert any(line.startswith(f"{tmp_path / 'in.zarr'}: ") and " 1 " in line for line in terminal.lines)
    np.testing.assert_array_equal(levels(tmp_path / "out.zarr")[0], pf.fuse(pixels).image)


def test_sharded_array_with_transposed_axes_is_fused(tmp_path, slices):
    """Columns before rows, several chunks in a file, and a last chunk that is one pixel wide."""
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
    request = request_for(tmp_path / "in.zarr", {"image": tmp_path / "o.zarr"})
    assert prepare(request, force=False).missing == 0
    fuse_store(tmp_path / "in.zarr", {"image": tmp_path / "out.zarr"})
    np.testing.assert_array_equal(levels(tmp_path / "out.zarr")[0], pf.fuse(pixels).image)


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((3, 40, 50), np.int16),
        np.zeros((3, 40, 50), bool),
        np.zeros((1, 40, 50), np.uint8),
        np.zeros((0, 40, 50), np.uint8),
        np.zeros((40, 50), np.uint8),
        np.full((2, 40, 50), np.inf, np.float32),
        np.full((2, 40, 50), 1e30),
    ],
    ids=["int16", "bool", "one slice", "empty", "no slices", "infinite", "too large"],
)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_unsupported_pixels_are_refused(tmp_path, pixels, zarr_format):
    zarr.create_array(tmp_path / "in.zarr", data=pixels, zarr_format=zarr_format)
    with pytest.raises(pf.PanfocusError) as caught:
        fuse_store(tmp_path / "in.zarr", {"image": tmp_path / "out.zarr"})
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "in.zarr") in str(caught.value)
    assert not (tmp_path / "out.zarr").exists()


@pytest.mark.parametrize("hot_pixels", ["off", "auto"])
def test_nan_is_refused(tmp_path, hot_pixels):
    pixels = np.random.default_rng(0).random((2, 90, 80)).astype(np.float32)
    pixels[1, 50, 60] = np.nan
    zarr.create_array(tmp_path / "plain.zarr", data=pixels, chunks=(1, 32, 32))
    with pytest.raises(pf.PanfocusError, match="slice 2"):
        fuse_store(tmp_path / "plain.zarr", {"image": tmp_path / "out.zarr"}, hot_pixels=hot_pixels)


def test_chunks_too_large_for_the_memory_are_refused(tmp_path):
    """A chunk is decoded as a whole: 2 x 8192 x 8192 values of 16 bits, twice."""
    zarr.create_array(
        tmp_path / "in.zarr", shape=(2, 8192, 8192), chunks=(2, 8192, 8192), dtype=np.uint16, fill_value=1
    )
    with pytest.raises(NotEnoughMemoryError) as caught:
        fuse_store(tmp_path / "in.zarr", {"image": tmp_path / "out.zarr"}, max_memory=10**9)
    assert caught.value.facts["chunks_too_large"]
    image = read_ome_zarr(tmp_path / "in.zarr")
    assert image.chunk_bytes == 2 * 8192 * 8192 * 2
    assert tile_plan.search_side(image) == 2048  # a part of the chunk


@pytest.mark.parametrize(
    ("limit", "max_memory", "planned"),
    [
        (2e9, None, 1_400_000_000),
        (1e9, None, 700_000_000),
        (1e9, 650_000_000, 650_000_000),
        (0, None, 10**9),
    ],
)
def test_run_is_planned_for_the_memory_of_the_workers(tmp_path, store, limit, max_memory, planned):
    request = request_for(store, {"image": tmp_path / "out.zarr"}, max_memory=max_memory)
    with fake_cluster(memory_limit=int(limit)) as cluster:
        job = prepare(request, force=False, cluster=cluster)
    assert job.max_memory == job.plan["max_memory"] == planned


def test_workers_with_too_little_memory_are_refused(tmp_path, store):
    with fake_cluster(memory_limit=600_000_000), pytest.raises(NotEnoughMemoryError) as caught:
        fuse_store(store, {"image": tmp_path / "out.zarr"}, scheduler=SCHEDULER)
    assert caught.value.facts["limit"] == 420_000_000
    assert list(tmp_path.iterdir()) == []


def test_worker_with_the_least_memory_for_each_thread_counts(monkeypatch):
    workers = {
        "tcp://a": WorkerMemory(3000, 1),
        "tcp://b": WorkerMemory(4000, 4),
        "tcp://unlimited": WorkerMemory(0, 1),
    }
    monkeypatch.setattr(Cluster, "_connect", lambda _: None)
    monkeypatch.setattr(Cluster, "workers", lambda _: workers)
    smallest = Cluster(SCHEDULER, print).smallest_worker()
    assert smallest == WorkerMemory(limit=4000, threads=4)
    assert smallest.task_bytes == 700


@pytest.mark.parametrize(("limit", "resumes"), [(2e9, True), (1.2e9, False)])
def test_run_resumes_with_larger_workers_only(tmp_path, store, limit, resumes, small_tiles):
    outputs = {"image": tmp_path / "out.zarr"}
    with fake_cluster(memory_limit=1_500_000_000), pytest.raises(KeyboardInterrupt):
        fuse_store(store, outputs, scheduler=SCHEDULER, terminal=InterruptedTerminal())
    with fake_cluster(memory_limit=int(limit)):
        fuse_store(store, outputs, scheduler=SCHEDULER, terminal=(terminal := Terminal()))
    restarted = [line for line in terminal.lines if str(tmp_path / "out.zarr.part") in line]
    assert len(restarted) == (0 if resumes else 1)


def test_report_of_a_store_cannot_be_repeated(fused):
    report = fused.outputs["image"].with_name("report.json")
    assert json.loads(report.read_text())["source"].endswith("stack.ome.zarr")
    with pytest.raises(pf.FileError, match=r"report\.json"):
        repeat_request(report, Request(inputs=(), outputs=Outputs()))
