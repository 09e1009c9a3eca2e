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
    """Two 16-bit frames of a texture; what is at x in the first is at x - 7, y + 4 in the second."""
    texture = gaussian_filter(np.random.default_rng(5).random((200, 240)), 1.5)
    texture = np.rint(65535 * (texture - texture.min()) / np.ptp(texture)).astype(np.uint16)
    write_image(tmp_path / "a.tif", texture[20:170, 20:200])
    write_image(tmp_path / "b.tif", texture[16:166, 27:207])
    write_image(tmp_path / "c.tif", texture[:150, :180][::-1, ::-1])
    write_image(tmp_path / "d.tif", texture[18:168, 23:203])
    write_image(tmp_path / "e.tif", texture[14:164, 29:209])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_aligned_frames_are_written_under_their_names_with_a_report(shifted, run):
    ran = run("align", "a.tif", "b.tif", "-o", "out", "--borders", "crop")
    assert (ran.code, ran.err) == (0, "")
    assert "aligned by shift to a.tif: corners moved by up to" in ran.out
    report = json.loads((shifted / "out" / "alignment.json").read_text())
    np.testing.assert_allclose(report["transforms"][1], [[1, 0, -7], [0, 1, 4], [0, 0, 1]], atol=0.05)
    one, other = read_image("out/a.tif"), read_image("out/b.tif")
    assert one.dtype == np.uint16
    # By whole pixels, to within a twentieth of one: nearly the same values, where both have some.
    assert one.shape == other.shape
    assert np.abs(one.astype(int) - other).mean() < 300
    again = run("align", "a.tif", "b.tif", "-o", "out")
    assert again.code == 1
    assert "exists already" in again.err


def test_fuse_aligns_and_reports_it(shifted, run):
    options = ("--report", "report.json", "--reference", "b.tif", "--borders", "crop")
    ran = run("fuse", "a.tif", "b.tif", "-o", "fused.tif", *options)
    assert (ran.code, ran.err) == (0, "")
    assert "aligned by shift to b.tif: " in ran.out
    report = json.loads((shifted / "report.json").read_text())
    assert "alignment" in json.dumps(report)
    assert read_image("fused.tif").shape[0] < 150


@pytest.mark.parametrize(("command", "output"), [("align", "out"), ("fuse", "fused.tif")])
def test_a_frame_of_something_else_is_named(shifted, run, command, output):
    ran = run(command, "a.tif", "b.tif", "c.tif", "-o", output)
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 1
    assert "c.tif shows another scene" in ran.err
    assert "leave it out" in ran.err
    assert not (shifted / output).exists()


@pytest.fixture
def hazy(shifted):
    """Frames that show nothing: too little to tell another scene by, and nothing to align."""
    for seed, name in enumerate(("0-haze.tif", "ab-haze.tif", "ac-haze.tif")):
        noise = np.random.default_rng(seed).normal(30_000, 60, (150, 180))
        write_image(shifted / name, np.rint(noise).astype(np.uint16))
    return shifted


@pytest.mark.parametrize(("command", "output"), [("align", "out"), ("fuse", "fused.tif")])
def test_a_frame_that_shows_nothing_is_called_blank(hazy, run, command, output):
    ran = run(command, "a.tif", "b.tif", "ac-haze.tif", "-o", output)
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 1
    assert "cannot align ac-haze.tif (blank) with its neighbours: nothing is seen in it" in ran.err
    assert "--skip-bad" in ran.err
    assert not (hazy / output).exists()


def test_fuse_leaves_out_what_cannot_be_aligned(hazy, run):
    """Two such frames between good ones, and one before: pairs on both sides still find each other."""
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
        assert line.startswith(f"panfocus: warning: left out: {name} cannot be aligned")
        assert line.endswith("(it is blank)")
    assert len(report["alignment"]["transforms"]) == 4
    assert report["alignment"]["reference"] == 2
    assert run("fuse", "a.tif", "d.tif", "b.tif", "e.tif", "-o", "good.tif", *options).code == 0
    np.testing.assert_array_equal(read_image("new.tif"), read_image("good.tif"))
    again = run("fuse", "--from-report", "report.json", "-o", "again.tif")
    assert again.code == 0, again.err
    assert (hazy / "again.tif").read_bytes() == (hazy / "new.tif").read_bytes()


@pytest.mark.parametrize("skip", [(), ("--skip-bad",)])
@pytest.mark.parametrize(("command", "output"), [("align", "out"), ("fuse", "fused.tif")])
def test_a_reference_that_cannot_be_aligned_is_named_and_not_the_good_frames(
    hazy, run, command, output, skip
):
    frames = ("a.tif", "d.tif", "ab-haze.tif", "b.tif", "e.tif")
    ran = run(command, *frames, "-o", output, "--reference", "ab-haze.tif", *skip)
    assert (ran.code, len(ran.err.splitlines())) == (1, 1), ran.err
    assert "cannot align ab-haze.tif (blank)" in ran.err
    assert "it is the reference: choose another" in ran.err
    assert "left out" not in ran.err
    assert "--skip-bad" not in ran.err
    assert not (hazy / output).exists()


