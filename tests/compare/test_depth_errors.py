"""Scenes with a file of the true depth: errors by hand, damaged files, and the report."""

import csv
import json
import shutil
import zipfile

import numpy as np
import pytest

from panfocus.compare import (
    Comparison,
    Conditions,
    find_groups,
    list_trials,
    parse_methods,
    parse_results,
    run_trials,
    write_report,
)
from panfocus.compare.depth_errors import KnownDepth, find_depth_errors, read_known_depth
from panfocus.errors import FileError
from panfocus.pipeline import fuse
from panfocus.result import FusionResult
from small_sets import write_averages, write_scenes

SHAPE = (13, 17)
N_FRAMES = 6
KEYS = ["label_error", "depth_error", "far_share"]


@pytest.fixture
def known():
    """Depth 0 in 6 columns, 4.3 in 6, and 7, beyond the last frame, in 5; the upper 10 rows count."""
    depth = np.repeat([0, 4.3, 7], [6, 6, 5])
    counted = np.arange(SHAPE[0]) < 10
    return KnownDepth(np.tile(depth, (SHAPE[0], 1)), np.repeat(counted[:, None], SHAPE[1], axis=1))


@pytest.fixture
def labels():
    """Frames 0, 3 (one too low) and 5 (the nearest), except for frame 0 in the first row."""
    labels = np.tile(np.repeat([0, 3, 5], [6, 6, 5]).astype(np.uint8), (SHAPE[0], 1))
    labels[0] = 0
    labels[10:] = 1  # not counted
    return labels


def result(**maps):
    return FusionResult(np.zeros(SHAPE, np.uint8), **maps)


def test_labels_stand_for_depth_and_weights(known, labels):
    errors = find_depth_errors(result(labels=labels), known, N_FRAMES)
    # The first row has 11 wrong labels, all far off, by 6 x 4.3 and 5 x 5; nine rows have 6, off by 1.3.
    assert errors == pytest.approx(
        {
            "label_error": (11 + 9 * 6) / 170,
            "depth_error": (6 * 4.3 + 5 * 5 + 9 * 6 * 1.3) / 170,
            "far_share": 11 / 170,
        }
    )


def test_depth_and_weights_take_precedence_over_labels(known, labels):
    votes = 10 * (np.arange(N_FRAMES)[:, None, None] == labels).astype(np.uint16)
    votes[2, 5, 12:] = 11  # more than half of the weight is three frames away
    votes[2, 6, 12:] = 10  # just half of it
    votes[5, 7, 12:], votes[3, 7, 12:] = 0, 1  # all of it, but only two frames away
    depth = np.clip(known.depth, 0, N_FRAMES - 1) - 0.25
    errors = find_depth_errors(result(labels=labels, depth=depth, votes=votes), known, N_FRAMES)
    assert errors == pytest.approx(
        {"label_error": 65 / 170, "depth_error": 0.25, "far_share": (11 + 5) / 170}
    )


def test_both_frames_next_to_a_depth_between_them_are_right():
    labels = np.where(np.arange(SHAPE[1]) < 8, 1, 2) * np.ones(SHAPE, np.uint8)
    known = KnownDepth(np.full(SHAPE, 1.5), np.ones(SHAPE, bool))
    assert find_depth_errors(result(labels=labels), known, N_FRAMES)["label_error"] == 0


def test_depth_of_a_small_integer_type_does_not_wrap():
    known = KnownDepth(np.full(SHAPE, 3, np.uint8), np.ones(SHAPE, bool))
    errors = find_depth_errors(result(labels=np.full(SHAPE, 2, np.uint8)), known, N_FRAMES)
    assert errors == {"label_error": 1, "depth_error": 1, "far_share": 0}


def test_the_border_does_not_count(known, labels):
    errors = find_depth_errors(result(labels=labels), known.without_border(1), N_FRAMES)
    # Without the first row, 9 rows of 5 + 6 + 4 columns count; of 13 rows, the cropped last one never did.
    assert errors["label_error"] == pytest.approx(9 * 6 / (9 * 15))
    assert errors["far_share"] == 0


def test_without_maps_or_counted_pixels_there_are_no_errors(known, labels):
    assert find_depth_errors(result(), known, N_FRAMES) == {}
    nothing = KnownDepth(known.depth, np.zeros(SHAPE, bool))
    assert find_depth_errors(result(labels=labels), nothing, N_FRAMES) == {}


