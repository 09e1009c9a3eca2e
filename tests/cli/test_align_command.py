"""`panfocus align`, and frames that `panfocus fuse` has to align."""

import json
from pathlib import Path

import numpy as np
import pytest
import tifffile
from scipy.ndimage import gaussian_filter, map_coordinates

from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image


@pytest.fixture
def shifted(tmp_path, monkeypatch):
    """Two 16-bit frames of a texture; the second is shifted by (-7, 4) pixels."""
    texture = gaussian_filter(np.random.default_rng(5).random((200, 240)), 1.5)
    texture = np.rint(65535 * (texture - texture.min()) / np.ptp(texture)).astype(np.uint16)
    write_image(tmp_path / "a.tif", texture[20:170, 20:200])
    write_image(tmp_path / "b.tif", texture[16:166, 27:207])
    write_image(tmp_path / "c.tif", texture[:150, :180][::-1, ::-1])
    write_image(tmp_path / "d.tif", texture[18:168, 23:203])
    write_image(tmp_path / "e.tif", texture[14:164, 29:209])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_aligned_frames_keep_their_names(shifted, run, fails):
    ran = run("align", "a.tif", "b.tif", "-o", "out", "--borders", "crop")
    assert (ran.code, ran.err) == (0, "")
    report = json.loads((shifted / "out" / "alignment.json").read_text())
    np.testing.assert_allclose(report["transforms"][1], [[1, 0, -7], [0, 1, 4], [0, 0, 1]], atol=0.05)
    one, other = read_image("out/a.tif"), read_image("out/b.tif")
    assert one.dtype == np.uint16
    # By whole pixels, to within a twentieth of one: nearly the same values, where both have some.
    assert one.shape == other.shape
    assert np.abs(one.astype(int) - other).mean() < 300
    assert report["model"] == "shift"
    fails("align", "a.tif", "b.tif", "-o", "out", names=["out/a.tif", "--force"])


def test_fuse_aligns_and_reports_the_alignment(shifted, run):
    options = ("--report", "report.json", "--reference", "b.tif", "--borders", "crop")
    ran = run("fuse", "a.tif", "b.tif", "-o", "fused.tif", *options)
    assert (ran.code, ran.err) == (0, "")
    assert "b.tif" in ran.out
    report = json.loads((shifted / "report.json").read_text())["alignment"]
    assert (report["model"], report["reference"]) == ("shift", 1)
    assert read_image("fused.tif").shape[0] < 150


@pytest.mark.parametrize(("command", "output"), [("align", "out"), ("fuse", "fused.tif")])
def test_frame_of_another_scene_is_rejected(shifted, fails, command, output):
    fails(command, "a.tif", "b.tif", "c.tif", "-o", output, names=["c.tif"])


@pytest.fixture
def hazy(shifted):
    """Blank frames: noise with no structure to align or to compare scenes by."""
    for seed, name in enumerate(("0-haze.tif", "ab-haze.tif", "ac-haze.tif")):
        noise = np.random.default_rng(seed).normal(30_000, 60, (150, 180))
        write_image(shifted / name, np.rint(noise).astype(np.uint16))
    return shifted


@pytest.mark.parametrize(("command", "output"), [("align", "out"), ("fuse", "fused.tif")])
def test_blank_frame_is_rejected(hazy, fails, command, output):
    fails(
        command, "a.tif", "b.tif", "ac-haze.tif", "-o", output, names=["ac-haze.tif", "blank", "--skip-bad"]
    )