def test_too_few_frames_that_can_be_aligned_are_refused(hazy, run):
    ran = run("fuse", "a.tif", "0-haze.tif", "ab-haze.tif", "-o", "new.tif", "--skip-bad")
    assert ran.code == 1
    assert "fusion needs at least two frames" in ran.err.splitlines()[-1]
    assert not (hazy / "new.tif").exists()


def test_a_reference_is_the_same_frame_after_others_are_left_out(shifted, run):
    """Of five, two are left out as they are read: a text, and another scene; their places close up."""
    (shifted / "0.tif").write_bytes(b"text")
    options = ("--skip-bad", "--reference", "b.tif", "--report", "report.json")
    ran = run("fuse", "0.tif", "c.tif", "a.tif", "b.tif", "-o", "new.tif", *options)
    assert ran.code == 0, ran.err
    report = json.loads((shifted / "report.json").read_text())
    assert report["alignment"]["reference"] == 1
    ran = run("fuse", "c.tif", "a.tif", "b.tif", "-o", "other.tif", "--skip-bad", "--reference", "c.tif")
    assert ran.code == 1
    assert "--reference: c.tif was left out" in ran.err.splitlines()[-1]


def test_align_leaves_bad_frames_out_as_fuse_does(hazy, run):
    (hazy / "0.tif").write_bytes(b"text")
    (hazy / "copy.tif").write_bytes((hazy / "a.tif").read_bytes())
    names = ("0.tif", "c.tif", "a.tif", "copy.tif", "ab-haze.tif", "b.tif")
    ran = run("align", *names, "-o", "out", "--skip-bad", "--quiet")
    assert ran.code == 0, ran.err
    report = json.loads((hazy / "out" / "alignment.json").read_text())
    assert report["frames"] == ["a.tif", "b.tif"]
    dropped = {item["frame"]: item["reason"] for item in report["dropped"]}
    assert len(dropped) == len(ran.err.splitlines()) == 4
    assert "another scene" in dropped["c.tif"]
    assert "same pixels as a.tif" in dropped["copy.tif"]
    assert "cannot be aligned" in dropped["ab-haze.tif"]
    assert sorted(path.name for path in (hazy / "out").iterdir()) == ["a.tif", "alignment.json", "b.tif"]
    assert run("align", "a.tif", "b.tif", "-o", "good").code == 0
    for name in ("a.tif", "b.tif"):
        assert (hazy / "out" / name).read_bytes() == (hazy / "good" / name).read_bytes()


def test_align_tells_of_copies(shifted, run):
    (shifted / "copy.tif").write_bytes((shifted / "a.tif").read_bytes())
    ran = run("align", "a.tif", "copy.tif", "b.tif", "-o", "out")
    assert ran.code == 0
    assert "copy.tif has the same pixels as a.tif; it is used all the same" in ran.out


def test_pages_of_one_file_get_files_of_their_own(shifted, run):
    import tifffile

    pages = np.stack([read_image("a.tif"), read_image("b.tif")])
    tifffile.imwrite("stack.tif", pages, photometric="minisblack")
    assert run("align", "stack.tif", "-o", "out").code == 0
    assert sorted(path.name for path in (shifted / "out").iterdir()) == [
        "alignment.json",
        "stack-page0001.tif",
        "stack-page0002.tif",
    ]


def test_a_reference_stays_the_same_frame_when_others_are_left_out(shifted, run):
    frames = ("a.tif", "c.tif", "b.tif")  # c shows something else
    ran = run(
        "fuse", *frames, "-o", "fused.tif", "--skip-bad", "--reference", "b.tif", "--report", "report.json"
    )
    assert ran.code == 0
    assert "--skip-bad" not in ran.err  # it is left out already
    report = json.loads((shifted / "report.json").read_text())
    assert [entry["frame"] for entry in report["dropped"]] == ["c.tif"]
    assert report["alignment"]["reference"] == 1  # of a and b
    ran = run("fuse", *frames, "-o", "other.tif", "--skip-bad", "--reference", "1")
    assert ran.code == 1
    assert "--reference: c.tif was left out" in ran.err
    assert not (shifted / "other.tif").exists()


@pytest.mark.parametrize("typed", ["frames/b.tif", "b", "1"])
def test_a_reference_is_found_again_from_a_report_elsewhere(shifted, run, monkeypatch, typed):
    (shifted / "frames").mkdir()
    for name in ("a.tif", "b.tif"):
        (shifted / name).rename(shifted / "frames" / name)
    arguments = ("--reference", typed, "--report", "report.json", "--borders", "crop")
    assert run("fuse", "frames", "-o", "fused.tif", *arguments).code == 0
    monkeypatch.chdir(shifted / "frames")
    ran = run("fuse", "--from-report", "../report.json", "-o", "../again.tif")
    assert (ran.code, ran.err) == (0, "")
    assert (shifted / "again.tif").read_bytes() == (shifted / "fused.tif").read_bytes()


