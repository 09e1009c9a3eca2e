"""Unsupported images in a folder: every command warns, and reports list the warning."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_errors import assert_error_line

from panfocus.io.encode import write_image

LEARN = ("--atoms", 16, "--patch-size", 5, "--rounds", 1, "--samples", 400, "--max-atoms", 2)


@pytest.fixture
def frames(tmp_path, scene, monkeypatch):
    """A folder of two frames and a BMP, and a fused image outside it."""
    monkeypatch.chdir(tmp_path)
    Path("frames").mkdir()
    for name, frame in zip(("a", "b"), scene, strict=True):
        write_image(f"frames/{name}.png", frame)
    Path("frames/c.bmp").touch()
    write_image("fused.png", np.rint(scene.mean(axis=0)).astype(np.uint8))


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
def test_every_command_warns_about_unsupported_images(frames, run, command):
    ran = run(*command)
    assert ran.code == 0
    assert_error_line(ran.err, "warning", "frames", "c.bmp")


def test_compare_warns_about_unsupported_images(scenes_dir, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (scenes_dir / "cup-C.bmp").touch()
    ran = run("compare", "scenes", "-o", "report", "--methods", "pca", "--metrics", "MSE", "--workers", 1)
    assert ran.code == 0
    assert_error_line(ran.err, "warning", "scenes", "cup-C.bmp")


def test_reports_list_the_warning(frames, run):
    sets = ("--apply-to", "frames", "--apply-output", "applied.png")
    ran = run("fuse", "frames", "-o", "new.png", *sets, "--report", "report.json")
    assert ran.code == 0
    warnings = json.loads(Path("report.json").read_text())["warnings"]
    assert len(warnings) == 2
    assert all("c.bmp" in warning for warning in warnings)
    again = run("fuse", "--from-report", "report.json", "--force")
    assert (again.code, again.err) == (0, "")  # the report lists the files that were read
    assert run("align", "frames", "-o", "aligned").code == 0
    (warning,) = json.loads(Path("aligned/alignment.json").read_text())["warnings"]
    assert "c.bmp" in warning