def test_counted_pixels_are_read_or_derived(known, tmp_path):
    textured, never = known.counted, np.arange(SHAPE[1]) < np.full(SHAPE, 4)
    expected = {
        "all": np.ones(SHAPE, bool),
        "counted": known.counted,
        "rendered": textured & ~never,
    }
    np.savez(tmp_path / "all.npz", depth=known.depth)
    np.savez_compressed(tmp_path / "counted.npz", depth=known.depth, counted=known.counted, textured=never)
    np.savez(tmp_path / "rendered.npz", depth=known.depth, textured=textured, never_in_focus=never, more=[1])
    for name, counted in expected.items():
        read = read_known_depth(tmp_path / f"{name}.npz", SHAPE)
        np.testing.assert_array_equal(read.depth, known.depth)
        np.testing.assert_array_equal(read.counted, counted)


def nan_at_one_pixel():
    depth = np.ones(SHAPE)
    depth[3, 4] = np.nan
    return depth


@pytest.mark.parametrize(
    ("arrays", "fact"),
    [
        ({"counted": np.ones(SHAPE, bool)}, ("key", "depth")),
        ({"depth": np.ones((17, 13))}, ("got", (17, 13))),
        ({"depth": np.ones((13, 17, 1))}, ("got", (13, 17, 1))),
        ({"depth": np.ones((400, 400))}, ("needed", SHAPE)),
        ({"depth": nan_at_one_pixel()}, ("problem", "not finite")),
        ({"depth": np.full(SHAPE, np.inf)}, ("problem", "not finite")),
        ({"depth": np.full(SHAPE, 1j)}, ("got", "complex128")),
        ({"depth": np.full(SHAPE, None)}, ("problem", "pickle")),
        ({"depth": np.ones(SHAPE), "counted": np.ones((13, 16), bool)}, ("got", (13, 16))),
        ({"depth": np.ones(SHAPE), "counted": np.ones(SHAPE, np.uint8)}, ("got", "uint8")),
    ],
    ids=["missing", "turned", "planes", "huge", "nan", "inf", "complex", "pickle", "mask-shape", "mask-type"],
)
def test_unsuitable_arrays_are_named_with_their_file(tmp_path, arrays, fact):
    path = tmp_path / "cup.npz"
    np.savez(path, **arrays)
    with pytest.raises(FileError) as caught:
        read_known_depth(path, SHAPE)
    assert caught.value.message.startswith(f"{path}: ")
    assert "\n" not in caught.value.message
    assert caught.value.facts["file"] == str(path)
    assert caught.value.facts[fact[0]] == fact[1]


def truncated(path):
    path.write_bytes(path.read_bytes()[:-30])


def not_a_zip(path):
    path.write_bytes(b"depth")