def test_skip_bad_skips_frames_that_cannot_be_aligned(hazy, run):
    """One blank frame comes first, two are between good frames."""
    options = ("--hot-pixels", "off", "--reference", "b.tif", "--set", "quality=fast")
    frames = ("0-haze.tif", "a.tif", "d.tif", "ab-haze.tif", "ac-haze.tif", "b.tif", "e.tif")
    ran = run("fuse", *frames, "-o", "new.tif", "--skip-bad", "--quiet", "--report", "report.json", *options)
    assert ran.code == 0, ran.err
    lines = ran.err.splitlines()
    assert len(lines) == 3
    report = json.loads((hazy / "report.json").read_text())
    haze = ["0-haze.tif", "ab-haze.tif", "ac-haze.tif"]
    assert [item["frame"] for item in report["dropped"]] == haze
    for name, line in zip(haze, lines, strict=True):
        assert line.startswith("panfocus: warning: ")
        assert name in line
        assert "blank" in line
    assert len(report["alignment"]["transforms"]) == 4
    assert report["alignment"]["reference"] == 2
    assert run("fuse", "a.tif", "d.tif", "b.tif", "e.tif", "-o", "good.tif", *options).code == 0
    np.testing.assert_array_equal(read_image("new.tif"), read_image("good.tif"))
    again = run("fuse", "--from-report", "report.json", "-o", "again.tif")
    assert again.code == 0, again.err
    assert (hazy / "again.tif").read_bytes() == (hazy / "new.tif").read_bytes()


@pytest.mark.parametrize("skip", [(), ("--skip-bad",)])
@pytest.mark.parametrize(("command", "output"), [("align", "out"), ("fuse", "fused.tif")])
def test_blank_reference_is_rejected(hazy, fails, command, output, skip):
    frames = ("a.tif", "d.tif", "ab-haze.tif", "b.tif", "e.tif")
    options = ("-o", output, "--reference", "ab-haze.tif", *skip)
    ran = fails(command, *frames, *options, names=["ab-haze.tif", "--reference"])
    assert not any(name in ran.err for name in (" a.tif", " b.tif", " d.tif", " e.tif", "--skip-bad"))


def test_single_alignable_frame_is_rejected(hazy, run):
    ran = run("fuse", "a.tif", "0-haze.tif", "ab-haze.tif", "-o", "new.tif", "--skip-bad")
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 3
    assert not (hazy / "new.tif").exists()


def test_reference_stays_the_same_frame_when_others_are_skipped(shifted, run):
    """Of four files, two are skipped: a text and another scene."""
    (shifted / "0.tif").write_bytes(b"text")
    options = ("--skip-bad", "--reference", "b.tif", "--report", "report.json")
    ran = run("fuse", "0.tif", "c.tif", "a.tif", "b.tif", "-o", "new.tif", *options)
    assert ran.code == 0, ran.err
    report = json.loads((shifted / "report.json").read_text())
    assert report["alignment"]["reference"] == 1
    for reference in ("c.tif", "0"):
        options = ("--skip-bad", "--reference", reference)
        ran = run("fuse", "c.tif", "a.tif", "b.tif", "-o", "other.tif", *options)
        assert ran.code == 1
        assert "c.tif" in ran.err.splitlines()[-1]
        assert not (shifted / "other.tif").exists()


def test_align_skips_bad_frames_as_fuse_does(hazy, run):
    (hazy / "0.tif").write_bytes(b"text")
    (hazy / "copy.tif").write_bytes((hazy / "a.tif").read_bytes())
    names = ("0.tif", "c.tif", "a.tif", "copy.tif", "ab-haze.tif", "b.tif")
    ran = run("align", *names, "-o", "out", "--skip-bad", "--quiet")
    assert ran.code == 0, ran.err
    report = json.loads((hazy / "out" / "alignment.json").read_text())
    assert report["frames"] == ["a.tif", "b.tif"]
    dropped = {item["frame"] for item in report["dropped"]}
    assert dropped == {"0.tif", "c.tif", "copy.tif", "ab-haze.tif"}
    assert len(ran.err.splitlines()) == 4
    assert sorted(path.name for path in (hazy / "out").iterdir()) == ["a.tif", "alignment.json", "b.tif"]
    assert run("align", "a.tif", "b.tif", "-o", "good").code == 0
    for name in ("a.tif", "b.tif"):
        assert (hazy / "out" / name).read_bytes() == (hazy / "good" / name).read_bytes()


