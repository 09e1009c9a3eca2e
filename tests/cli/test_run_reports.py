"""Reports, and runs repeated from them."""

import json
from pathlib import Path

import pytest
import tifffile
from cli_errors import assert_error_line

from panfocus.io.encode import write_image

N = 5  # frames of a stack


def report(name="report.json"):
    return json.loads(Path(name).read_text())


def test_report_has_inputs_outputs_versions_and_times(lights, run):
    from hashlib import sha256

    arguments = ("--depth", "depth.tif", "--report", "report.json", "--set", "noise=2.5", "--threads", 1)
    assert run("fuse", "white", "-o", "fused.png", *arguments).code == 0
    content = report()
    assert [Path(entry["path"]) for entry in content["inputs"]] == [
        lights / "white" / f"z{k}.png" for k in range(N)
    ]
    for entry in content["inputs"]:
        data = Path(entry["path"]).read_bytes()
        assert (entry["sha256"], entry["bytes"]) == (sha256(data).hexdigest(), len(data))
        assert (entry["width"], entry["height"], entry["frames"]) == (100, 60, 1)
    assert [entry["kind"] for entry in content["outputs"]] == ["image", "depth"]
    for entry in content["outputs"]:
        assert entry["sha256"] == sha256(Path(entry["path"]).read_bytes()).hexdigest()
    assert content["request"]["settings"] == ["noise=2.5"]
    assert content["settings"]["noise"] == 2.5
    assert content["versions"].keys() >= {"panfocus", "numpy", "scipy", "numba", "python", "platform"}
    assert content["times"].keys() == {
        "check",
        "read",
        "repair",
        "align",
        "equalise",
        "fuse",
        "diagnose",
        "encode",
        "write",
    }
    assert content["warnings"] == []


EXTRAS = {
    "plain": (),
    "settings": ("--set", "composition=labels", "--set", "noise=3.0", "--dictionary", "levels3"),
    "another method": ("--method", "coupled", "--set", "stride=4", "--refine-strength", "0.01"),
    "slabs": ("--slabs", "3:1", "--depth", "depth.png", "--step", "2um"),
    "preview": ("--preview",),
    "applied": ("--apply-to", "red/*.png", "--apply-output", "red.tif", "--sweep", "sweep.webp"),
}


@pytest.mark.parametrize("extras", EXTRAS.values(), ids=EXTRAS)
def test_repeated_run_gives_the_same_bits(lights, run, monkeypatch, extras):
    monkeypatch.setattr("panfocus.job.inputs.PREVIEW_SIDE", 60)
    assert run("fuse", "white", "-o", "fused.png", "--report", "report.json", *extras).code == 0
    names = [Path(entry["path"]) for entry in report()["outputs"]]
    before = {name: name.read_bytes() for name in names}
    content = report()
    for name in names:
        name.unlink()
    (lights / "elsewhere").mkdir()
    monkeypatch.chdir(lights / "elsewhere")  # inputs and outputs are found from everywhere
    ran = run("fuse", "--from-report", "../report.json", "--force")  # the report itself is there
    assert (ran.code, ran.err) == (0, "")
    assert {name: name.read_bytes() for name in names} == before
    assert report("../report.json")["outputs"] == content["outputs"]
    assert not list((lights / "elsewhere").iterdir())


def test_custom_dictionary_is_part_of_the_report(lights, run, dictionary_file):
    Path("mine.npz").write_bytes(dictionary_file.read_bytes())
    arguments = ("fuse", "white", "-o", "fused.png", "--report", "report.json", "--dictionary", "mine.npz")
    assert run(*arguments).code == 0
    assert run("fuse", "--from-report", "report.json", "-o", "again.png").code == 0
    assert Path("again.png").read_bytes() == Path("fused.png").read_bytes()
    Path("mine.npz").write_bytes(b"other")
    ran = run("fuse", "--from-report", "report.json", "-o", "third.png")
    assert ran.code == 1
    assert_error_line(ran.err, "mine.npz")


def test_outputs_of_a_repeated_run_can_be_changed(lights, run):
    run("fuse", "white", "-o", "fused.png", "--labels", "labels.png", "--report", "report.json")
    before = sorted(lights.rglob("*"))
    ran = run("fuse", "--from-report", "report.json", "-o", "again.png", "--confidence", "sure.png")
    assert ran.code == 0
    assert sorted(lights.rglob("*")) == sorted([*before, lights / "again.png", lights / "sure.png"])
    assert Path("again.png").read_bytes() == Path("fused.png").read_bytes()
    ran = run("fuse", "--from-report", "report.json")
    assert ran.code == 1
    assert_error_line(ran.err, lights / "fused.png")
    ran = run("fuse", "--from-report", "report.json", "--labels", "other.png", "--force")
    assert ran.code == 2
    assert_error_line(ran.err, "-o")
    assert run("fuse", "--from-report", "report.json", "--force").code == 0


