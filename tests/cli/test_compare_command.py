import csv
import json
import os
import re
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import tifffile
from cli_errors import assert_error_line
from scipy.ndimage import gaussian_filter

from panfocus.cli import _console
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image

FAST = "coupled:stride=4"


@pytest.fixture
def compare(run, scenes_dir, tmp_path, monkeypatch):
    """Run `panfocus compare` on the small scenes, into `report`."""
    monkeypatch.chdir(tmp_path)

    def compare(*arguments):
        return run("compare", "scenes", "-o", "report", "--workers", 1, "--metrics", "NMI,MSE", *arguments)

    return compare


def rows():
    with Path("report/scores.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def made_and_reused(out):
    """Return the numbers of results that a run made and reused."""
    (line,) = (line for line in out.splitlines() if "reused" in line)
    return tuple(map(int, re.findall(r"\d+", line)))


def test_methods_and_results_are_compared(compare, average_dir):
    ran = compare("--methods", f"{FAST},coupled:stride=7", "--results", "average=average")
    assert (ran.code, ran.err) == (0, "")
    assert "report/index.html" in ran.out
    assert {row["method"] for row in rows()} == {FAST, "coupled:stride=7", "average"}
    assert sorted(path.name for path in Path("report").iterdir()) == [
        "index.html", "results", "scores.csv", "scores.json",
    ]  # fmt: skip


def test_progress_without_a_terminal_is_lines(compare, monkeypatch):
    monkeypatch.setattr(_console, "SECONDS_BETWEEN_LINES", 0.0)
    out = compare("--methods", FAST).out.splitlines()
    lines = [line for line in out if line.startswith("compare ")]
    assert lines == ["compare ...", "compare 1 of 3", "compare 2 of 3", "compare 3 of 3"]
    assert "page 67%" in out


def test_quiet_prints_nothing(compare):
    assert compare("--methods", FAST, "--quiet") == (0, "", "")


def test_missing_results_and_skipped_files_are_listed(compare, average_dir, scenes_dir):
    (average_dir / "cup_fused.png").unlink()
    shutil.copy(scenes_dir / "cup-A.png", scenes_dir / "contents.png")
    out = compare("--results", "average=average").out
    assert any("average" in line and "cup" in line for line in out.splitlines())
    assert "contents.png" in out
    assert {row["scene"] for row in rows()} == {"box-2", "box-10"}


def test_finished_report_is_updated_only_with_force(compare, average_dir):
    assert compare("--methods", FAST).code == 0
    again = compare("--methods", FAST)
    assert again.code == 1
    assert_error_line(again.err, "report/index.html", "--force")
    wider = compare("--methods", FAST, "--results", "average=average", "--force")
    assert made_and_reused(wider.out) == (3, 3)
    (average_dir / "cup_fused.png").write_bytes((average_dir / "box-2_fused.png").read_bytes())
    assert made_and_reused(compare("--methods", FAST, "--results", "average=average", "--force").out) == (
        1,
        5,
    )


def test_results_of_a_report_can_be_compared_again(compare):
    compare("--methods", FAST)
    ran = compare(
        "--methods", FAST, "--results", f"before=report/results/{FAST.replace(':', '_')}", "--force"
    )
    assert ran.code == 0, ran.err
    scores = {}
    for row in rows():
        scores.setdefault(row["method"], []).append((row["scene"], row["metric"], row["value"]))
    assert scores[FAST] == scores["before"]


def test_metric_without_a_value_is_rejected_or_reported(compare, scenes_dir, average_dir):
    for path in scenes_dir.glob("*-GT.png"):
        path.unlink()
    ran = compare("--results", "average=average", "--metrics", "NMI,PSNR")
    assert ran.code == 2
    assert_error_line(ran.err, "--metrics", "PSNR")
    small = compare("--results", "average=average", "--metrics", "NMI,VIFF")
    assert (small.code, "VIFF" in small.out) == (0, True)


def test_colour_psnr_needs_colour(compare, scenes_dir, average_dir):
    arguments = ("--results", "average=average", "--metrics", "PSNR,PSNR_RGB")
    assert compare(*arguments).code == 0
    assert [row["metric"] for row in rows()] == ["PSNR", "PSNR_RGB"] * 3
    for path in (*scenes_dir.iterdir(), *average_dir.iterdir()):
        write_image(path, read_image(path)[..., 1], force=True)
    grey = compare(*arguments, "--force")
    assert (grey.code, "PSNR_RGB" in grey.out) == (0, True)
    assert [row["metric"] for row in rows()] == ["PSNR"] * 3


def test_jpeg_and_crop_change_the_scores(compare, average_dir):
    means = []
    for options in ((), ("--jpeg", 40), ("--crop", 5)):
        assert compare("--results", "average=average", *options, "--force").code == 0
        means.append(np.mean([float(row["value"]) for row in rows() if row["metric"] == "MSE"]))
    assert len(set(means)) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "names"),
    [
        ([], 2, ["--methods", "--results"]),
        (["--methods", "magic"], 2, ["magic", "coupled"]),
        (["--methods", "coupled:w=9"], 2, ["9"]),
        (["--methods", f"{FAST},{FAST}"], 2, [FAST]),
        (["--methods", FAST, "--metrics", "BEAUTY"], 2, ["BEAUTY", "NMI"]),
        (["--methods", FAST, "--jpeg", "101"], 2, ["--jpeg"]),
        (["--methods", FAST, "--crop", "17"], 2, ["17"]),
        (["--methods", FAST, "--metrics", "NMI,SSIM_CF"], 2, ["SSIM_CF", "3"]),
        (["--results", "average"], 2, ["NAME=DIR"]),
        (["--results", "average=nowhere"], 1, ["nowhere"]),
        (["nowhere", "--methods", FAST], 1, ["nowhere"]),
        (["scenes", "--methods", FAST], 2, []),
    ],
)
def test_wrong_arguments_are_rejected(compare, arguments, code, names):
    ran = compare(*arguments)
    assert ran.code == code
    assert_error_line(ran.err, *names)
    assert not Path("report/index.html").exists()


