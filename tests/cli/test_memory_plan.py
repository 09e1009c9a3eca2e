"""Plans keep to the memory that is allowed, and the command keeps to its plan."""

import dataclasses
import json
import re
import signal
import subprocess
import sys
import tracemalloc
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import tifffile
from scipy.ndimage import gaussian_filter

from panfocus._checks import blank
from panfocus._threads import limit_threads
from panfocus.errors import InputError
from panfocus.execute import tile_side
from panfocus.io.machine import free_memory
from panfocus.io.read import read_image
from panfocus.job.plan import PROGRAM, make_plan
from panfocus.methods import get_method
from panfocus.registration import alignment_bytes, apply_alignment, find_alignment
from panfocus.registration.memory import _registering
from panfocus.slabs import slab_spans


def like(n_frames, height, width, dtype=np.uint8):
    return blank((n_frames, height, width, 3), np.dtype(dtype))


def plan(
    method, frames, max_memory=None, *, maps=(), refine=False, align=False, spans=(), threads=2, **settings
):
    with limit_threads(threads):
        return make_plan(
            method,
            get_method(method, **settings),
            frames,
            maps=maps,
            refine=refine,
            align=align,
            max_memory=max_memory,
            spans=spans,
        )


def least_memory(method, frames, **options):
    """Return what a refusal says is needed, in bytes."""
    with pytest.raises(InputError) as caught:
        plan(method, frames, 1, **options)
    megabytes = re.search(r"about ([\d,]+) MB of memory would be needed", str(caught.value)).group(1)
    return (int(megabytes.replace(",", "")) + 1) * 10**6


@pytest.mark.parametrize("method", ["panfocus", "dwt", "coupled"])
@pytest.mark.parametrize("n_frames", [2, 10, 100])
@pytest.mark.parametrize("limit", [1_500_000_000, 3_000_000_000])
def test_a_plan_stays_below_its_limit_and_frames_go_to_the_disk_if_they_have_to(method, n_frames, limit):
    frames = like(n_frames, 4000, 6000)
    planned = plan(method, frames, limit)
    assert PROGRAM < planned.memory <= limit
    if frames.nbytes > limit:
        assert not planned.in_memory
    if n_frames == 2:
        assert planned.in_memory


def test_more_memory_gives_larger_tiles():
    frames = like(20, 4000, 6000)
    sides = [plan("panfocus", frames, limit).side for limit in (1_200_000_000, 1_400_000_000, 9 * 10**9)]
    assert sides[0] < sides[1] < sides[2] == 2100


def test_tiles_that_take_turns_take_less():
    frames = like(20, 4000, 6000)
    assert plan("dwt", frames, 10**9, threads=1).side > plan("dwt", frames, 10**9, threads=8).side


@pytest.mark.parametrize(
    ("method", "options"),
    [("pca", {}), ("dsift", {}), ("dwt", {"refine": True}), ("panfocus", {"n_frames": 100})],
)
def test_too_little_memory_is_refused_with_what_is_needed_and_that_suffices(method, options):
    frames = like(options.pop("n_frames", 2), 4000, 6000)
    with pytest.raises(InputError, match=r"about [\d,]+ MB of memory would be needed, .* 500 MB") as caught:
        plan(method, frames, 500_000_000, **options)
    megabytes = int(re.search(r"about ([\d,]+) MB", str(caught.value)).group(1).replace(",", ""))
    assert plan(method, frames, (megabytes + 1) * 10**6, **options).memory <= (megabytes + 1) * 10**6


@pytest.mark.parametrize("n_frames", [2, 40])
@pytest.mark.parametrize("settings", [{}, {"quality": "exact", "front": "last"}, {"noise": 3.0}], ids=str)
def test_the_least_memory_suffices_whatever_the_frames_turn_out_to_be(n_frames, settings):
    """Noise and softness, known when frames have been read, widen the halo; cropping changes the tiles."""
    frames = like(n_frames, 3000, 4000)
    planned = plan("panfocus", frames, least_memory("panfocus", frames, **settings), **settings)
    usual, _ = get_method("panfocus", **settings).foreseen((3000, 4000))
    for noise, scale, cropped in product((0.5, 25.0), (1, 4), (0, 17, 200)):
        found = dataclasses.replace(usual, noise=settings.get("noise", noise), scale=scale)
        left = like(n_frames, 3000 - cropped, 4000 - cropped)
        with limit_threads(2):
            assert tile_side(found, left, planned.tile_memory, halo=found.halo) >= 48