def test_align_reports_duplicate_frames(shifted, run):
    (shifted / "copy.tif").write_bytes((shifted / "a.tif").read_bytes())
    ran = run("align", "a.tif", "copy.tif", "b.tif", "-o", "out")
    assert ran.code == 0
    assert any("copy.tif" in line and "a.tif" in line for line in ran.out.splitlines())


def test_each_page_of_a_tiff_gets_its_own_file(shifted, run):
    import tifffile

    pages = np.stack([read_image("a.tif"), read_image("b.tif")])
    tifffile.imwrite("stack.tif", pages, photometric="minisblack")
    assert run("align", "stack.tif", "-o", "out").code == 0
    assert sorted(path.name for path in (shifted / "out").iterdir()) == [
        "alignment.json",
        "stack-page0001.tif",
        "stack-page0002.tif",
    ]


@pytest.mark.parametrize("typed", ["frames/b.tif", "b", "1"])
def test_reference_is_found_when_a_report_is_repeated_elsewhere(shifted, run, monkeypatch, typed):
    (shifted / "frames").mkdir()
    for name in ("a.tif", "b.tif"):
        (shifted / name).rename(shifted / "frames" / name)
    arguments = ("--reference", typed, "--report", "report.json", "--borders", "crop")
    assert run("fuse", "frames", "-o", "fused.tif", *arguments).code == 0
    monkeypatch.chdir(shifted / "frames")
    ran = run("fuse", "--from-report", "../report.json", "-o", "../again.tif")
    assert (ran.code, ran.err) == (0, "")
    assert (shifted / "again.tif").read_bytes() == (shifted / "fused.tif").read_bytes()


def test_reference_page_is_found_when_its_file_has_moved_with_the_report(shifted, run, monkeypatch):
    import tifffile

    tifffile.imwrite(
        "stack.tif", np.stack([read_image("a.tif"), read_image("b.tif")]), photometric="minisblack"
    )
    arguments = ("--reference", "stack.tif (page 2)", "--report", "report.json")
    assert run("fuse", "stack.tif", "-o", "fused.tif", *arguments).code == 0
    (shifted / "elsewhere").mkdir()
    for name in ("stack.tif", "report.json"):
        (shifted / name).rename(shifted / "elsewhere" / name)
    monkeypatch.chdir(shifted / "elsewhere")
    assert run("fuse", "--from-report", "report.json", "-o", "again.tif").code == 0
    assert (shifted / "elsewhere" / "again.tif").read_bytes() == (shifted / "fused.tif").read_bytes()


def test_ambiguous_reference_number_is_rejected(shifted, run, fails):
    (shifted / "a.tif").rename(shifted / "1.tif")
    (shifted / "b.tif").rename(shifted / "2.tif")
    options = ("-o", "fused.tif", "--reference", "1")
    fails("fuse", "1.tif", "2.tif", *options, code=2, names=["--reference", "1.tif", "2.tif"])
    assert run("fuse", "1.tif", "2.tif", "-o", "fused.tif", "--reference", "1.tif").code == 0


def test_other_sets_are_corrected_as_the_first(shifted, run):
    """The first set again, with hot pixels and flicker, gives the same bits."""
    dark = read_image("b.tif") * np.float64(0.8)
    for name, frame in (("a", read_image("a.tif")), ("b", np.rint(dark).astype(np.uint16))):
        frame[40:140:20, 30:170:20] = 65535
        write_image(f"hot-{name}.tif", frame)
    arguments = ("--hot-pixels", "on", "--apply-to", "hot-?.tif", "--apply-output", "applied.tif")
    ran = run("fuse", "hot-a.tif", "hot-b.tif", "-o", "fused.tif", *arguments)
    assert (ran.code, ran.err) == (0, "")
    np.testing.assert_array_equal(read_image("applied.tif"), read_image("fused.tif"))