def deep_frames():
    for path in Path("scenes").glob("cup-*.png"):
        write_image(path, read_image(path).astype(np.uint16) * 257, force=True)


def foreign_table():
    Path("report").mkdir()
    Path("report/scores.csv").write_text("mine")


def small_result():
    write_image("average/cup_fused.png", np.zeros((40, 30, 3), np.uint8), force=True)


def cut_frame():
    path = Path("scenes/cup-B.png")
    path.write_bytes(path.read_bytes()[:-30])


def two_pages(name):
    image = read_image("scenes/cup-A.png")
    Path(name).unlink()
    tifffile.imwrite(Path(name).with_suffix(".tif"), np.stack([image, image]), photometric="rgb")


def test_data_range_sets_the_value_of_white(compare, average_dir):
    for path in [*Path("scenes").iterdir(), *Path("average").iterdir()]:
        write_image(path, read_image(path)[..., 0], force=True)
    compare("--results", "average=average")
    eight = [float(row["value"]) for row in rows()]
    for path in [*Path("scenes").iterdir(), *Path("average").iterdir()]:
        write_image(path, read_image(path).astype(np.uint16) * 16, force=True)
    dark = compare("--results", "average=average", "--force")
    assert (dark.code, made_and_reused(dark.out)) == (0, (3, 0))
    assert [float(row["value"]) for row in rows()] != pytest.approx(eight)
    compare("--results", "average=average", "--force", "--data-range", 4080)
    assert [float(row["value"]) for row in rows()] == pytest.approx(eight)
    assert json.loads(Path("report/scores.json").read_text())["data_range"] == 4080


def test_8_bit_results_are_scored_against_16_bit_frames(compare, average_dir):
    compare("--results", "average=average", "--metrics", "NMI")
    eight = rows()
    deep_frames()
    ran = compare("--results", "average=average", "--metrics", "NMI", "--force")
    assert ran.out.count("uint8") == 1
    assert [row["value"] for row in rows() if row["scene"] != "cup"] == [
        row["value"] for row in eight if row["scene"] != "cup"
    ]
    again = compare("--results", "average=average", "--metrics", "NMI", "--force")
    assert again.out.count("uint8") == 1  # also for reused results
    (notice,) = json.loads(Path("report/scores.json").read_text())["notices"]
    assert "average" in notice


def float_frames():
    for path in Path("scenes").glob("cup-*.png"):
        write_image(path.with_suffix(".tif"), read_image(path).astype(np.float32))
        path.unlink()


@pytest.mark.parametrize(
    ("spoil", "options", "code", "names"),
    [
        (foreign_table, [], 1, ["report/scores.csv"]),
        (deep_frames, ["--jpeg", 90], 2, ["--jpeg", "8", "cup-A.png"]),
        (float_frames, [], 1, ["cup-A.tif", "0", "1", "--data-range"]),
        (lambda: None, ["--data-range", -1], 2, ["--data-range"]),
        (small_result, [], 1, ["cup_fused.png", "30 x 40", "cup-A.png", "33 x 40"]),
        (cut_frame, [], 1, ["cup-B.png"]),
        (lambda: two_pages("scenes/cup-B.png"), [], 1, ["cup-B.tif", "2"]),
        (lambda: two_pages("scenes/cup-GT.png"), [], 1, ["cup-GT.tif", "2"]),
        (lambda: two_pages("average/cup_fused.png"), [], 1, ["cup_fused.tif", "2"]),
        (lambda: None, ["--crop", 17], 2, ["17", "box-2-A.png", "box-10-A.png", "cup-A.png"]),
    ],
)
def test_unusable_files_are_found_before_the_first_fusion(compare, average_dir, spoil, options, code, names):
    spoil()
    ran = compare("--methods", FAST, "--results", "average=average", *options)
    assert ran.code == code
    assert_error_line(ran.err, *names)
    assert not Path("report/results").exists()


