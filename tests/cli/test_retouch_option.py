"""`panfocus fuse --retouch`: strokes painted over the fused image, checked before any work."""

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from cli_errors import assert_error_line

from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image
from panfocus.job import prepare
from panfocus.retouch import Stroke, Strokes, apply_strokes

HEIGHT, WIDTH = 40, 33  # of the scene in conftest.py
STROKES = Strokes(
    WIDTH,
    HEIGHT,
    2,
    (
        Stroke(1, ((10.0, 4.0), (14.0, 9.0)), 4.0),
        Stroke(0, ((30.0, 25.0),), 6.0, hardness=0.2, opacity=0.8, gain=(1.1, 1.0, 0.9)),
    ),
)


@pytest.fixture
def strokes_file(folder):
    path = folder / "strokes.json"
    path.write_text(json.dumps(STROKES.plain()), "utf-8")
    return path


@pytest.fixture
def dictionary(dictionary_file):
    return "--method", "coupled", "--dictionary", dictionary_file


@pytest.fixture
def fuse(run, dictionary):
    def fuse(*arguments):
        return run("fuse", "a.png", "b.png", "--align", "off", *dictionary, *arguments)

    return fuse


@pytest.mark.parametrize("extras", [(), ("--refine-strength", "0.05")], ids=["plain", "refined"])
def test_strokes_are_painted_last(strokes_file, fuse, scene, extras):
    assert fuse("-o", "plain.png", "--labels", "labels.png", *extras).code == 0
    ran = fuse("-o", "retouched.png", "--labels", "same.png", "--retouch", "strokes.json", *extras)
    assert (ran.code, ran.err) == (0, "")
    assert "strokes.json" in ran.out
    plain, retouched = read_image("plain.png"), read_image("retouched.png")
    np.testing.assert_array_equal(retouched, apply_strokes(plain, scene, STROKES))
    np.testing.assert_array_equal(retouched[10:14, 4:6], scene[1, 10:14, 4:6])  # copied from the frame
    assert (retouched != plain).any()
    assert Path("labels.png").read_bytes() == Path("same.png").read_bytes()


def test_threads_and_scratch_files_change_no_bit(strokes_file, fuse, monkeypatch):
    assert fuse("-o", "one.png", "--retouch", "strokes.json", "--threads", "1").code == 0
    planned = prepare.make_plan
    monkeypatch.setattr(
        prepare, "make_plan", lambda *args, **more: replace(planned(*args, **more), in_memory=False)
    )
    assert fuse("-o", "three.png", "--retouch", "strokes.json", "--threads", "3").code == 0
    assert Path("one.png").read_bytes() == Path("three.png").read_bytes()


def test_report_holds_the_digest_and_is_repeated(strokes_file, fuse, run):
    assert fuse("-o", "fused.png", "--retouch", "strokes.json", "--report", "report.json").code == 0
    content = json.loads(Path("report.json").read_bytes())["retouch"]
    assert content["path"] == str(strokes_file)
    assert content["sha256"] == sha256(strokes_file.read_bytes()).hexdigest()
    assert run("fuse", "--from-report", "report.json", "-o", "again.png").code == 0
    assert Path("again.png").read_bytes() == Path("fused.png").read_bytes()
    ran = run("fuse", "--from-report", "report.json", "-o", "third.png", "--retouch", "strokes.json")
    assert ran.code == 2
    assert_error_line(ran.err, "--retouch")
    strokes_file.write_text("{}")
    ran = run("fuse", "--from-report", "report.json", "-o", "third.png")
    assert ran.code == 1
    assert_error_line(ran.err, "strokes.json")


def test_dry_run_names_the_strokes(strokes_file, fuse):
    ran = fuse("-o", "fused.png", "--retouch", "strokes.json", "--dry-run")
    assert (ran.code, "strokes.json" in ran.out) == (0, True)


def test_slabs_are_retouched_at_the_end(folder, run, scene, dictionary):
    frames = [scene[0], scene[1], scene[0]]
    for k, frame in enumerate(frames):
        write_image(f"s{k}.png", frame)
    strokes = Strokes(WIDTH, HEIGHT, 3, STROKES.strokes)
    Path("strokes.json").write_text(json.dumps(strokes.plain()), "utf-8")
    arguments = ("fuse", "s0.png", "s1.png", "s2.png", "--align", "off", "--slabs", "2:1", *dictionary)
    assert run(*arguments, "-o", "plain.png").code == 0
    assert run(*arguments, "-o", "retouched.png", "--retouch", "strokes.json").code == 0
    np.testing.assert_array_equal(
        read_image("retouched.png"), apply_strokes(read_image("plain.png"), frames, strokes)
    )


@pytest.mark.parametrize(
    ("change", "options", "code", "names"),
    [
        ({"width": WIDTH + 1}, (), 1, ["strokes.json", "34 x 40", "33 x 40"]),
        ({"frames": 3}, (), 1, ["strokes.json", "3", "2"]),
        ({"panfocus_retouch": 9}, (), 1, ["strokes.json", "9"]),
        ({"strokes": [{"frame": 0}]}, (), 1, ["strokes.json", "0"]),
        ({}, ("--preview",), 2, ["--retouch", "--preview"]),
        ({}, ("--skip-bad",), 2, ["--retouch", "--skip-bad"]),
        ({}, ("--apply-to", "a.png", "--apply-output", "c.png"), 2, ["--retouch", "--apply-to"]),
    ],
)
def test_strokes_that_do_not_fit_are_rejected(folder, fuse, change, options, code, names):
    Path("strokes.json").write_text(json.dumps({**STROKES.plain(), **change}), "utf-8")
    before = sorted(folder.iterdir())
    ran = fuse("-o", "fused.png", "--retouch", "strokes.json", *options)
    assert (ran.code, ran.out) == (code, ""), ran
    assert_error_line(ran.err, *names)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("content", ["", "{", "[" * 100_000, "\udcff", "[]"])
def test_file_without_strokes_is_rejected(folder, fuse, content):
    Path("strokes.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    ran = fuse("-o", "fused.png", "--retouch", "strokes.json")
    assert (ran.code, len(ran.err.splitlines()), "strokes.json" in ran.err) == (1, 1, True), ran


def test_missing_strokes_and_strokes_as_output_are_rejected(strokes_file, fuse):
    ran = fuse("-o", "fused.png", "--retouch", "none.json")
    assert (ran.code, "none.json" in ran.err) == (1, True)
    before = strokes_file.read_bytes()
    ran = fuse("-o", "fused.png", "--retouch", "strokes.json", "--report", "strokes.json", "--force")
    assert (ran.code, "strokes.json" in ran.err, strokes_file.read_bytes()) == (1, True, before)


def test_unexpected_crop_is_rejected(folder, run, textured_pair):
    Path("strokes.json").write_text(json.dumps(Strokes(90, 90, 2).plain()), "utf-8")
    options = ("--align", "shift", "--borders", "crop", "--retouch", "strokes.json")
    ran = run("fuse", *textured_pair, "-o", "fused.png", *options)
    assert (ran.code, "90 x 90" in ran.err) == (1, True), ran
    assert not Path("fused.png").exists()


@pytest.fixture
def textured_pair(folder):
    """Two frames of 120 x 100, the second shifted by 3 pixels."""
    texture = np.random.default_rng(5).integers(40, 216, (100, 130, 3), dtype=np.uint8)
    texture = np.repeat(np.repeat(texture[::2, ::2], 2, axis=0), 2, axis=1)
    write_image("p.png", texture[:, :120])
    write_image("q.png", texture[:, 3:123])
    return "p.png", "q.png"