def test_a_page_is_found_again_from_a_report_elsewhere(shifted, run, monkeypatch):
    import tifffile

    tifffile.imwrite(
        "stack.tif", np.stack([read_image("a.tif"), read_image("b.tif")]), photometric="minisblack"
    )
    arguments = ("--reference", "stack.tif, page 2,", "--report", "report.json")
    assert run("fuse", "stack.tif", "-o", "fused.tif", *arguments).code == 0
    (shifted / "elsewhere").mkdir()
    monkeypatch.chdir(shifted / "elsewhere")
    assert run("fuse", "--from-report", "../report.json", "-o", "again.tif").code == 0
    assert (shifted / "elsewhere" / "again.tif").read_bytes() == (shifted / "fused.tif").read_bytes()


def test_a_number_that_is_also_the_name_of_another_frame_is_refused(shifted, run):
    (shifted / "a.tif").rename(shifted / "1.tif")
    (shifted / "b.tif").rename(shifted / "2.tif")
    ran = run("fuse", "1.tif", "2.tif", "-o", "fused.tif", "--reference", "1")
    assert ran.code == 2
    assert all(name in ran.err for name in ("--reference 1", "1.tif", "2.tif")), ran.err
    assert run("fuse", "1.tif", "2.tif", "-o", "fused.tif", "--reference", "1.tif").code == 0


def test_other_sets_are_repaired_and_corrected_as_the_first(shifted, run):
    """A set that is the first itself, with hot pixels and flicker, gives the picture's own bits."""
    dark = read_image("b.tif") * np.float64(0.8)
    for name, frame in (("a", read_image("a.tif")), ("b", np.rint(dark).astype(np.uint16))):
        frame[40:140:20, 30:170:20] = 65535
        write_image(f"hot-{name}.tif", frame)
    arguments = ("--hot-pixels", "on", "--apply-to", "hot-?.tif", "--apply-output", "applied.tif")
    ran = run("fuse", "hot-a.tif", "hot-b.tif", "-o", "fused.tif", *arguments)
    assert (ran.code, ran.err) == (0, "")
    assert "hot pixels repaired" in ran.out
    assert "exposure of" in ran.out
    np.testing.assert_array_equal(read_image("applied.tif"), read_image("fused.tif"))


def test_aligned_frames_keep_their_own_metadata_and_a_fused_picture_those_of_the_reference(shifted, run):
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


def test_frames_in_memory_stay_there_also_when_hot_pixels_were_repaired(shifted, run, monkeypatch):
    """What is repaired is aligned where the frames are: no scratch file that no plan has counted."""
    for name in ("a.tif", "b.tif"):
        frame = read_image(name) // 8 + 20000  # smooth enough for a hot pixel to stand out
        frame[40::50, 40::50] = 65535  # at the same pixels in both
        write_image(name, frame, force=True)
    monkeypatch.setattr("panfocus.io.disk_array.scratch_frames", lambda *_: pytest.fail("a scratch file"))
    ran = run("fuse", "a.tif", "b.tif", "-o", "fused.tif")
    assert (ran.code, ran.err) == (0, "")
    assert "hot pixels repaired" in ran.out
    assert "aligned by shift" in ran.out
    assert read_image("fused.tif").max() < 65535


# Microscopes. Each frame shows the texture enlarged a little more: a corner moves by .9 pixels from frame to
# frame, so that scale explains them and a shift does not.


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
    ("sizes", "options", "model", "said"),
    [
        (MICROMETRES, (), "none", True),
        (MICROMETRES, ("--model", "similarity"), "similarity", False),
        (INCHES, (), "similarity", False),
        ({}, (), "similarity", False),
    ],
)
def test_a_stack_of_a_microscope_is_not_scaled_unless_asked_for(breathing, run, sizes, options, model, said):
    metadata = {"axes": "ZYX", **sizes}
    tifffile.imwrite("z.ome.tif", breathing, ome=True, photometric="minisblack", metadata=metadata)
    ran = run("align", "z.ome.tif", "-o", "out", *options)
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(Path("out/alignment.json").read_text())["model"] == model
    assert ("only shifts were looked for" in ran.out) == said


def test_a_stack_of_a_microscope_is_shifted(shifted, run):
    frames = np.stack([read_image("a.tif"), read_image("b.tif")])
    metadata = {"axes": "ZYX", **MICROMETRES}
    tifffile.imwrite("z.ome.tif", frames, ome=True, photometric="minisblack", metadata=metadata)
    ran = run("fuse", "z.ome.tif", "-o", "fused.tif")
    assert (ran.code, ran.err) == (0, "")
    assert "aligned by shift to z.ome.tif, page 1: " in ran.out
    assert "only shifts were looked for" in ran.out