def test_outputs_of_a_moved_report_are_relative_to_it(lights, run, monkeypatch):
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


def test_repeated_inputs_are_repeated_again(lights, run, stack):

    tifffile.imwrite("two.tif", stack[1:3], photometric="rgb")
    inputs = ("white/z0.png", "two.tif", "white/z0.png", "two.tif")
    assert run("fuse", *inputs, "-o", "fused.png", "--report", "report.json").code == 0
    content = report()
    assert [Path(entry["path"]) for entry in content["inputs"]] == [lights / name for name in inputs]
    assert [entry["frames"] for entry in content["inputs"]] == [1, 2, 1, 2]
    ran = run("fuse", "--from-report", "report.json", "-o", "again.png")
    assert ran.code == 0
    assert "6 frames" in ran.out
    assert Path("again.png").read_bytes() == Path("fused.png").read_bytes()


@pytest.mark.parametrize("change", ["changed", "removed"])
def test_changed_input_is_rejected(lights, run, stack, change):
    run("fuse", "white", "-o", "fused.png", "--report", "report.json")
    if change == "changed":
        write_image("white/z3.png", stack[2], force=True)
    else:
        Path("white/z3.png").unlink()
    ran = run("fuse", "--from-report", "report.json", "-o", "again.png")
    assert ran.code == 1
    assert_error_line(ran.err, lights / "white" / "z3.png")
    assert not Path("again.png").exists()


def test_report_moved_with_its_frames_is_repeated(lights, run, monkeypatch, dictionary_file):
    home = lights / "home"
    (home / "reports").mkdir(parents=True)
    for name in ("white", "red"):
        (lights / name).rename(home / name)
    (home / "mine.npz").write_bytes(dictionary_file.read_bytes())
    options = ("--apply-to", "red/*.png", "--apply-output", lights / "red.tif", "--dictionary", "mine.npz")
    monkeypatch.chdir(home)
    more = ("--report", "reports/report.json", "--reference", "white/z2.png")
    assert run("fuse", "white", "-o", lights / "fused.png", *options, *more).code == 0
    monkeypatch.chdir(lights)
    home.rename("moved")
    again = ("fuse", "--from-report", "moved/reports/report.json", "-o", "again.png")
    ran = run(*again, "--apply-output", "again.tif")
    assert (ran.code, ran.err) == (0, "")
    n_files = len(list(Path("moved").glob("*/*.png"))) + 1
    assert f"{n_files} of {n_files} files" in ran.out
    assert Path("again.png").read_bytes() == Path("fused.png").read_bytes()
    assert Path("again.tif").read_bytes() == Path("red.tif").read_bytes()
    Path("moved/white/z1.png").write_bytes(Path("moved/white/z2.png").read_bytes())
    ran = run(*again, "--force")
    assert ran.code == 1
    assert_error_line(ran.err, lights / "moved" / "white" / "z1.png")


def test_other_versions_are_reported(lights, run):
    run("fuse", "white", "-o", "fused.png", "--report", "report.json")
    content = report()
    now = content["versions"]["numpy"]
    content["versions"]["numpy"] = "1.0"
    Path("report.json").write_text(json.dumps(content))
    ran = run("fuse", "--from-report", "report.json", "-o", "again.png")
    assert ran.code == 0
    assert any(now in line and "1.0" in line for line in ran.out.splitlines() if "numpy" in line)
    assert "scipy" not in ran.out


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"format": 99}', '{"format": 1, "request": {"inputs": "a"}}']
)
def test_file_that_is_no_report_is_rejected(lights, run, text):
    Path("report.json").write_text(text)
    ran = run("fuse", "--from-report", "report.json", "-o", "again.png")
    assert ran.code == 1
    assert_error_line(ran.err, "report.json")
    assert not any(leak in ran.err for leak in ("<class", "NoneType", "object", "KeyError")), ran.err


@pytest.mark.parametrize(
    "option", [["--method", "dwt"], ["--set", "noise=1"], ["--preview"], ["white"], ["--step", "1um"]]
)
def test_settings_cannot_be_combined_with_a_report(lights, run, option):
    run("fuse", "white", "-o", "fused.png", "--report", "report.json")
    ran = run("fuse", "--from-report", "report.json", "-o", "again.png", *option)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert option[0] in ran.err or "INPUT" in ran.err
