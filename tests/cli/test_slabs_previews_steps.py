"""`--slabs`, `--preview` and `--save-steps`."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
from cli_errors import assert_error_line

import panfocus as pf
from panfocus._downscale import reduced
from panfocus.io.read_stack import read_image

N = 5  # frames of a stack


def test_slabs_are_written_too(lights, run, stack):
    ran = run("fuse", "white", "-o", "fused.png", "--slabs", "3:1", "--labels", "labels.png")
    assert (ran.code, ran.err) == (0, "")
    expected = pf.fuse(stack, slabs=(3, 1))
    np.testing.assert_array_equal(read_image("fused.png"), expected.image)
    np.testing.assert_array_equal(read_image("labels.png"), expected.labels)
    for name, slab in zip(("fused-slab-01.tif", "fused-slab-02.tif"), expected.slabs, strict=True):
        assert name in ran.out
        np.testing.assert_array_equal(read_image(name), slab)
    Path("fused.png").unlink()
    ran = run("fuse", "white", "-o", "fused.png", "--slabs", "3:1")
    assert ran.code == 1
    assert_error_line(ran.err, "fused-slab-01.tif")


def test_dry_run_lists_slabs_sets_and_previews(lights, run, monkeypatch):
    monkeypatch.setattr("panfocus.job.inputs.PREVIEW_SIDE", 60)
    before = sorted(lights.rglob("*"))
    arguments = ("--slabs", "3:1", "--preview", "--apply-to", "red", "--apply-output", "red.png")
    out = run("fuse", "white", "-o", "new.png", "--dry-run", *arguments).out
    for fact in ("5 frames of 50 x 30", "1/2", "0 to 2, 2 to 4", "red/z0.png", "new-slab-02.tif, red.png"):
        assert fact in out
    assert sorted(lights.rglob("*")) == before


def test_preview_is_the_fusion_of_reduced_frames(lights, run, stack, monkeypatch):
    monkeypatch.setattr("panfocus.job.inputs.PREVIEW_SIDE", 60)
    ran = run("fuse", "white", "-o", "small.png", "--preview", "--report", "report.json")
    assert "1/2" in ran.out
    expected = pf.fuse(np.array([reduced(frame, 2) for frame in stack]))
    np.testing.assert_array_equal(read_image("small.png"), expected.image)
    assert json.loads(Path("report.json").read_text())["preview"] == {
        "reduced_by": 2,
        "width": 50,
        "height": 30,
    }
    monkeypatch.setattr("panfocus.job.inputs.PREVIEW_SIDE", 100)
    assert run("fuse", "white", "-o", "large.png", "--preview").code == 0
    assert read_image("large.png").shape == stack[0].shape


def test_every_step_is_an_image(lights, run, stack):
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


def test_methods_without_maps_have_fewer_steps(lights, run):
    assert run("fuse", "white", "-o", "fused.png", "--method", "dwt", "--save-steps", "steps").code == 0
    kinds = {path.stem.split("-")[0] for path in Path("steps").iterdir()}
    assert kinds == {"1", "2", "9"}