def test_aligned_frames_keep_their_metadata_and_the_fused_image_has_the_references(shifted, run):
    from PIL import Image

    date_time = 306  # the tag of EXIF
    times = {"a": "2024:01:01 10:00:00", "b": "2024:01:01 10:00:05"}
    for name, time in times.items():
        exif = Image.Exif()
        exif[date_time] = time
        gray = Image.fromarray((read_image(f"{name}.tif") >> 8).astype(np.uint8))
        gray.save(f"{name}.jpg", quality=95, exif=exif)
    assert run("align", "a.jpg", "b.jpg", "-o", "out").code == 0
    for name, time in times.items():
        with Image.open(f"out/{name}.png") as aligned:
            assert aligned.getexif()[date_time] == time
    for options, name in (((), "a"), (("--reference", "b.jpg"), "b")):
        assert run("fuse", "a.jpg", "b.jpg", "-o", "fused.png", "--force", *options).code == 0
        with Image.open("fused.png") as fused:
            assert fused.getexif()[date_time] == times[name]


def test_repaired_frames_stay_in_memory(shifted, run, monkeypatch):
    """Alignment after a repair uses no scratch file, which the memory plan has not counted."""
    for name in ("a.tif", "b.tif"):
        frame = read_image(name) // 8 + 20000  # smooth enough for a hot pixel to stand out
        frame[40::50, 40::50] = 65535  # at the same pixels in both
        write_image(name, frame, force=True)
    monkeypatch.setattr("panfocus.io.disk_array.scratch_frames", lambda *_: pytest.fail("a scratch file"))
    ran = run("fuse", "a.tif", "b.tif", "-o", "fused.tif")
    assert (ran.code, ran.err) == (0, "")
    assert read_image("fused.tif").max() < 65535


# Microscopy. Each frame is enlarged a little more: a corner moves by 0.9 pixels from frame to frame, so that
# scale explains it and a shift does not.


@pytest.fixture
def breathing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texture = gaussian_filter(np.random.default_rng(8).random((240, 240)), 1.5)
    texture = (texture - texture.min()) / np.ptp(texture)
    rows, cols = np.mgrid[20:220, 20:220] - 119.5
    frames = [
        map_coordinates(texture, [rows / z + 119.5, cols / z + 119.5], order=3) for z in (1, 1.009, 1.018)
    ]
    return np.rint(60000 * np.clip(frames, 0, 1)).astype(np.uint16)


MICROMETRES = {
    "PhysicalSizeX": 0.5,
    "PhysicalSizeXUnit": "µm",
    "PhysicalSizeY": 0.5,
    "PhysicalSizeYUnit": "µm",
}
INCHES = {"PhysicalSizeX": 0.01, "PhysicalSizeXUnit": "in", "PhysicalSizeY": 0.01, "PhysicalSizeYUnit": "in"}


@pytest.mark.parametrize(
    ("sizes", "options", "model"),
    [
        (MICROMETRES, (), "none"),
        (MICROMETRES, ("--model", "similarity"), "similarity"),
        (INCHES, (), "similarity"),
        ({}, (), "similarity"),
    ],
)
def test_microscopy_stack_is_not_scaled_by_default(breathing, run, sizes, options, model):
    metadata = {"axes": "ZYX", **sizes}
    tifffile.imwrite("z.ome.tif", breathing, ome=True, photometric="minisblack", metadata=metadata)
    ran = run("align", "z.ome.tif", "-o", "out", *options)
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(Path("out/alignment.json").read_text())["model"] == model


def test_microscopy_stack_is_aligned_by_shifts(shifted, run):
    frames = np.stack([read_image("a.tif"), read_image("b.tif")])
    metadata = {"axes": "ZYX", **MICROMETRES}
    tifffile.imwrite("z.ome.tif", frames, ome=True, photometric="minisblack", metadata=metadata)
    ran = run("fuse", "z.ome.tif", "-o", "fused.tif", "--report", "report.json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(Path("report.json").read_text())["alignment"]["model"] == "shift"
