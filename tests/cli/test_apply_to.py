"""`panfocus fuse --apply-to`: other frames, composed by the same decision."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from scipy.ndimage import gaussian_filter

import panfocus as pf
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image


def test_other_frames_are_composed_with_the_same_weights(lights, run, stack):
    sets = (
        "--apply-to",
        "red",
        "--apply-output",
        "red.tif",
        "--apply-to",
        "white",
        "--apply-output",
        "w.png",
    )
    ran = run("fuse", "white", "-o", "fused.png", *sets)
    assert (ran.code, ran.err) == (0, "")
    assert Path("w.png").read_bytes() == Path("fused.png").read_bytes()
    result = pf.fuse(stack, maps=("votes",))
    expected = pf.apply(result, stack[..., 0].astype(np.uint16) * 200)
    np.testing.assert_array_equal(read_image("red.tif"), expected)


def test_methods_without_weights_apply_their_labels(lights, run, stack):
    ran = run(
        "fuse", "white", "-o", "fused.png", "--method", "dsift",
        "--apply-to", "red", "--apply-output", "red.tif", "--labels", "labels.png",
    )  # fmt: skip
    assert ran.code == 0
    labels = read_image("labels.png").astype(int)
    expected = np.take_along_axis(stack[..., 0].astype(np.uint16) * 200, labels[None], 0)[0]
    np.testing.assert_array_equal(read_image("red.tif"), expected)


def test_damaged_other_frame_is_rejected(lights, fails):
    data = Path("red/z2.png").read_bytes()
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 255
    Path("red/z2.png").write_bytes(damaged)
    sets = ("--apply-to", "red", "--apply-output", "red.png")
    fails("fuse", "white", "-o", "fused.png", *sets, names=["red/z2.png"])


def textures(*seeds):
    """Return 8-bit frames (64, 100) that have nothing in common."""
    smooth = [gaussian_filter(np.random.default_rng(seed).random((64, 100)), 3) for seed in seeds]
    return [np.rint(255 * (one - one.min()) / np.ptp(one)).astype(np.uint8) for one in smooth]


@pytest.fixture
def two_lights(tmp_path, monkeypatch):
    """Two frames of one texture, `a` and `b`; the same with half the contrast, `c` and `d`; another, `x`."""
    scene, other = textures(1, 2)
    for name, frame in (("a", scene), ("b", np.roll(scene, 1, axis=1)), ("x", other)):
        write_image(tmp_path / f"{name}.png", frame)
    write_image(tmp_path / "c.png", scene // 2 + 60)
    write_image(tmp_path / "d.png", np.roll(scene // 2 + 60, 1, axis=1))
    monkeypatch.chdir(tmp_path)
    return tmp_path


APPLIED = ("fuse", "a.png", "b.png", "-o", "fused.png", "--align", "off")


def test_another_scene_in_a_set_is_rejected(two_lights, fails):
    ran = fails(*APPLIED, "--apply-to", "[cx].png", "--apply-output", "applied.png", names=["x.png", "c.png"])
    assert "--skip-bad" not in ran.err  # it cannot be combined with --apply-to


def test_set_of_another_scene_is_reported(two_lights, run):
    write_image("y.png", np.roll(read_image("x.png"), 1, axis=1))
    arguments = ("--apply-to", "[xy].png", "--apply-output", "applied.png", "--report", "report.json")
    ran = run(*APPLIED, *arguments)
    assert (ran.code, ran.err) == (0, "")
    assert any("x.png" in line and "a.png" in line for line in ran.out.splitlines())
    assert len(json.loads(Path("report.json").read_text())["applied"][0]["warnings"]) == 1
    arguments = ("--apply-to", "[cd].png", "--apply-output", "applied.png", "--report", "report.json")
    assert run(*APPLIED, *arguments, "--force").code == 0
    assert json.loads(Path("report.json").read_text())["applied"][0]["warnings"] == []


def test_corrections_and_lost_metadata_of_a_set_are_reported(two_lights, run):
    """The second frame of the set is darker by a fifth; the first has a gamma, which TIFF cannot hold."""
    write_image("d.png", np.rint(read_image("d.png") * 0.8).astype(np.uint8), force=True)
    gamma = PngInfo()
    gamma.add(b"gAMA", (50_000).to_bytes(4, "big"))
    Image.fromarray(read_image("c.png")).save("c.png", pnginfo=gamma)
    arguments = ("--apply-output", "applied.tif", "--report", "report.json")
    ran = run(*APPLIED, "--apply-to", "[cd].png", *arguments)
    assert (ran.code, ran.err) == (0, "")
    assert any("applied.tif" in line and "gAMA" in line for line in ran.out.splitlines())
    content = json.loads(Path("report.json").read_text())
    assert content["exposure"]["gains"] == [[1.0], [1.0]]
    (of_set,) = content["applied"]
    assert of_set["path"] == str(two_lights / "applied.tif")
    assert "gAMA" in of_set["warnings"][0]
    gains = [gain for (gain,) in of_set["exposure"]["gains"]]
    assert max(gains) / min(gains) == pytest.approx(1 / 0.8, rel=0.05)  # the frames are a pixel apart
    assert of_set["hot_pixels"].keys() == content["hot_pixels"].keys()


def test_image_of_a_set_has_the_metadata_of_the_reference(two_lights, run):
    date_time = 306  # the tag of EXIF
    for name, time in (("c", "2024:01:01 10:00:00"), ("d", "2024:01:01 10:00:05")):
        exif = Image.Exif()
        exif[date_time] = time
        Image.fromarray(read_image(f"{name}.png")).save(f"{name}.jpg", quality=95, exif=exif)
    arguments = ("--apply-to", "[cd].jpg", "--apply-output", "applied.jpg", "--reference", "b.png")
    assert run(*APPLIED, *arguments).code == 0
    with Image.open("applied.jpg") as applied:
        assert applied.getexif()[date_time] == "2024:01:01 10:00:05"


def test_disk_space_of_other_sets_is_counted(two_lights, run, monkeypatch):
    from collections import namedtuple

    size = 2 * 64 * 100  # of a set's two frames
    usage = namedtuple("usage", "free")
    arguments = (*APPLIED, "--apply-to", "[cd].png", "--apply-output", "applied.png", "--dry-run")
    for free, code in ((size - 1, 1), (size, 0)):
        monkeypatch.setattr("panfocus.io.disk_array.shutil.disk_usage", lambda _, free=free: usage(free))
        assert run(*arguments).code == code
    assert run(*arguments, "--align", "auto").code == 1  # which takes a second scratch file
