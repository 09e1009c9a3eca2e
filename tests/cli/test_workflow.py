"""Runs done again, applied elsewhere, cut into slabs, tried in small, and looked at step by step."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from scipy.ndimage import gaussian_filter

import panfocus as pf
from panfocus._reduce import reduced
from panfocus.errors import InputError
from panfocus.io.read import read_image
from panfocus.io.write import write_image
from panfocus.job.lengths import DepthScale
from panfocus.job.outputs import Outputs
from panfocus.job.request import Request, plain, restored

N = 5


@pytest.fixture(scope="module")
def stack():
    """Five colour frames (5, 60, 100, 3); a fifth of the width is sharp in each, from left to right."""
    rng = np.random.default_rng(3)
    sharp = gaussian_filter(rng.random((60, 100, 3)), (0.6, 0.6, 0))
    blurred = np.array([gaussian_filter(sharp, (s, s, 0)) if s else sharp for s in range(N)])
    columns = np.arange(100)
    frames = [blurred[np.abs(columns // 20 - k), :, columns].swapaxes(0, 1) for k in range(N)]
    return np.rint(255 * np.array(frames)).astype(np.uint8)


@pytest.fixture
def lights(tmp_path, stack, monkeypatch):
    """Folders `white`, the frames, and `red`, 16 bits of grey that are made of them, in the current one."""
    for name, frames in (("white", stack), ("red", stack[..., 0].astype(np.uint16) * 200)):
        (tmp_path / name).mkdir()
        for k, frame in enumerate(frames):
            write_image(tmp_path / name / f"z{k}.png", frame)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(name="report.json"):
    return json.loads(Path(name).read_text())


# ---- reports


def test_a_report_tells_of_inputs_outputs_versions_and_times(lights, run):
    from hashlib import sha256

    arguments = ("--depth", "depth.tif", "--report", "report.json", "--set", "noise=2.5", "--threads", 1)
    assert run("fuse", "white", "-o", "fused.png", *arguments).code == 0
    told = report()
    assert [Path(entry["path"]) for entry in told["inputs"]] == [
        lights / "white" / f"z{k}.png" for k in range(N)
    ]
    for entry in told["inputs"]:
        data = Path(entry["path"]).read_bytes()
        assert (entry["sha256"], entry["bytes"]) == (sha256(data).hexdigest(), len(data))
        assert (entry["width"], entry["height"], entry["frames"]) == (100, 60, 1)
    assert [entry["kind"] for entry in told["outputs"]] == ["image", "depth"]
    for entry in told["outputs"]:
        assert entry["sha256"] == sha256(Path(entry["path"]).read_bytes()).hexdigest()
    assert told["request"]["settings"] == ["noise=2.5"]
    assert told["settings"]["noise"] == 2.5
    assert told["versions"].keys() >= {"panfocus", "numpy", "scipy", "numba", "python", "platform"}
    assert told["times"].keys() == {"check", "read", "repair", "align", "fuse", "encode", "write"}
    assert told["warnings"] == []


EXTRAS = {
    "plain": (),
    "settings": ("--set", "composition=labels", "--set", "noise=3.0", "--dictionary", "levels3"),
    "another method": ("--method", "coupled", "--set", "stride=4", "--refine-strength", "0.01"),
    "slabs": ("--slabs", "3:1", "--depth", "depth.png", "--step", "2um"),
    "preview": ("--preview",),
    "applied": ("--apply-to", "red/*.png", "--apply-output", "red.tif", "--sweep", "sweep.webp"),
}


@pytest.mark.parametrize("extras", EXTRAS.values(), ids=EXTRAS)
def test_a_run_that_is_redone_gives_the_same_bits(lights, run, monkeypatch, extras):
    monkeypatch.setattr("panfocus.job.source.PREVIEW_SIDE", 60)
    assert run("fuse", "white", "-o", "fused.png", "--report", "report.json", *extras).code == 0
    names = [Path(entry["path"]) for entry in report()["outputs"]]
    before = {name: name.read_bytes() for name in names}
    told = report()
    for name in names:
        name.unlink()
    (lights / "elsewhere").mkdir()
    monkeypatch.chdir(lights / "elsewhere")  # inputs and outputs are found from everywhere
    ran = run("fuse", "--from-report", "../report.json", "--force")  # the report itself is there
    assert (ran.code, ran.err) == (0, "")
    assert {name: name.read_bytes() for name in names} == before
    assert report("../report.json")["outputs"] == told["outputs"]
    assert not list((lights / "elsewhere").iterdir())


def test_a_dictionary_of_ones_own_is_part_of_the_report(lights, run, dictionary_file):
    Path("mine.npz").write_bytes(dictionary_file.read_bytes())
    arguments = ("fuse", "white", "-o", "fused.png", "--report", "report.json", "--dictionary", "mine.npz")
    assert run(*arguments).code == 0
    assert run("fuse", "--from-report", "report.json", "-o", "again.png").code == 0
    assert Path("again.png").read_bytes() == Path("fused.png").read_bytes()
    Path("mine.npz").write_bytes(b"other")
    ran = run("fuse", "--from-report", "report.json", "-o", "third.png")
    assert (ran.code, "mine.npz has changed" in ran.err) == (1, True)


def test_outputs_given_beside_a_report_take_the_place_of_its_own(lights, run):
    run("fuse", "white", "-o", "fused.png", "--labels", "labels.png", "--report", "report.json")
    before = sorted(lights.rglob("*"))
    ran = run("fuse", "--from-report", "report.json", "-o", "again.png", "--confidence", "sure.png")
    assert ran.code == 0
    assert sorted(lights.rglob("*")) == sorted([*before, lights / "again.png", lights / "sure.png"])
    assert Path("again.png").read_bytes() == Path("fused.png").read_bytes()
    ran = run("fuse", "--from-report", "report.json")
    assert (ran.code, ran.err.split(";")[0]) == (1, f"panfocus: {lights / 'fused.png'} exists already")
    assert run("fuse", "--from-report", "report.json", "--force").code == 0


def test_without_outputs_a_report_that_was_moved_writes_them_as_they_lay_from_it(lights, run, monkeypatch):
    home, moved = lights / "home", lights / "moved"
    for folder in ("reports", "pictures"):
        (home / folder).mkdir(parents=True)
    (lights / "white").rename(home / "white")
    monkeypatch.chdir(home)
    options = ("--labels", home / "labels.png", "--save-steps", "steps", "--report", "reports/report.json")
    assert run("fuse", "white", "-o", "pictures/fused.png", *options).code == 0
    before = {path.relative_to(home): path.read_bytes() for path in home.rglob("*.png")}
    monkeypatch.chdir(lights)
    home.rename(moved)
    for path in before:
        if path.parts[0] != "white":
            (moved / path).unlink()
    ran = run("fuse", "--from-report", "moved/reports/report.json", "--force")
    assert (ran.code, ran.err) == (0, "")
    assert {path.relative_to(moved): path.read_bytes() for path in moved.rglob("*.png")} == before
    assert not home.exists()


def test_files_that_were_given_twice_are_so_again(lights, run, stack):
    import tifffile

    tifffile.imwrite("two.tif", stack[1:3], photometric="rgb")
    given = ("white/z0.png", "two.tif", "white/z0.png", "two.tif")
    assert run("fuse", *given, "-o", "fused.png", "--report", "report.json").code == 0
    told = report()
    assert [Path(entry["path"]) for entry in told["inputs"]] == [lights / name for name in given]
    assert [entry["frames"] for entry in told["inputs"]] == [1, 2, 1, 2]
    ran = run("fuse", "--from-report", "report.json", "-o", "again.png")
    assert ran.code == 0
    assert "fused 6 frames" in ran.out
    assert Path("again.png").read_bytes() == Path("fused.png").read_bytes()


@pytest.mark.parametrize("what", ["changed", "gone"])
def test_an_input_that_is_not_what_it_was_is_named(lights, run, stack, what):
    run("fuse", "white", "-o", "fused.png", "--report", "report.json")
    if what == "changed":
        write_image("white/z3.png", stack[2], force=True)
    else:
        Path("white/z3.png").unlink()
    ran = run("fuse", "--from-report", "report.json", "-o", "again.png")
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert str(lights / "white" / "z3.png") in ran.err
    assert ("has changed since" in ran.err) == (what == "changed")
    assert not Path("again.png").exists()


def test_a_report_that_was_moved_with_its_frames_is_redone(lights, run, monkeypatch, dictionary_file):
    home = lights / "home"
    (home / "reports").mkdir(parents=True)
    for name in ("white", "red"):
        (lights / name).rename(home / name)
    (home / "mine.npz").write_bytes(dictionary_file.read_bytes())
    options = ("--apply-to", "red/*.png", "--apply-output", lights / "red.tif", "--dictionary", "mine.npz")
    monkeypatch.chdir(home)
    told = ("--report", "reports/report.json", "--reference", "white/z2.png")
    assert run("fuse", "white", "-o", lights / "fused.png", *options, *told).code == 0
    monkeypatch.chdir(lights)
    home.rename("moved")
    again = ("fuse", "--from-report", "moved/reports/report.json", "-o", "again.png")
    ran = run(*again, "--apply-output", "again.tif")
    assert (ran.code, ran.err) == (0, "")
    n_files = len(list(Path("moved").glob("*/*.png"))) + 1
    assert f"{n_files} of {n_files} files were not where the report has them, but beside it\n" in ran.out
    assert Path("again.png").read_bytes() == Path("fused.png").read_bytes()
    assert Path("again.tif").read_bytes() == Path("red.tif").read_bytes()
    Path("moved/white/z1.png").write_bytes(Path("moved/white/z2.png").read_bytes())
    ran = run(*again, "--force")
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert f"{lights / 'moved' / 'white' / 'z1.png'} has changed" in ran.err


def test_other_versions_are_said(lights, run):
    run("fuse", "white", "-o", "fused.png", "--report", "report.json")
    told = report()
    now = told["versions"]["numpy"]
    told["versions"]["numpy"] = "1.0"
    Path("report.json").write_text(json.dumps(told))
    ran = run("fuse", "--from-report", "report.json", "-o", "again.png")
    assert ran.code == 0
    assert f"numpy {now} (then 1.0)" in ran.out
    assert "scipy" not in ran.out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", ["report.json"]),
        ("[]", ["report.json", "not a report"]),
        ("{}", ["report.json", "not a report"]),
        ('{"format": 99}', ["newer panfocus"]),
        ('{"format": 1, "request": {"inputs": "a"}}', ["not a report"]),
    ],
)
def test_what_is_no_report_is_refused(lights, run, text, words):
    Path("report.json").write_text(text)
    ran = run("fuse", "--from-report", "report.json", "-o", "again.png")
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert all(word in ran.err for word in words), ran.err
    assert not any(leak in ran.err for leak in ("<class", "NoneType", "object", "KeyError")), ran.err


@pytest.mark.parametrize(
    "option", [["--method", "dwt"], ["--set", "noise=1"], ["--preview"], ["white"], ["--step", "1um"]]
)
def test_settings_beside_a_report_are_refused(lights, run, option):
    run("fuse", "white", "-o", "fused.png", "--report", "report.json")
    ran = run("fuse", "--from-report", "report.json", "-o", "again.png", *option)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "leave" in ran.err
    assert option[0] in ran.err or "INPUT" in ran.err


def test_a_request_survives_being_written_down():
    request = Request(
        inputs=("a", "b"),
        outputs=Outputs(image=Path("o.png"), applied=(Path("p.png"),)),
        refine_strength=1.0,
        apply_to=(("c", "d"), ("e",)),
        threads=3,
    )
    assert restored(json.loads(json.dumps(plain(request)))) == request
    for broken in ({"inputs": [1]}, {"threads": "3"}, {"refine": 1}, {"unknown": 1}, {"outputs": []}):
        with pytest.raises(ValueError, match="not of the kind"):
            restored(plain(request) | broken)


# ---- other frames


def test_other_frames_are_composed_by_the_same_weights(lights, run, stack):
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
    assert "applied the same weights to 2 other sets of frames" in ran.out
    assert Path("w.png").read_bytes() == Path("fused.png").read_bytes()
    result = pf.fuse(stack, maps=("votes",))
    expected = pf.apply(result, stack[..., 0].astype(np.uint16) * 200)
    np.testing.assert_array_equal(read_image("red.tif"), expected)


def test_a_method_without_weights_applies_its_labels_and_says_so(lights, run, stack):
    ran = run(
        "fuse", "white", "-o", "fused.png", "--method", "dsift",
        "--apply-to", "red", "--apply-output", "red.tif", "--labels", "labels.png",
    )  # fmt: skip
    assert ran.code == 0
    assert "applied the labels, with hard borders, to 1 other set of frames" in ran.out
    labels = read_image("labels.png").astype(int)
    expected = np.take_along_axis(stack[..., 0].astype(np.uint16) * 200, labels[None], 0)[0]
    np.testing.assert_array_equal(read_image("red.tif"), expected)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--apply-to", "red"], 2, ["1 times", "0 times", "pairs"]),
        (["--apply-output", "red.png"], 2, ["pairs"]),
        (["--apply-to", "none", "--apply-output", "r.png"], 1, ["none", "no such file"]),
        (["--apply-to", "few", "--apply-output", "r.png"], 1, ["few", "2 frames", "5 of 100 x 60"]),
        (["--apply-to", "red", "--apply-output", "r.jpg"], 1, ["r.jpg", "16"]),
        (["--apply-to", "red", "--apply-output", "red/z1.png", "--force"], 1, ["red/z1.png", "inputs"]),
        (["--apply-to", "red", "--apply-output", "fused.png"], 2, ["same name"]),
        (["--apply-to", "red", "--apply-output", "r.png", "--refine"], 2, ["--refine"]),
        (["--apply-to", "red", "--apply-output", "r.png", "--method", "dwt"], 2, ["no labels"]),
        (["--slabs", "3"], 2, ["--slabs 3", "SIZE:OVERLAP"]),
        (["--slabs", "3:3"], 2, ["overlap", "at most 2"]),
        (["--slabs", "5:1"], 2, ["only 5"]),
        (["--slabs", "3:1", "--confidence", "c.png"], 2, ["--confidence"]),
        (["--step", "5"], 2, ["--step 5", "5um"]),
        (["--sweep", "s.mp4"], 2, ["s.mp4", ".webp"]),
        (["--sweep", "s.gif", "--method", "coupled"], 2, ["no depth", "--sweep"]),
        (["--depth-colour", "d.tif"], 2, ["d.tif", ".png"]),
        (["--save-steps", "white"], 1, ["white", "--force"]),
        (["--save-steps", "white/z0.png/steps"], 1, ["white/z0.png/steps"]),
    ],
)
def test_a_wrong_wish_is_one_line_and_leaves_nothing(lights, run, stack, arguments, code, words):
    Path("few").mkdir()
    for k in range(2):
        write_image(f"few/{k}.png", stack[k])
    before = sorted(lights.rglob("*"))
    ran = run("fuse", "white", "-o", "fused.png", *arguments)
    assert (ran.code, len(ran.err.splitlines())) == (code, 1), ran
    assert all(word in ran.err for word in words), ran.err
    assert sorted(lights.rglob("*")) == before


def test_if_other_frames_are_damaged_nothing_appears(lights, run):
    data = Path("red/z2.png").read_bytes()
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 255
    Path("red/z2.png").write_bytes(damaged)
    before = sorted(lights.rglob("*"))
    ran = run("fuse", "white", "-o", "fused.png", "--apply-to", "red", "--apply-output", "red.png")
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert ran.err.startswith("panfocus: red/z2.png: ")  # not that the outputs' disk is full
    assert "disk" not in ran.err
    assert sorted(lights.rglob("*")) == before


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


def test_another_scene_in_a_set_is_refused_before_anything_is_written(two_lights, run):
    ran = run(*APPLIED, "--apply-to", "[cx].png", "--apply-output", "applied.png")
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert "x.png shows another scene than c.png" in ran.err
    assert "--skip-bad" not in ran.err  # which does not go with --apply-to
    assert not list(two_lights.glob("*ed.png"))


def test_a_set_that_looks_like_another_scene_is_told(two_lights, run):
    write_image("y.png", np.roll(read_image("x.png"), 1, axis=1))
    arguments = ("--apply-to", "[xy].png", "--apply-output", "applied.png", "--report", "report.json")
    ran = run(*APPLIED, *arguments)
    assert (ran.code, ran.err) == (0, "")
    assert "applied.png: x.png and the frames after it look unlike a.png" in ran.out
    assert "look unlike" in report()["applied"][0]["warnings"][0]
    ran = run(*APPLIED, "--apply-to", "[cd].png", "--apply-output", "applied.png", "--force")
    assert (ran.code, "unlike" in ran.out) == (0, False)


def test_corrections_and_losses_of_a_set_are_told(two_lights, run):
    """The second frame of the set is darker by a fifth; its first has a gamma, which no TIFF holds."""
    write_image("d.png", np.rint(read_image("d.png") * 0.8).astype(np.uint8), force=True)
    gamma = PngInfo()
    gamma.add(b"gAMA", (50_000).to_bytes(4, "big"))
    Image.fromarray(read_image("c.png")).save("c.png", pnginfo=gamma)
    arguments = ("--apply-output", "applied.tif", "--report", "report.json")
    ran = run(*APPLIED, "--apply-to", "[cd].png", *arguments)
    assert (ran.code, ran.err) == (0, "")
    assert "applied.tif: exposure of 1 frame corrected by up to" in ran.out
    assert "applied.tif: Not carried over from the frames: the PNG chunk gAMA." in ran.out
    told = report()
    assert told["exposure"]["gains"] == [[1.0], [1.0]]
    (of_set,) = told["applied"]
    assert of_set["path"] == str(two_lights / "applied.tif")
    assert "gAMA" in of_set["warnings"][0]
    gains = [gain for (gain,) in of_set["exposure"]["gains"]]
    assert max(gains) / min(gains) == pytest.approx(1 / 0.8, rel=0.05)  # the frames are a pixel apart
    assert of_set["hot_pixels"].keys() == told["hot_pixels"].keys()


def test_the_picture_of_a_set_has_the_metadata_of_the_reference(two_lights, run):
    date_time = 306  # the tag of EXIF
    for name, time in (("c", "2024:01:01 10:00:00"), ("d", "2024:01:01 10:00:05")):
        exif = Image.Exif()
        exif[date_time] = time
        Image.fromarray(read_image(f"{name}.png")).save(f"{name}.jpg", quality=95, exif=exif)
    arguments = ("--apply-to", "[cd].jpg", "--apply-output", "applied.jpg", "--reference", "b.png")
    assert run(*APPLIED, *arguments).code == 0
    with Image.open("applied.jpg") as applied:
        assert applied.getexif()[date_time] == "2024:01:01 10:00:05"


def test_the_room_that_other_sets_take_on_disk_is_counted(two_lights, run, monkeypatch):
    from collections import namedtuple

    size = 2 * 64 * 100  # of a set's two frames
    usage = namedtuple("usage", "free")
    arguments = (*APPLIED, "--apply-to", "[cd].png", "--apply-output", "applied.png", "--dry-run")
    for free, code in ((size - 1, 1), (size, 0)):
        monkeypatch.setattr("panfocus.io.scratch.shutil.disk_usage", lambda _, free=free: usage(free))
        assert run(*arguments).code == code
    assert run(*arguments, "--align", "auto").code == 1  # which takes a second scratch file


# ---- slabs, previews, steps


def test_slabs_are_written_beside_the_picture(lights, run, stack):
    ran = run("fuse", "white", "-o", "fused.png", "--slabs", "3:1", "--labels", "labels.png")
    assert (ran.code, ran.err) == (0, "")
    assert "by 2 slabs" in ran.out
    expected = pf.fuse_slabs(stack, 3, 1)
    np.testing.assert_array_equal(read_image("fused.png"), expected.result.image)
    np.testing.assert_array_equal(read_image("labels.png"), expected.result.labels)
    for name, slab in zip(("fused-slab-01.tif", "fused-slab-02.tif"), expected.slabs, strict=True):
        assert name in ran.out
        np.testing.assert_array_equal(read_image(name), slab)
    Path("fused.png").unlink()
    ran = run("fuse", "white", "-o", "fused.png", "--slabs", "3:1")
    assert (ran.code, "fused-slab-01.tif exists already" in ran.err) == (1, True)


def test_a_dry_run_tells_of_slabs_sets_and_previews(lights, run, monkeypatch):
    monkeypatch.setattr("panfocus.job.source.PREVIEW_SIDE", 60)
    before = sorted(lights.rglob("*"))
    arguments = ("--slabs", "3:1", "--preview", "--apply-to", "red", "--apply-output", "red.png")
    out = run("fuse", "white", "-o", "new.png", "--dry-run", *arguments).out
    for words in (
        "5 frames of 50 x 30",
        "1/2 of their size",
        "0 to 2, 2 to 4",
        "the labels, with hard borders, to 5 frames from red/z0.png",
        "new-slab-01.tif, new-slab-02.tif, red.png",
    ):
        assert words in out
    assert sorted(lights.rglob("*")) == before


def test_a_preview_is_the_fusion_of_smaller_frames(lights, run, stack, monkeypatch):
    monkeypatch.setattr("panfocus.job.source.PREVIEW_SIDE", 60)
    ran = run("fuse", "white", "-o", "small.png", "--preview", "--report", "report.json")
    assert "a preview, at 1/2 of the frames' size" in ran.out
    expected = pf.fuse(np.array([reduced(frame, 2) for frame in stack]))
    np.testing.assert_array_equal(read_image("small.png"), expected.image)
    assert report()["preview"] == {"reduced_by": 2, "width": 50, "height": 30}
    monkeypatch.setattr("panfocus.job.source.PREVIEW_SIDE", 100)
    assert "no preview: the frames are small" in run("fuse", "white", "-o", "large.png", "--preview").out


def test_every_step_is_a_picture(lights, run, stack):
    assert run("fuse", "white", "-o", "fused.png", "--save-steps", "steps/here").code == 0
    numbers = [f"{k + 1:02}" for k in range(N)]
    names = [
        *(f"{kind}-{n}" for kind in ("1-frame", "2-grey", "4-weight") for n in numbers),
        *(f"3-odds-{a}-{b}" for a, b in pairwise(numbers)),
        *("5-labels", "6-confidence", "7-depth", "8-never-in-focus", "9-fused"),
    ]
    assert sorted(path.name for path in Path("steps/here").iterdir()) == sorted(f"{n}.png" for n in names)
    np.testing.assert_array_equal(read_image("steps/here/1-frame-02.png"), stack[1])
    np.testing.assert_array_equal(read_image("steps/here/9-fused.png"), read_image("fused.png"))
    # Frame 2 against frame 1: darker where the first is sharp, brighter where the second is.
    odds = read_image("steps/here/3-odds-01-02.png")
    assert odds[20:40, 5:15].max() < 128 < odds[20:40, 25:35].min()
    weight = read_image("steps/here/4-weight-02.png")
    assert weight[20:40, 27:33].mean() > 200 > 50 > weight[20:40, 60:].mean()


def test_methods_that_tell_less_have_fewer_steps(lights, run):
    assert run("fuse", "white", "-o", "fused.png", "--method", "dwt", "--save-steps", "steps").code == 0
    kinds = {path.stem.split("-")[0] for path in Path("steps").iterdir()}
    assert kinds == {"1", "2", "9"}


# ---- depth


def test_depth_is_in_the_unit_of_the_step(lights, run, stack):
    files = ("--depth", "depth.tif", "--depth-colour", "colour.png", "--report", "report.json")
    assert run("fuse", "white", "-o", "fused.png", *files, "--step", "2.5µm").code == 0
    expected = 2.5 * pf.fuse(stack).depth.astype(np.float64)
    np.testing.assert_allclose(read_image("depth.tif"), expected, rtol=1e-6)
    with Image.open("depth.tif") as file:
        assert file.tag_v2[270] == "depth from the first frame, in um"
    assert report()["depth"] == {"step": 2.5, "unit": "um", "per_level_of_16_bit": 10 / 65535}


def test_16_bits_of_depth_carry_their_scale(lights, run, stack):
    assert run("fuse", "white", "-o", "fused.png", "--depth", "depth.png", "--step", "0.1mm").code == 0
    values = read_image("depth.png")
    assert values.dtype == np.uint16
    with Image.open("depth.png") as file:
        scale, unit = float(file.text["DepthScale"]), file.text["DepthUnit"]
    expected = 0.1 * pf.fuse(stack).depth.astype(np.float64)
    assert unit == "mm"
    np.testing.assert_allclose(values * scale, expected, atol=0.51 * scale)


@pytest.mark.parametrize(
    ("text", "step", "unit"),
    [("5um", 5, "um"), ("0.1mm", 0.1, "mm"), (".5 µm", 0.5, "um"), ("3.μm", 3, "um"), ("2MM", 2, "mm")],
)
def test_distances_are_read_as_people_write_them(text, step, unit):
    assert DepthScale.parse(text) == DepthScale(step, unit)


@pytest.mark.parametrize("text", ["", "5", "um", "-1um", "0um", "5nm", "1e3um", "5 u m"])
def test_what_is_no_distance_is_refused(text):
    with pytest.raises(InputError, match="such as 5um"):
        DepthScale.parse(text)


@pytest.mark.parametrize("suffix", [".webp", ".gif", ".png"])
def test_a_sweep_lights_up_what_is_near_then_what_is_far(lights, run, suffix):
    assert run("fuse", "white", "-o", "fused.png", "--sweep", f"sweep{suffix}").code == 0
    with Image.open(f"sweep{suffix}") as file:
        assert file.n_frames == 24
        light = []
        for i in range(file.n_frames):
            file.seek(i)
            pixels = np.asarray(file.convert("L"), float)[20:40]
            light.append([pixels[:, 5:15].mean(), pixels[:, 45:55].mean(), pixels[:, 85:95].mean()])
    first, middle, last = np.argmax(light, axis=0)
    assert first < 4
    assert 8 < middle < 16
    assert last > 20