def test_only_some_of_many_errors_are_listed(compare, average_dir):
    for path in [*Path("average").iterdir(), Path("scenes/cup-GT.png")]:
        path.write_bytes(b"nothing")
    ran = compare("--methods", FAST, "--results", "average=average")
    assert_error_line(ran.err, "1")
    assert sum(name in ran.err for name in ("box-2_fused", "box-10_fused", "cup_fused", "cup-GT")) == 3


# Stopped half-way, in separate processes.


def clouds(n, side):
    """Write n scenes and return the command that compares them."""
    rng = np.random.default_rng(3)
    Path("large").mkdir()
    for i in range(n):
        for part in "AB":
            frame = gaussian_filter(rng.random((side, side)), 2)
            write_image(f"large/cloud-{i}-{part}.png", np.rint(255 * frame / frame.max()).astype(np.uint8))
    return "compare", "large", "--methods", "coupled", "--metrics", "NMI", "-o", "report"


@pytest.fixture
def large_scenes(tmp_path, monkeypatch):
    """Scenes whose fusion takes long enough to be interrupted."""
    monkeypatch.chdir(tmp_path)
    return clouds(6, 200)


@pytest.fixture
def endless_scenes(tmp_path, monkeypatch):
    """Scenes whose fusion takes very long."""
    monkeypatch.chdir(tmp_path)
    return clouds(2, 2000)


def records():
    """Return the records of finished trials; a trial that is writing has a record without scores."""
    return {
        path: path.stat().st_mtime_ns
        for path in Path("report").rglob("*.json")
        if '"scores"' in path.read_text("utf-8")
    }


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="looks for processes in /proc, which this system has not"
)


def workers_of(process):
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [child for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


@needs_proc
def test_killed_run_resumes(large_scenes, command):
    process = command(*large_scenes, "--workers", 2)
    wait_for(lambda: len(records()) >= 2)
    workers = workers_of(process)
    process.kill()
    process.communicate()
    assert len(workers) == 2
    wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
    before = records()
    assert 2 <= len(before) < 6
    assert not Path("report/index.html").exists()

    again = command(*large_scenes, "--workers", 2)
    out, err = again.communicate()
    assert (again.returncode, err) == (0, "")
    made, reused = made_and_reused(out)
    assert made + reused == 6
    assert 2 <= reused <= len(before)  # a worker may have been about to finish one
    assert len(before.items() & records().items()) >= reused  # not one of them was written again
    assert Path("report/index.html").exists()


@needs_proc
def test_second_run_in_the_same_folder_is_rejected(large_scenes, command):
    first = command(*large_scenes, "--workers", 1)
    wait_for(lambda: len(records()) >= 1)
    first.send_signal(signal.SIGSTOP)  # or it might be done before the second begins
    second = command(*large_scenes, "--workers", 1, "--force")
    _, err = second.communicate(timeout=60)
    first.send_signal(signal.SIGCONT)
    assert second.returncode == 1
    assert_error_line(err, "report")
    assert first.wait(timeout=120) == 0
    assert not list(Path("report").glob(".*"))


def test_leftovers_of_a_killed_run_are_removed(compare):
    for place in ("report", "report/results/coupled/scenes"):
        Path(place).mkdir(parents=True)
        for name in (".panfocus-0123456789abcdef", ".other"):
            Path(place, name).write_text("half")
    Path("report/.panfocus.lock").touch()
    assert compare("--methods", FAST).code == 0
    assert sorted(path.name for path in Path("report").rglob(".*")) == [".other", ".other"]


@needs_proc
def test_killed_worker_is_replaced(large_scenes, command):
    process = command(*large_scenes, "--workers", 2)
    wait_for(lambda: len(records()) >= 1)
    os.kill(int(workers_of(process)[0]), signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_finished_results(large_scenes, command, workers):
    process = command(*large_scenes, "--workers", workers, start_new_session=True)
    wait_for(lambda: len(records()) >= 1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to every process
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert_error_line(err, "report")
    assert ("Ctrl-C" in out) == (workers > 1)
    assert records()
    assert not Path("report/index.html").exists()
    leftovers = [path for path in Path("report").rglob("*") if path.name.startswith(".")]
    assert leftovers == []


@needs_proc
def test_second_ctrl_c_stops_at_once(endless_scenes, command):
    process = command(*endless_scenes, "--workers", 2, start_new_session=True)
    wait_for(lambda: len(workers_of(process)) == 2)
    workers = workers_of(process)
    os.killpg(process.pid, signal.SIGINT)
    while "Ctrl-C" not in process.stdout.readline():
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)  # the fusions take longer
    assert process.returncode == 130
    assert_error_line(err, "report")
    wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
