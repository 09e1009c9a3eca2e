import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from benchmarks._known_stack import KnownStack, fuse, score
from benchmarks._truth import noisy

import panfocus as pf
from benchmarks import rivals, stack_kinds
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_single


@pytest.fixture
def stack(rng):
    """A stack of three frames of 12 bits with three channels; the depth of the last one differs."""
    frames = rng.integers(0, 4096, (3, 33, 45, 3), dtype=np.uint16)
    depth = np.ones((33, 45, 3))
    depth[..., 2] = 0
    return KnownStack("channels", "choose", "s", frames, frames[1], depth, white=2400.0)


def copy_first(scene, result):
    write_image(result, read_single(scene.sources[0]))


def write_8_bit_colour(scene, result):
    frame = read_single(scene.sources[0])
    write_image(result, np.stack([frame // 257] * 3, axis=2).astype(np.uint8))


def run_here(function, tasks, **_):
    yield from enumerate(function(*task) for task in tasks)


def test_rivals_get_and_return_12_bits_without_loss(stack):
    for frames in (stack.frames, stack.frames[..., 0]):
        image = rivals.fuse_frames(copy_first, frames)
        assert image.dtype == np.uint16
        np.testing.assert_array_equal(image, frames[0])


def test_results_of_8_bit_in_colour_become_like_the_grey_frames(stack):
    frames = stack.frames[..., 0]
    image = rivals.fuse_frames(write_8_bit_colour, frames)
    assert (image.dtype, image.shape) == (np.uint16, frames.shape[1:])
    assert np.abs(image.astype(int) - frames[0]).max() <= 4095 / 255 + 1


def test_noise_is_relative_to_white_and_leaves_the_truth_alone(stack):
    changed = noisy(stack.frames, 5, stack.white).astype(int) - stack.frames
    inner = (stack.frames > 500) & (stack.frames < 3500)  # where nothing is clipped
    assert np.std(changed[inner]) == pytest.approx(5 * 2400 / 255, 0.05)
    assert noisy(stack.frames, 50, stack.white).max() == 4095
    _, rows = stack_kinds.measure(stack, "", ["average"], None, 5)
    with_noise = noisy(stack.frames, 5, stack.white)
    means = [
        score(pf.FusionResult(rivals.fuse_frames(rivals.average, with_noise[..., k])), part)["psnr"]
        for k, part in enumerate(stack_kinds.split(stack))
    ]
    assert rows["average"]["psnr"] == np.mean(means)


def test_channels_are_fused_and_scored_one_by_one(stack):
    place, rows = stack_kinds.measure(stack, "dsift", [], None, 0)
    assert place == ("channels", "choose", "s")
    each = [
        score(
            fuse(replace(stack, frames=stack.frames[..., k]), "dsift"),
            replace(stack, image=stack.image[..., k], depth=stack.depth[..., k]),
        )
        for k in range(3)
    ]
    for key in ("psnr", "label", "far"):
        assert rows["dsift"][key] == pytest.approx(np.mean([figures[key] for figures in each]), rel=1e-12)


def test_the_table_has_a_column_per_kind_and_half(capsys):
    scenes = {"a": {"psnr": 30.0, "far": 0.01, "psnr_band": 20.0}, "b": {"psnr": 31.0, "far": 0.03}}
    table = {
        "phase": {"report": {"panfocus": scenes, "enfuse": {"a": {"psnr": 29.0}}}},
        "layered": {"choose": {name: {"a": scenes["a"]} for name in ("panfocus", "enfuse")}},
    }
    stack_kinds.print_table(table, ["panfocus", "enfuse"])
    assert capsys.readouterr().out.splitlines() == [
        "| PSNR in dB / far share in % | layered, choose | band, choose | phase, report |",
        "|---|---|---|---|",
        "| panfocus | 30.00 / 1.0 | 20.00 | 30.50 / 2.0 |",
        "| enfuse | 30.00 / 1.0 | 20.00 | 29.00 |",
    ]


def test_the_command_measures_the_wanted_kinds(stack, tmp_path, monkeypatch, capsys):
    frames = (stack.frames // 16).astype(np.uint8)
    pairs = [
        KnownStack(kind, half, f"s-{half}", frames[:2], frames[0])
        for kind in ("Real-MFF", "MFI-WHU")
        for half in ("choose", "report")
    ]
    monkeypatch.setattr(stack_kinds, "scenes", lambda half: [pair for pair in pairs if pair.half == half])
    monkeypatch.setattr(stack_kinds, "run_tasks", run_here)
    monkeypatch.setattr(rivals, "available", lambda pyramid: {"pyramid": copy_first})
    output = tmp_path / "figures.json"
    arguments = [
        "--methods",
        "pca",
        "--kinds",
        "Real-MFF",
        "--half",
        "report",
        "--pyramid",
        "p.py",
        "--verbose",
        "-o",
    ]
    monkeypatch.setattr(sys, "argv", ["stack_kinds", *arguments, str(output)])
    stack_kinds.main()
    figures = json.loads(output.read_text())["kinds"]
    assert list(figures) == ["Real-MFF"]
    assert figures["Real-MFF"]["report"]["pyramid"]["s-report"]["psnr"] == np.inf
    expected = score(pf.fuse(frames[:2], "pca"), pairs[1])
    assert figures["Real-MFF"]["report"]["pca"] == {"s-report": expected}
    printed = capsys.readouterr().out
    assert f"| pca | {expected['psnr']:.2f} |" in printed
    assert f"Real-MFF, report, pca: s-report psnr {expected['psnr']:.3f}" in printed


def test_unknown_kinds_and_missing_programs_are_named(monkeypatch):
    monkeypatch.setattr(rivals, "available", lambda pyramid: {})
    for arguments, named in (("--kinds photos", "photos"), ("--enfuse", "enfuse")):
        monkeypatch.setattr(sys, "argv", ["stack_kinds", *arguments.split()])
        with pytest.raises(SystemExit, match=named):
            stack_kinds.main()


def test_pairs_have_halves_without_common_scenes(data_dir):
    first, second = (next(stack_kinds.scenes(half)) for half in ("choose", "report"))
    assert (first.kind, first.half, second.half) == ("Real-MFF", "choose", "report")
    assert first.name != second.name
    assert first.frames.shape == (2, *first.image.shape)
