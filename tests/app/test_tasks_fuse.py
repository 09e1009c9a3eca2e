"""Tasks of a worker: saved fusions, and exported files that equal those of the command line."""

import dataclasses
import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image
from scipy.ndimage import gaussian_filter, shift

from panfocus.app.request_builder import command_line
from panfocus.app.saved_result import SavedResult, is_unchanged
from panfocus.app.tasks import estimate, export, fuse
from panfocus.app.tasks.progress_events import LiveMap, ProgressEvents
from panfocus.cli import main
from panfocus.errors import UsageError
from panfocus.io.disk_array import ArrayFolder
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image
from panfocus.job.request import Outputs, Request
from panfocus.job.serialization import from_plain, to_plain
from panfocus.result import FusionResult
from panfocus.show.colormap import apply_colormap

N = 3


@pytest.fixture(scope="module")
def frames():
    """Colour frames (3, 150, 180, 3): a third of the width is sharp in each."""
    rng = np.random.default_rng(8)
    sharp = gaussian_filter(rng.random((150, 180, 3)), (0.7, 0.7, 0))
    sharp = (sharp - sharp.min()) / np.ptp(sharp)
    blurred = np.array([gaussian_filter(sharp, (s, s, 0)) if s else sharp for s in (0, 1.5, 3)])
    columns = np.arange(180)
    return np.array([blurred[np.abs(columns // 60 - k), :, columns].swapaxes(0, 1) for k in range(N)])


def written(folder, frames, kind):
    """Write frames in a format, with a profile and metadata where it has them; return their files."""
    folder.mkdir()
    paths = []
    for k, frame in enumerate(frames):
        if kind == "tif":
            path = folder / f"z{k}.tif"
            write_image(path, np.rint(65535 * frame).astype(np.uint16))
        else:
            path = folder / f"z{k}.{kind}"
            exif = Image.Exif()
            exif[0x010F] = "A maker of cameras"
            Image.fromarray(np.rint(255 * frame).astype(np.uint8)).save(
                path, exif=exif, dpi=(240, 240), icc_profile=Image.new("RGB", (1, 1)).info.get("icc_profile")
            )
        paths.append(path)
    return paths


def fused(tmp_path, paths, **options):
    """Do the task; return the folder of the job, its request, the result and the events."""
    folder = tmp_path / "job"
    (folder / "exports").mkdir(parents=True)
    outputs = Outputs(image=folder / "exports" / "fused.tif", report=folder / "exports" / "report.json")
    request = Request(inputs=tuple(map(str, paths)), outputs=outputs, **options)
    events = []
    result = fuse.run(events.append, folder=str(folder), request=to_plain(request), reads=[])
    return folder, request, json.loads(json.dumps(result)), events


def exported(folder, request, outputs, **options):
    asked = dataclasses.replace(request, outputs=outputs, **options)
    plain = to_plain(asked)
    return export.run(lambda _: None, folder=str(folder), request=plain, with_image=True)


def typed(line, folder, monkeypatch):
    """Run a command line in a folder."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", shlex.split(line))
    with pytest.raises(SystemExit) as exit_:
        main()
    assert not exit_.value.code


NAMES = {
    "labels": "labels.png",
    "confidence": "confidence.tif",
    "depth": "depth.png",
    "depth_colour": "depth_colour.png",
    "never_in_focus": "never.png",
}


@pytest.mark.parametrize(
    ("kind", "picture", "options", "moved"),
    [
        ("png", "fused.png", {}, False),
        ("jpg", "fused.jpg", {"jpeg_quality": 80}, True),
        ("tif", "fused.tif", {}, True),
        ("tif", "fused.jpg", {"bits": 8}, False),
    ],
)
def test_exported_bytes_equal_those_of_the_command_line(
    tmp_path, frames, kind, picture, options, moved, monkeypatch
):
    if moved:
        frames = np.array(
            [np.clip(shift(frame, (1.5 * k, -k, 0), mode="nearest"), 0, 1) for k, frame in enumerate(frames)]
        )
    paths = written(tmp_path / "frames", frames, kind)
    folder, request, result, _ = fused(tmp_path, paths, borders="crop")
    assert (result["width"] < 180) == moved
    for path in paths:  # exports do not need them
        path.rename(path.with_suffix(".away"))
    names = {kind_: Path(name) for kind_, name in NAMES.items()}
    here = {kind_: folder / "exports" / name for kind_, name in names.items()}
    exported(folder, request, Outputs(image=folder / "exports" / picture, **here), **options)
    for path in paths:
        path.with_suffix(".away").rename(path)
    asked = dataclasses.replace(request, outputs=Outputs(image=Path(picture), **names), **options)
    typed(command_line(asked), tmp_path / "typed", monkeypatch)
    for name in (picture, *NAMES.values()):
        ours, theirs = folder / "exports" / name, tmp_path / "typed" / name
        assert ours.read_bytes() == theirs.read_bytes(), name


def test_a_frame_that_changes_during_the_fusion_counts_as_changed(tmp_path, frames):
    paths = written(tmp_path / "frames", frames, "png")
    folder = tmp_path / "job"
    (folder / "exports").mkdir(parents=True)
    outputs = Outputs(image=folder / "exports" / "fused.tif", report=folder / "exports" / "report.json")
    request = Request(inputs=tuple(map(str, paths)), outputs=outputs, method="pca", align="off")

    def send(event):
        if event.get("stage") == "check":  # after the stamps, before the frames are read
            paths[1].write_bytes(paths[0].read_bytes())

    fuse.run(send, folder=str(folder), request=to_plain(request), reads=[])
    report = json.loads((folder / "report.json").read_text())
    assert [is_unchanged(entry, report["stamps"]) for entry in report["inputs"]] == [True, False, True]


def test_saved_arrays_are_those_of_the_fusion(tmp_path, frames):
    paths = written(tmp_path / "frames", frames, "png")
    folder, _, result, events = fused(tmp_path, paths, align="off", exposure="off", hot_pixels="off")
    arrays = ArrayFolder(folder / "arrays")
    with arrays.array("frames") as kept, arrays.array("labels") as labels, arrays.array("votes") as votes:
        np.testing.assert_array_equal(kept[...], np.array([read_image(path) for path in paths]))
        assert labels.shape == votes.shape[1:] == (150, 180)
        # The final live map shows the labels, at full size as the frames are small.
        live = read_image(folder / "live.png")
        np.testing.assert_array_equal(live[..., :3], apply_colormap(labels[...] / (N - 1)))
        shares = np.bincount(labels[...].ravel(), minlength=N) / labels[...].size
    assert (live[..., 3] == 255).all()
    assert result["report"]["frame_shares"] == pytest.approx(list(shares), abs=1e-6)
    assert result["layers"] == [
        "fused", "frame-0", "frame-1", "frame-2", "labels", "depth", "confidence", "never_in_focus",
    ]  # fmt: skip
    assert (result["width"], result["height"], result["n_frames"], result["dtype"]) == (180, 150, 3, "uint8")
    assert result["names"] == ["z0.png", "z1.png", "z2.png"]
    stages = [event["stage"] for event in events if event["event"] == "progress"]
    assert list(dict.fromkeys(stages)) == ["check", "fuse", "keep"]
    assert next(event["version"] for event in events if event["event"] == "live") == 1
    assert any("180 x 150" in event["text"] for event in events if event["event"] == "summary")


def test_an_exported_report_repeats_the_fusion(tmp_path, frames, monkeypatch):
    paths = written(tmp_path / "frames", frames, "png")
    folder, request, _, _ = fused(tmp_path, paths)
    outputs = Outputs(image=folder / "exports" / "a.png", report=folder / "exports" / "a.json")
    exported(folder, request, outputs)
    typed(f"panfocus fuse --from-report {outputs.report} -o again.png", tmp_path / "again", monkeypatch)
    assert (tmp_path / "again" / "again.png").read_bytes() == outputs.image.read_bytes()
    report = json.loads(outputs.report.read_text())
    assert [entry["from_report"] for entry in report["inputs"]] == [path.name for path in paths]
    sent = report["outputs"]
    assert [(entry["kind"], entry["path"]) for entry in sent] == [("image", outputs.image.name)]


def test_slabs_are_exported_as_the_command_line_writes_them(tmp_path, frames, monkeypatch):
    paths = written(tmp_path / "frames", frames, "png")
    folder, request, result, _ = fused(tmp_path, paths, slabs="2:1", align="off")
    assert "confidence" not in result["layers"]
    exported(
        folder, request, Outputs(image=folder / "exports" / "f.png", labels=folder / "exports" / "l.png")
    )
    asked = dataclasses.replace(request, outputs=Outputs(image=Path("f.png"), labels=Path("l.png")))
    typed(command_line(asked), tmp_path / "typed", monkeypatch)
    names = sorted(path.name for path in (tmp_path / "typed").iterdir())
    assert names == ["f-slab-01.tif", "f-slab-02.tif", "f.png", "l.png"]
    for name in names:
        assert (folder / "exports" / name).read_bytes() == (tmp_path / "typed" / name).read_bytes()


def test_pages_of_a_microscope_are_exported_as_the_command_line_does(tmp_path, frames, monkeypatch):
    path = tmp_path / "cells.ome.tif"
    planes = np.rint(4000 * frames[..., :2]).astype(np.uint16).transpose(0, 3, 1, 2)  # slices, channels
    sizes = {"PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5, "PhysicalSizeZ": 2.0}
    tifffile.imwrite(path, planes, ome=True, metadata={"axes": "ZCYX", **sizes})
    folder, request, result, _ = fused(tmp_path, [path], align="off")
    assert result["names"] == [f"cells.ome.tif (page {k})" for k in (1, 2, 3)]
    assert result["dtype"] == "uint16"
    names = {"image": Path("f.tif"), "depth": Path("d.png")}
    exported(folder, request, Outputs(**{kind: folder / "exports" / name for kind, name in names.items()}))
    typed(
        command_line(dataclasses.replace(request, outputs=Outputs(**names))), tmp_path / "typed", monkeypatch
    )
    for name in names.values():
        assert (folder / "exports" / name).read_bytes() == (tmp_path / "typed" / name).read_bytes()


def test_a_large_live_map_is_made_smaller_and_grows(tmp_path):
    labels = np.arange(2500 * 1203).reshape(2500, 1203) % 7
    sent = []
    live = LiveMap(tmp_path / "live.png", (7, *labels.shape, 3), sent.append)
    for top in range(0, 2500, 500):
        for left in range(0, 1203, 401):
            rows, cols = slice(top, min(top + 500, 2500)), slice(left, left + 401)
            if top < 2000:
                live.watch(rows, cols, FusionResult(image=labels[rows, cols], labels=labels[rows, cols]))
    live.finish()
    picture = read_image(tmp_path / "live.png")
    assert picture.shape == (834, 401, 4)  # every third pixel
    np.testing.assert_array_equal(
        picture[..., 3], np.where(np.arange(834) * 3 < 2000, 255, 0)[:, None] * np.ones(401)
    )
    shown = labels[::3, ::3]
    np.testing.assert_array_equal(picture[:667, :, :3], apply_colormap(shown[:667] / 6))
    assert [event["version"] for event in sent] == list(range(1, len(sent) + 1))


def test_a_map_that_the_method_does_not_compute_is_refused(tmp_path, frames):
    paths = written(tmp_path / "frames", frames, "png")
    folder, request, result, events = fused(tmp_path, paths, method="dwt", align="off")
    assert "labels" not in result["layers"]
    assert not [event for event in events if event["event"] == "live"]
    with pytest.raises(UsageError):
        exported(
            folder, request, Outputs(image=folder / "exports" / "f.png", depth=folder / "exports" / "d.tif")
        )
    assert list((folder / "exports").iterdir()) == []


def test_a_saved_result_is_restored(tmp_path, frames):
    paths = written(tmp_path / "frames", frames, "jpg")
    folder, *_ = fused(tmp_path, paths, step="5um")
    content = json.loads((folder / "kept.json").read_text())
    kept = from_plain(content, SavedResult)
    assert to_plain(kept) == content
    assert kept.metadata.exif
    assert kept.metadata.resolution.x == 240
    assert (kept.depth_scale.step, kept.depth_scale.unit) == (5.0, "um")


def test_an_estimate_has_size_memory_and_time_or_an_error(tmp_path, frames):
    paths = written(tmp_path / "frames", frames, "png")
    outputs = Outputs(image=tmp_path / "fused.tif")
    sent = estimate.run(print, request=to_plain(Request(inputs=tuple(map(str, paths)), outputs=outputs)))
    assert (sent["n_frames"], sent["width"], sent["height"], sent["error"]) == (3, 180, 150, None)
    assert sent["memory"] > frames[0].size * 3
    assert sent["seconds"] > 0
    paths[1].write_bytes(b"no picture")
    sent = estimate.run(print, request=to_plain(Request(inputs=tuple(map(str, paths)), outputs=outputs)))
    assert sent["error"].startswith(str(paths[1]))
    assert sent["seconds"] is None
    assert list(tmp_path.iterdir()) == [tmp_path / "frames"]


def test_compiling_is_a_stage_that_interrupts_another():
    sent = []
    events = ProgressEvents(sent.append)
    events.progress("align", 0.25)
    events._compiling(True)
    events._compiling(False)
    assert [(event["stage"], event["done"]) for event in sent] == [
        ("align", 0.25),
        ("compile", 0.0),
        ("align", 0.25),
    ]


def test_an_estimate_includes_compiling_if_needed(tmp_path, frames, monkeypatch):
    request = Request(
        inputs=tuple(map(str, written(tmp_path / "in", frames, "png"))),
        outputs=Outputs(image=tmp_path / "fused.png"),
    )
    kept = [True, False]
    monkeypatch.setattr(estimate, "is_any_cached", lambda *parts: kept.pop(0))
    sent = [estimate.run(print, request=to_plain(request)) for _ in range(2)]
    assert [each["compiling"] for each in sent] == [0.0, estimate.SECONDS_TO_COMPILE]
    assert sent[1]["seconds"] == pytest.approx(sent[0]["seconds"] + estimate.SECONDS_TO_COMPILE)