def damaged_array(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("depth.npy", b"\x93NUMPY\x01\x00")


def broken_link(path):
    path.unlink()
    path.symlink_to(path.with_name("gone.npz"))


@pytest.mark.parametrize("damage", [truncated, not_a_zip, damaged_array, broken_link])
def test_damaged_files_end_the_comparison_before_the_first_trial(scenes_dir, tmp_path, damage):
    path = scenes_dir / "truth" / "cup.npz"
    path.parent.mkdir()
    np.savez(path, depth=np.ones((40, 33)))
    damage(path)
    groups = find_groups([scenes_dir])
    trials = list_trials(groups, parse_methods("pca"), Conditions(metrics=("NMI",)), tmp_path / "results")
    with pytest.raises(FileError) as caught:
        run_trials(trials, workers=1)
    assert caught.value.facts["file"] == str(path)
    assert not (tmp_path / "results").exists()


@pytest.fixture(scope="module")
def comparison(small_scenes, tmp_path_factory):
    """A comparison on scenes with depth 0 on the left and 1 on the right, one without a file; its report."""
    folder = tmp_path_factory.mktemp("known")
    scenes_dir = write_scenes(folder / "scenes", small_scenes)
    average_dir = write_averages(folder / "average", small_scenes)
    (scenes_dir / "truth").mkdir()
    depth = np.tile(np.arange(33) >= 16, (40, 1)).astype(np.float32)
    for name in ("box-2", "cup"):
        np.savez(scenes_dir / "truth" / f"{name}.npz", depth=depth)
    groups = find_groups([scenes_dir])
    entries = [
        *parse_methods("panfocus,panfocus:composition=labels,dsift,pca"),
        *parse_results([f"average={average_dir}"], groups),
    ]
    conditions = Conditions(metrics=("NMI", "PSNR"), crop=2)
    trials = list_trials(groups, entries, conditions, folder / "report" / "results")
    results, _ = run_trials(trials, workers=1)
    write_report(Comparison.of(groups, entries, conditions, trials, results), folder / "report")
    return folder, trials, results


def test_every_method_is_scored_by_its_maps(comparison, small_scenes):
    _, trials, results = comparison
    for trial, scored in zip(trials, results, strict=True):
        found = {key: value for key, value in scored.scores.items() if key in KEYS}
        if trial.scene.name == "box-10" or trial.entry.name in ("pca", "average"):
            assert found == {}
        else:
            assert list(found) == KEYS
            assert found["far_share"] == 0  # no frame is that far
            assert 0 <= found["label_error"] < 0.2  # frames are sharp up to the middle
    # By hand, of the library's labels: 36 x 29 pixels count.
    wrong = fuse(small_scenes["box-2"][:2], "dsift").labels != (np.arange(33) >= 16)
    assert results[2].scores["label_error"] == wrong[2:-2, 2:-2].sum() / (36 * 29)
    assert results[2].scores["depth_error"] == results[2].scores["label_error"]
    assert results[0].scores["depth_error"] != results[0].scores["label_error"]  # from a depth map


def test_the_report_has_columns_for_known_depth(comparison):
    folder, *_ = comparison
    with (folder / "report" / "scores.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] in KEYS]
    assert len(rows) == 2 * 3 * 3  # scenes, methods with labels, errors
    data = json.loads((folder / "report" / "scores.json").read_text("utf-8"))
    assert list(data["metrics"]) == ["NMI", "PSNR", *KEYS, "s/MP"]
    assert all(data["metrics"][key]["better"] == "smaller" for key in KEYS)
    summary = data["groups"][0]["summary"]["label_error"]
    assert list(summary) == ["panfocus", "panfocus:composition=labels", "dsift"]
    assert {of_method["n"] for of_method in summary.values()} == {2}


def test_the_page_shows_errors_of_depth_and_gaps(comparison, open_file):
    folder, *_ = comparison
    page = open_file(folder / "report" / "index.html")
    table = page.locator("section:first-of-type > .wide table").first
    assert "with true depth" in table.locator("thead tr.kinds").inner_text()
    headings = table.locator("thead tr + tr th").all_inner_texts()
    assert [text.split()[0] for text in headings[2:5]] == KEYS
    assert all("↓" in text for text in headings[2:5])
    known, unknown = (
        table.locator("tbody tr", has_text=name).locator("td").all_inner_texts()[1:4]
        for name in ("dsift", "average")
    )
    assert 0 <= float(known[0].split()[0]) < 0.2
    assert unknown == ["\N{EN DASH}"] * 3


def test_a_changed_truth_file_invalidates_its_results(comparison, tmp_path):
    folder, *_ = comparison
    scenes_dir = tmp_path / "scenes"
    shutil.copytree(folder / "scenes", scenes_dir)

    def run():
        groups = find_groups([scenes_dir])
        conditions = Conditions(metrics=("NMI",))
        return run_trials(
            list_trials(groups, parse_methods("dsift"), conditions, tmp_path / "results"), workers=1
        )

    (first, *_), reused = run()
    assert reused == 0
    assert run()[1] == 3
    path = scenes_dir / "truth" / "box-2.npz"
    np.savez(path, depth=np.ones((40, 33)))
    (changed, *_), reused = run()
    assert reused == 2
    assert changed.scores["label_error"] > first.scores["label_error"]
    path.unlink()
    (without, *_), reused = run()
    assert reused == 2
    assert list(without.scores) == ["NMI"]


def test_the_truth_is_never_overwritten(comparison, tmp_path):
    folder, *_ = comparison
    scenes_dir = tmp_path / "scenes"
    shutil.copytree(folder / "scenes", scenes_dir)
    (scene, *_) = find_groups([scenes_dir])[0].scenes
    assert scene.files == (*scene.sources, scene.reference, scenes_dir / "truth" / "box-2.npz")
