"""`panfocus reproduce`, with a small reproduction instead of the full one."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from cli_errors import assert_error_line

import panfocus.reproduce
from panfocus.reproduce import plots


@pytest.fixture
def small(monkeypatch, reproduction):
    """Replace the reproduction by the small one; return the folders it is called with."""
    calls = []

    def done(data, *, progress):
        calls.append(data)
        progress("table 1", 1.0)
        return reproduction

    monkeypatch.setattr(panfocus.reproduce, "reproduce", done)
    return calls


def test_report_is_written_and_claims_are_counted(run, small, small_data, tmp_path, reproduction):
    ran = run("reproduce", "--data", small_data, "-o", tmp_path / "report")
    assert (ran.code, ran.err) == (0, "")
    assert small == [small_data]
    verdicts = [claim.verdict for claim in reproduction.claims]
    counts = re.findall(rf"^(\D+): (\d+) of {len(verdicts)} claims$", ran.out, re.MULTILINE)
    assert {verdict: int(n) for verdict, n in counts if int(n)} == Counter(verdicts)
    assert "table 1 ..." in ran.out
    assert sorted(path.name for path in (tmp_path / "report").iterdir()) == [
        "index.html", "numbers.csv", "numbers.json",
    ]  # fmt: skip


def test_report_is_overwritten_only_with_force(run, small, small_data, tmp_path):
    for name in ("index.html", "numbers.csv", "numbers.json"):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        (folder / name).write_text("mine")
        ran = run("reproduce", "--data", small_data, "-o", folder)
        assert ran.code == 1
        assert_error_line(ran.err, folder / name, "--force")
        assert (folder / name).read_text() == "mine"
        assert not small  # before the work
        assert run("reproduce", "--data", small_data, "-o", folder, "--force").code == 0
        assert (folder / name).read_text() != "mine"
        small.clear()


def test_missing_data_folder_is_rejected(run, tmp_path):
    ran = run("reproduce", "--data", tmp_path / "nowhere", "-o", tmp_path / "report")
    assert (ran.code, ran.out) == (1, "")
    assert_error_line(ran.err, tmp_path / "nowhere")
    assert not (tmp_path / "report").exists()


def test_missing_files_are_listed_in_one_line(run, small_data, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(small_data, data)
    gone = ("grayscale6/lab-B.png", "lytro/triple/seals-C.jpg", "training/pairs/p3b.png")
    for name in gone:
        (data / name).unlink()
    shutil.rmtree(data / "groundtruth")
    ran = run("reproduce", "--data", data, "-o", tmp_path / "report")
    assert (ran.code, ran.out) == (1, "")
    assert_error_line(ran.err, "3", *gone, "groundtruth/real-mff", "docs/reproduction.md")
    assert "jug" not in ran.err  # it has no public source


def test_missing_matplotlib_is_reported(run, small_data, tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    ran = run("reproduce", "--data", small_data, "-o", tmp_path / "report")
    assert (ran.code, ran.out) == (1, "")
    assert_error_line(ran.err, "matplotlib", "pip install 'panfocus[reproduce]'")
    assert not (tmp_path / "report").exists()


def test_interrupted_run_removes_the_folder_it_created(run, small_data, tmp_path, monkeypatch):
    def interrupted(data, *, progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(panfocus.reproduce, "reproduce", interrupted)
    ran = run("reproduce", "--data", small_data, "-o", tmp_path / "new" / "report")
    assert (ran.code, len(ran.err.splitlines())) == (130, 1)
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    assert run("reproduce", "--data", small_data, "-o", tmp_path / "old").code == 130
    assert (tmp_path / "old").is_dir()  # the run did not create it


def test_impossible_folder_is_rejected_before_the_work(run, small, small_data, tmp_path):
    (tmp_path / "file").write_text("mine")
    ran = run("reproduce", "--data", small_data, "-o", tmp_path / "file" / "report")
    assert ran.code == 1
    assert_error_line(ran.err, tmp_path / "file" / "report")
    assert not small


@pytest.mark.parametrize("command", [("reproduce", "--data", "."), ("compare", ".", "--methods", "pca")])
def test_empty_folder_name_is_rejected(run, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = run(*command, "-o", "")
    assert ran.code == 2
    assert_error_line(ran.err, "--output")


@pytest.mark.parametrize("missing", [("--data", "d"), ("-o", "r")])
def test_data_and_output_are_required(run, missing):
    ran = run("reproduce", *missing)
    assert ran.code == 2
    assert_error_line(ran.err, "--output" if "--data" in missing else "--data")


def test_help_and_docs_give_the_same_time(run):
    (minutes,) = re.findall(r"(\w+)\s+minutes\s+of\s+processor\s+time", run("reproduce", "--help").out)
    docs = Path(__file__).parents[2] / "docs" / "reproduction.md"
    assert f"{minutes} minutes of processor time" in docs.read_text()


def test_quiet_prints_nothing(run, small, small_data, tmp_path):
    assert run("reproduce", "--data", small_data, "-o", tmp_path / "r", "--quiet") == (0, "", "")
    assert Path(tmp_path / "r" / "index.html").exists()
