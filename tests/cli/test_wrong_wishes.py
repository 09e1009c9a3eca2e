"""Wishes that cannot be met: one line, the right code, nothing left behind."""

from pathlib import Path

import pytest

from panfocus.io.encode import write_image


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
        (["--step", "5", "--depth", "d.tif"], 2, ["--step 5", "5um"]),
        (["--channel", "2"], 2, ["--channel 2", "white/z0.png is no file of a microscope"]),
        (["--time", "1"], 2, ["--time 1", "white/z0.png is no file of a microscope"]),
        (["--method", ""], 2, ["unknown method ''"]),
        (["--set", "noise=1", "--set", "noise=2"], 2, ["noise", "twice"]),
        ([""], 2, ["the name of an input is empty"]),
        (["--sweep", "s.mp4"], 2, ["s.mp4", ".webp"]),
        (["--sweep", "s.gif", "--method", "coupled"], 2, ["no depth", "--sweep"]),
        (["--depth-colour", "d.tif"], 2, ["d.tif", ".png"]),
        (["--save-steps", "white"], 1, ["white/z0.png is in white", "--save-steps"]),
        (["--save-steps", "white", "--force"], 1, ["white/z0.png is in white", "--save-steps"]),
        (["--save-steps", "few/..", "--force"], 1, ["fused.png is in few/..", "--save-steps"]),
        (["--save-steps", "few"], 1, ["few holds files already", "--force"]),
        (["--max-memory", "0"], 1, ["0 MB of --max-memory"]),
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


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--step", "5um"], "--step 5um has no effect: it is the unit of depth, which is not written"),
        (["--jpeg-quality", "50"], "--jpeg-quality 50 has no effect: no JPEG is written"),
        (["--jpeg-subsampling", "420"], "--jpeg-subsampling 420 has no effect: no JPEG is written"),
        (["--borders", "crop", "--align", "off"], "--borders crop has no effect: with --align off no frame"),
    ],
)
def test_a_wish_without_effect_is_told(lights, run, arguments, line):
    ran = run("fuse", "white", "-o", "fused.png", "--dry-run", *arguments)
    assert ran.code == 0
    assert line in ran.out
    assert "no effect" not in run("fuse", "white", "-o", "f.jpg", "--jpeg-quality", "50", "--dry-run").out