def test_soft_frames_are_fused_with_the_least_memory(run, tmp_path, rng):
    texture = gaussian_filter(rng.random((700, 900)), 3)
    texture = np.uint8(255 * (texture - texture.min()) / np.ptp(texture))
    for k in range(2):
        tifffile.imwrite(tmp_path / f"{k}.tif", np.roll(texture, k))
    frames = blank((2, 700, 900), np.dtype(np.uint8))
    size = least_memory("panfocus", frames, maps=("never_in_focus",), align=True, threads=None)
    outputs = ("-o", tmp_path / "fused.png", "--never-in-focus", tmp_path / "never.png")
    limit = ("--max-memory", f"{size // 10**6}MB")
    ran = run("fuse", tmp_path, *outputs, *limit, "--report", tmp_path / "report.json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads((tmp_path / "report.json").read_text())["scale"] > 1
    ran = run("fuse", tmp_path, *outputs, "--force", "--max-memory", f"{size // 10**6 - 2}MB")
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert "fuse ..." not in ran.out


def test_of_slabs_what_is_worked_on_at_a_time_counts():
    """One slab of 20 frames, then the pictures of 10 slabs; labels are always kept."""
    spans = slab_spans(155, 20, 5)
    assert len(spans) == 10
    frames = like(155, 4000, 6000)
    by_slabs = least_memory("panfocus", frames, spans=spans)
    assert by_slabs == least_memory("panfocus", like(20, 4000, 6000), maps=("labels",))
    assert by_slabs < least_memory("panfocus", frames) - 200_000_000
    limit = 1_300_000_000
    assert plan("panfocus", frames, limit, spans=spans).side > plan("panfocus", frames, limit).side
    short = slab_spans(155, 5, 0)  # 31 pictures are more than the 5 frames of each
    assert least_memory("dwt", frames, spans=short) == least_memory(
        "dwt", like(31, 4000, 6000), maps=("labels",)
    )
    # A method that needs the whole image needs no more than a slab's frames.
    assert not plan("pca", frames, 7 * 10**9, spans=spans).in_memory


def test_each_demand_counts():
    frames = like(2, 1000, 1000)
    plain = plan("dwt", frames, 10**10).memory
    assert plan("dwt", frames, 10**10, refine=True).memory - plain == 136 * 3_000_000
    assert plan("dwt", frames, 10**10, maps=("labels",)).memory > plain
    assert plan("dwt", like(3, 1000, 1000), 10**10).memory - plain >= frames[0].nbytes
    assert plan("dwt", like(2, 1000, 1000, np.uint16), 10**10).memory > plain


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_alignment_counts_where_it_takes_most(dtype):
    """Two frames are resampled from one into the other, while the stack is in memory or on the disk."""
    frames = like(30, 4000, 6000, dtype)
    with limit_threads(2):
        aligning = alignment_bytes(frames)
    assert 2 * frames[0].nbytes < aligning < 2 * frames[0].nbytes + 200_000_000
    off, on = (plan("pca", frames, 10**11, align=align).memory for align in (False, True))
    assert on >= max(off, PROGRAM + frames.nbytes + aligning)


def test_what_finding_places_takes_grows_little_with_frames_and_not_with_their_size():
    with limit_threads(2):
        few, many = (alignment_bytes(like(n, 1100, 1400)) for n in (2, 200))
        assert few < 100_000_000
        assert 50_000_000 < many - few < 200 * 2 * 600_000  # what was found in two pairs a frame
        large, larger = (_registering(like(2, 1000 * k, 1500 * k)) for k in (4, 8))
    assert abs(larger - large) < 10_000_000


@pytest.mark.parametrize(("shape", "dtype"), [((3, 1200, 1300), np.uint8), ((3, 2100, 2500, 3), np.uint16)])
def test_alignment_takes_no_more_than_is_counted(rng, shape, dtype):
    """NumPy tells tracemalloc of every array; those inside of compiled loops are rows and small blocks."""
    texture = gaussian_filter(rng.random((shape[1] + 40, shape[2] + 40)), 2)
    texture = (np.iinfo(dtype).max * (texture - texture.min()) / np.ptp(texture)).astype(dtype)
    frames = np.empty(shape, dtype)
    for k, frame in enumerate(frames):
        cut = texture[5 * k : 5 * k + shape[1], 8 * k : 8 * k + shape[2]]
        frame[...] = cut if frame.ndim == 2 else cut[..., None]
    with limit_threads(2):
        allowed = alignment_bytes(frames)
        small = frames[:, :200, :200].copy()  # compiled before anything is counted
        apply_alignment(find_alignment(small, "shift"), small, small, borders="mark")
        tracemalloc.start()
        try:
            found = find_alignment(frames, "shift")
            apply_alignment(found, frames, frames, borders="mark")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    np.testing.assert_allclose(found.transforms[2][:2, 2], [-8, -5], atol=0.1)
    assert allowed / 4 < peak < allowed


def test_without_a_limit_it_is_a_quarter_of_what_is_free_or_what_is_needed(monkeypatch):
    frames = like(100, 4000, 6000)
    monkeypatch.setattr("panfocus.io.machine.free_memory", lambda: 10**10)
    assert plan("panfocus", frames) == plan("panfocus", frames, 10**10 // 4)
    monkeypatch.setattr("panfocus.io.machine.free_memory", lambda: 2 * 10**9)
    assert 500_000_000 < plan("panfocus", frames).memory < 2 * 10**9
    monkeypatch.setattr("panfocus.io.machine.free_memory", lambda: 500_000_000)
    with pytest.raises(InputError, match="more than the 500 MB free"):
        plan("panfocus", frames)
    monkeypatch.setattr("panfocus.io.machine.free_memory", lambda: None)
    assert plan("panfocus", frames) == plan("panfocus", frames, 2 * 10**9)


MEMINFO = "MemTotal:       16000000 kB\nMemAvailable:    8000000 kB\n"


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({"proc/meminfo": MEMINFO}, 8_192_000_000),
        (
            {
                "proc/meminfo": MEMINFO,
                "proc/self/cgroup": "0::/user/app\n",
                "sys/fs/cgroup/user/app/memory.max": "max\n",
                "sys/fs/cgroup/user/memory.max": "2000000000\n",
                "sys/fs/cgroup/user/memory.current": "700000000\n",
                "sys/fs/cgroup/user/memory.stat": "anon 600000000\ninactive_file 50000000\n",
            },
            1_350_000_000,
        ),
        (
            {
                "proc/meminfo": MEMINFO,
                "proc/self/cgroup": "3:cpu:/docker/7f\n5:memory:/docker/7f\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000000000\n",
                "sys/fs/cgroup/memory/memory.usage_in_bytes": "400000000\n",
            },
            600_000_000,
        ),
    ],
    ids=["no group", "second version", "first version"],
)
def test_free_memory_is_what_the_kernel_and_every_group_leave(tmp_path, files, free):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert free_memory(tmp_path) == free


def test_free_memory_of_this_machine_is_less_than_it_has():
    assert 10**7 < free_memory() < 2**46


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
    assert process.returncode != 0
    assert err == ("panfocus: interrupted; nothing was written\n" if how == signal.SIGINT else "")
    assert list(scratch.iterdir()) == []
    assert not (large / "fused.png").exists()


def test_a_dry_run_tells_the_plan_from_headers_alone(large, run, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(large))
    monkeypatch.setattr("tempfile.tempdir", str(large))
    monkeypatch.setattr("panfocus.io.read._decode", lambda header: pytest.fail("decoded"))
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
    monkeypatch.setattr("panfocus.io.read._decode", lambda header: pytest.fail("decoded"))
    for also in ([], ["--dry-run"]):
        ran = run("fuse", large, "-o", large / "fused.png", *SMALL, *also)
        assert (ran.code, len(ran.err.splitlines())) == (1, 1)
        assert "144 MB are needed there" in ran.err
