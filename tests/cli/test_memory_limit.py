"""The command keeps to the memory that it is allowed, and to its plan."""

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


def test_soft_frames_are_fused_with_the_least_memory(run, tmp_path, rng):
    texture = gaussian_filter(rng.random((700, 900)), 3)
    texture = np.uint8(255 * (texture - texture.min()) / np.ptp(texture))
    for k in range(2):
        tifffile.imwrite(tmp_path / f"{k}.tif", np.roll(texture, k))
    outputs = ("-o", tmp_path / "fused.png", "--never-in-focus", tmp_path / "never.png")
    refused = run("fuse", tmp_path, *outputs, "--max-memory", "1MB").err
    least = int(re.search(r"about (\d+) MB of memory would be needed", refused).group(1)) + 1  # rounded
    limit = ("--max-memory", f"{least}MB")
    ran = run("fuse", tmp_path, *outputs, *limit, "--report", tmp_path / "report.json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads((tmp_path / "report.json").read_text())["scale"] > 1
    ran = run("fuse", tmp_path, *outputs, "--force", "--max-memory", f"{least - 2}MB")
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert "fuse ..." not in ran.out


@pytest.fixture
def large(tmp_path, rng):
    """Twelve frames of four megapixels, each different, of one scene.

    Smooth: every value of plain noise would be looked at closely, as it may be a hot pixel's.
    """
    texture = gaussian_filter(rng.random((2000, 2000, 3), np.float32), (2, 2, 0), mode="wrap")
    texture = np.uint8(255 * (texture - texture.min()) / np.ptp(texture))
    for k in range(12):
        tifffile.imwrite(tmp_path / f"{k}.tif", np.roll(texture, 10 * k, axis=0), photometric="rgb")
    return tmp_path


# This leaves too little beside 144 MB of frames: they go through a scratch file.
SMALL = ("--method", "dwt", "--set", "levels=1", "--max-memory", "600MB", "--align", "off")
# In a process whose only child is the command: ru_maxrss is that of the largest child ever.
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
def test_the_scratch_file_is_gone_however_the_run_ends(large, command, monkeypatch, how):
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


def test_a_dry_run_tells_the_plan_from_headers_alone(large, run, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(large))
    monkeypatch.setattr("tempfile.tempdir", str(large))
    monkeypatch.setattr("panfocus.io.read_stack._decode", lambda header: pytest.fail("decoded"))
    ran = run("fuse", large, "-o", large / "fused.png", "--dry-run", *SMALL)
    assert (ran.code, ran.err) == (0, "")
    assert "would fuse 12 frames of 2000 x 2000, uint8, with about" in ran.out
    assert f"kept in a scratch file in {large}, 144 MB\n" in ran.out
    assert re.search(r"^in tiles of at most (\d+) x \1 pixels$", ran.out, re.MULTILINE)
    assert re.search(r"^in about \d+ s$", ran.out, re.MULTILINE)
    ran = run("fuse", large, "-o", large / "fused.png", "--dry-run", "--max-memory", "9GB")
    assert "held in memory, 144 MB\n" in ran.out


def test_a_disk_without_room_is_refused_before_anything_is_decoded(large, run, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=100_000_000))
    monkeypatch.setattr("panfocus.io.read_stack._decode", lambda header: pytest.fail("decoded"))
    for also in ([], ["--dry-run"]):
        ran = run("fuse", large, "-o", large / "fused.png", *SMALL, *also)
        assert (ran.code, len(ran.err.splitlines())) == (1, 1)
        assert "144 MB are needed there" in ran.err
