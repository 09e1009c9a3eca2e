"""Pictures in a folder that no command reads: each command says so, and reports keep it."""

import json
from pathlib import Path

import numpy as np
import pytest

from panfocus.io.encode import write_image

LEARN = ("--atoms", 16, "--patch-size", 5, "--rounds", 1, "--samples", 400, "--max-atoms", 2)


@pytest.fixture
def frames(tmp_path, scene, monkeypatch):
    """A folder of two frames and a BMP; beside it a picture that may have been fused from them."""
    monkeypatch.chdir(tmp_path)
    Path("frames").mkdir()
    for name, frame in zip(("a", "b"), scene, strict=True):
        write_image(f"frames/{name}.png", frame)
    Path("frames/c.bmp").touch()
    write_image("fused.png", np.rint(scene.mean(axis=0)).astype(np.uint8))


LINE = "left out: 1 picture in frames of no kind that panfocus reads there (c.bmp)"


@pytest.mark.parametrize(
    "command",
    [
        ("fuse", "frames", "-o", "new.png", "--align", "off", "--quiet"),
        ("fuse", "frames/*", "-o", "new.png", "--align", "off", "--dry-run"),
        ("align", "frames", "-o", "aligned", "--quiet"),
        ("learn", "--images", "frames", "-o", "new.npz", *LEARN, "--quiet"),
        ("score", "fused.png", "frames", "--metrics", "NMI", "--json"),
    ],
)
def test_each_command_says_which(frames, run, command):
    ran = run(*command)
    told = LINE.replace("frames", "frames/*") if "frames/*" in command else LINE
    assert (ran.code, ran.err) == (0, f"panfocus: warning: {told}\n")


def test_a_comparison_says_which(scenes_dir, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (scenes_dir / "cup-C.bmp").touch()
    ran = run("compare", "scenes", "-o", "report", "--methods", "pca", "--metrics", "MSE", "--workers", 1)
    assert (ran.code, ran.err.count("\n")) == (0, 1)
    assert "left out: 1 picture in scenes of no kind that panfocus reads there (cup-C.bmp)" in ran.err


def test_reports_tell_it(frames, run):
    sets = ("--apply-to", "frames", "--apply-output", "applied.png")
    ran = run("fuse", "frames", "-o", "new.png", *sets, "--report", "report.json")
    assert ran.code == 0
    assert json.loads(Path("report.json").read_text())["warnings"] == [LINE, LINE]
    again = run("fuse", "--from-report", "report.json", "--force")
    assert (again.code, again.err) == (0, "")  # which names the files that were read
    assert run("align", "frames", "-o", "aligned").code == 0
    assert json.loads(Path("aligned/alignment.json").read_text())["warnings"] == [LINE]
