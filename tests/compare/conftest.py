"""A finished report."""

import shutil

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
from panfocus.metrics import CATALOGUE
from small_sets import write_averages, write_scenes


@pytest.fixture(scope="module")
def report(small_scenes, tmp_path_factory):
    """Write the report of a comparison on two groups, the second one without references."""
    tmp_path = tmp_path_factory.mktemp("comparison")
    scenes_dir = write_scenes(tmp_path / "scenes", small_scenes)
    average_dir = write_averages(tmp_path / "average", small_scenes)
    others = tmp_path / "others"
    shutil.copytree(scenes_dir, others, ignore=shutil.ignore_patterns("*-GT.png", "cup*"))
    shutil.copytree(average_dir, average_dir / "others")
    (average_dir / "others" / "box-10_fused.png").unlink()

    groups = find_groups([scenes_dir, others])
    entries = [
        *parse_methods("coupled:stride=4,coupled:stride=7"),
        *parse_results([f"average={average_dir}"], groups),
    ]
    conditions = Conditions(metrics=("NMI", "QABF", "MSE", "PSNR"), crop=2)
    folder = tmp_path / "report"
    trials = list_trials(groups, entries, conditions, folder / "results")
    results, _ = run_trials(trials, workers=1)
    write_report(Comparison.of(groups, entries, conditions, trials, results), folder)
    return folder


@pytest.fixture(scope="module")
def wide_report(small_scenes, tmp_path_factory):
    """Write the report of twelve methods by all metrics; the first one has no result for the last scene."""
    tmp_path = tmp_path_factory.mktemp("comparison")
    scenes_dir = write_scenes(tmp_path / "scenes", small_scenes)
    average_dir = write_averages(tmp_path / "average", small_scenes)
    other = tmp_path / "other"
    shutil.copytree(average_dir, other)
    (other / "cup_fused.png").unlink()
    groups = find_groups([scenes_dir])
    entries = parse_results([f"m0={other}", *(f"m{i}={average_dir}" for i in range(1, 12))], groups)
    conditions = Conditions(metrics=tuple(metric.key for metric in CATALOGUE))
    folder = tmp_path / "wide"
    trials = list_trials(groups, entries, conditions, folder / "results")
    results, _ = run_trials(trials, workers=1)
    write_report(Comparison.of(groups, entries, conditions, trials, results), folder)
    return folder
