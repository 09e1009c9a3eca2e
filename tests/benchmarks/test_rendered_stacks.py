import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.rendered_stacks import SETTINGS, TEXTURES, RenderedScene, measure, scenes, summary

import panfocus as pf
from benchmarks import rendered_stacks
from panfocus.compare import find_groups
from panfocus.io.read_stack import read_image, read_stack
from panfocus.simulate import Truth

SHAPE = (40, 60)


@pytest.fixture
def scene(rng):
    """A scene whose left half is in focus in frame 1, and the right half never."""
    image = rng.integers(60, 190, (*SHAPE, 3), dtype=np.uint8)
    left = np.broadcast_to(np.arange(SHAPE[1]) < 30, SHAPE)
    truth = Truth(
        image=image,
        depth=np.where(left, 1.0, 3.5).astype(np.float32),
        least_radius=np.where(left, 0.0, 3.0).astype(np.float32),
        textured=np.ones(SHAPE, dtype=bool),
        near_edge=np.broadcast_to(np.abs(np.arange(SHAPE[1]) - 29.5) < 5, SHAPE),
    )
    return RenderedScene("by-hand", SETTINGS["choose"]["c1-2"], np.stack([image] * 3), truth)


@pytest.fixture
def one_scene(data_dir, monkeypatch):
    """The command with a single scene per group."""
    few = {group: dict([*settings.items()][:1]) for group, settings in SETTINGS.items()}
    monkeypatch.setattr(rendered_stacks, "SETTINGS", few)


def test_groups_share_no_textures_or_seeds():
    assert not set(TEXTURES["choose"]) & set(TEXTURES["report"])
    assert min(TEXTURES["choose"] + TEXTURES["report"]) >= "kodim17"  # 01 to 16 train
    seeds = [setting.seed for settings in SETTINGS.values() for setting in settings.values()]
    assert len(set(seeds)) == len(seeds) == 20


def test_groups_cover_all_lengths_and_unfocused_surfaces():
    for settings in SETTINGS.values():
        assert {setting.n_frames for setting in settings.values()} == {2, 3, 5, 8, 12, 20}
        assert {setting.unfocused for setting in settings.values()} == {"none", "front", "middle", "back"}
        assert {setting.near_first for setting in settings.values()} == {True, False}
        assert all(2 <= setting.largest_radius <= 12 for setting in settings.values())
        assert all(0 <= setting.noise <= 2 for setting in settings.values())


def test_scenes_are_reproducible(data_dir):
    first, second = (next(scenes("choose")) for _ in range(2))
    np.testing.assert_array_equal(first.frames, second.frames)
    np.testing.assert_array_equal(first.truth.image, second.truth.image)
    assert first.frames.shape == (2, 384, 512, 3)


def test_errors_ignore_the_border(scene):
    image = scene.truth.image.astype(int)
    columns = np.arange(SHAPE[1])
    image[:, columns < 30] += 2
    image[:, columns >= 30] += 8
    image[:8] += 50  # of no account
    figures = measure(pf.FusionResult(image.astype(np.uint8)), scene)
    # inside 8 border pixels both halves are of 22 columns, and of 5 near the edge: mean square (4 + 64) / 2
    both, left = 10 * np.log10(255**2 / 34), 10 * np.log10(255**2 / 4)
    assert figures["psnr"] == pytest.approx(both)
    assert figures["psnr_band"] == pytest.approx(both)
    assert figures["psnr_focused"] == pytest.approx(left)
    assert figures["psnr_band_focused"] == pytest.approx(left)
    assert not {"depth_mean", "never_true"} & set(figures)


def test_depth_error_uses_labels_without_a_depth_map(scene):
    depth = np.where(np.arange(SHAPE[0])[:, None] < 20, scene.truth.depth, 1.5)
    figures = measure(pf.FusionResult(scene.truth.image, depth=depth), scene)
    assert figures["depth_mean"] == pytest.approx(0.25)  # half of the rows are right, half are off by 0.5
    figures = measure(pf.FusionResult(scene.truth.image, labels=np.zeros(SHAPE, dtype=int)), scene)
    assert figures["depth_median"] == 1.0


def test_depth_beyond_the_last_frame_is_clipped(scene):
    near = replace(scene.truth, depth=np.full(SHAPE, 2.2), least_radius=np.full(SHAPE, 0.4))
    result = pf.FusionResult(scene.truth.image, depth=np.full(SHAPE, 2.0))
    assert measure(result, replace(scene, truth=near))["depth_mean"] == 0


def test_precision_and_recall_count_textured_pixels(scene):
    textured = np.arange(SHAPE[0])[:, None] >= np.full(SHAPE, 20)
    scene = replace(scene, truth=replace(scene.truth, textured=textured))
    found = np.broadcast_to(np.arange(SHAPE[1]) >= 26, SHAPE) & (np.arange(SHAPE[0])[:, None] < 26)
    figures = measure(pf.FusionResult(scene.truth.image, never_in_focus=found), scene)
    # rows 20 to 31 count, of which 6 are marked; columns 30 to 51 are true, 26 to 51 marked
    assert figures["never_true"] == 12 * 22
    assert figures["never_found"] == 6 * 26
    assert figures["never_both"] == 6 * 22
    together = summary({"one": figures, "two": figures})
    assert together["precision"] == pytest.approx(22 / 26)
    assert together["recall"] == pytest.approx(0.5)


def test_written_scenes_are_found_by_compare(one_scene, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["rendered_stacks", "write", str(tmp_path)])
    rendered_stacks.main()
    groups = find_groups([tmp_path / "choose", tmp_path / "report"])
    for group in groups:
        (found,) = group.scenes
        assert not group.ignored
        (rendered,) = scenes(group.name)
        np.testing.assert_array_equal(read_stack(found.sources).frames, rendered.frames)
        np.testing.assert_array_equal(read_image(found.reference), rendered.truth.image)
        with np.load(tmp_path / group.name / "truth" / f"{found.name}.npz") as truth:
            for name in truth:
                np.testing.assert_array_equal(truth[name], getattr(rendered.truth, name))


def test_measuring_prints_a_table_and_writes_figures(one_scene, tmp_path, monkeypatch, capsys):
    program = tmp_path / "first.py"
    program.write_text("import shutil, sys\nshutil.copy(sys.argv[2], sys.argv[1])\n")
    output = tmp_path / "figures.json"
    arguments = [
        "measure",
        "--group",
        "choose",
        "--methods",
        "pca",
        "--pyramid",
        str(program),
        "-o",
        str(output),
    ]
    monkeypatch.setattr(sys, "argv", ["rendered_stacks", *arguments])
    rendered_stacks.main()
    figures = json.loads(output.read_text())["choose"]
    (rendered,) = scenes("choose")
    first = measure(pf.FusionResult(rendered.frames[0]), rendered)
    assert figures["pyramid"]["scenes"]["c1-2"] == pytest.approx(first)
    assert figures["pca"]["summary"]["psnr"] == pytest.approx(figures["pca"]["scenes"]["c1-2"]["psnr"])
    best = figures["oracle: least error"]["summary"]["psnr"]
    assert all(best >= of_method["summary"]["psnr"] for of_method in figures.values())
    printed = capsys.readouterr().out
    assert "oracle: true depth" in printed
    assert f"{first['psnr_band']:.3f}" in printed
