"""`--max-memory`: the limit holds, and the plan is right."""

import json
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import tifffile
from scipy.ndimage import gaussian_filter

from panfocus.io.read_stack import read_image


def test_soft_frames_are_fused_with_the_minimum_memory(run, tmp_path, rng):
    texture = gaussian_filter(rng.random((700, 900)), 3)
    texture = np.uint8(255 * (texture - texture.min()) / np.ptp(texture))
    for k in range(2):
        tifffile.imwrite(tmp_path / f"{k}.tif", np.roll(texture, k))
    outputs = ("-o", tmp_path / "fused.png", "--never-in-focus", tmp_path / "never.png")
    refused = run("fuse", tmp_path, *outputs, "--max-memory", "1MB").err
    least = max(map(int, re.findall(r"(\d+) MB", refused))) + 1  # it is rounded
    limit = ("--max-memory", f"{least}MB")
    ran = run("fuse", tmp_path, *outputs, *limit, "--report", tmp_path / "report.json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads((tmp_path / "report.json").read_text())["scale"] > 1
    ran = run("fuse", tmp_path, *outputs, "--force", "--max-memory", f"{least - 2}MB")
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert "fuse ..." not in ran.out


@pytest.fixture
def large(tmp_path, rng):
    """Twelve different frames of one scene, 4 megapixels each; noise would look like hot pixels."""
    texture = gaussian_filter(rng.random((2000, 2000, 3), np.float32), (2, 2, 0), mode="wrap")
    texture = np.uint8(255 * (texture - texture.min()) / np.ptp(texture))
    for k in range(12):
        tifffile.imwrite(tmp_path / f"{k}.tif", np.roll(texture, 10 * k, axis=0), photometric="rgb")
    return tmp_path


# 144 MB of frames do not fit, so they go through a scratch file.
SMALL = ("--method", "dwt", "--set", "levels=1", "--max-memory", "600MB", "--align", "off")
# Run the command as the only child of a process: ru_maxrss is the maximum over all children.
MEASURE = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-c", "from panfocus.cli import main; main()", *sys.argv[1:]])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss is another elsewhere")
def test_memory_stays_below_the_limit(large):
    arguments = ("fuse", *large.glob("*.tif"), "-o", large / "fused.tif", *SMALL)
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    assert int(ran.stdout.split()[-1]) * 1024 < 600 * 10**6
    assert read_image(large / "fused.tif").shape == (2000, 2000, 3)


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_scratch_file_is_removed_when_the_run_is_stopped(large, command, monkeypatch, how):
    scratch = large / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    process = command("fuse", large, "-o", large / "fused.png", *SMALL)
    assert process.stdout.readline() == "read ...\n"
    assert process.stdout.readline() == "fuse ...\n"
    process.send_signal(how)
    _, err = process.communicate()
    assert (process.returncode, len(err.splitlines())) == ((130, 1) if how == signal.SIGINT else (-how, 0))
    assert list(scratch.iterdir()) == []
    assert not (large / "fused.png").exists()


def test_dry_run_reads_only_headers(large, run, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(large))
    monkeypatch.setattr("tempfile.tempdir", str(large))
    monkeypatch.setattr("panfocus.io.read_stack._decode", lambda header: pytest.fail("decoded"))
    ran = run("fuse", large, "-o", large / "fused.png", "--dry-run", *SMALL)
    assert (ran.code, ran.err) == (0, "")
    assert "12 frames of 2000 x 2000" in ran.out
    assert any(str(large) in line and "144 MB" in line for line in ran.out.splitlines())
    assert re.search(r" (\d+) x \1 pixels", ran.out)  # of tiles
    ran = run("fuse", large, "-o", large / "fused.png", "--dry-run", "--max-memory", "9GB")
    assert not any(str(large) in line and "144 MB" in line for line in ran.out.splitlines())


def test_full_scratch_disk_is_reported_before_decoding(large, run, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=100_000_000))
    monkeypatch.setattr("panfocus.io.read_stack._decode", lambda header: pytest.fail("decoded"))
    for also in ([], ["--dry-run"]):
        ran = run("fuse", large, "-o", large / "fused.png", *SMALL, *also)
        assert (ran.code, len(ran.err.splitlines())) == (1, 1)
        assert "144 MB" in ran.err
