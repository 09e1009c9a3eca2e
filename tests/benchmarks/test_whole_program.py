import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks._data import Cost, measure_process
from benchmarks.whole_program import compare_with_rivals, fuse_command, run_long, write_pair

from benchmarks import whole_program
from panfocus.io.read_stack import read_image, read_stack


@pytest.fixture
def rivals(tmp_path, monkeypatch):
    """A pyramid, and no enfuse."""
    pyramid = tmp_path / "pyramid.py"
    pyramid.touch()
    monkeypatch.setattr(whole_program, "PYRAMID", pyramid)
    monkeypatch.setattr(whole_program.shutil, "which", lambda _: None)
    return pyramid


def test_ratios_are_ours_over_theirs_for_installed_rivals(rivals, monkeypatch):
    def measured(commands):
        assert commands["pyramid"][:2] == [sys.executable, rivals]
        return {"fuse": Cost(6.0, 500), "pyramid": Cost(4.0, 900)}

    monkeypatch.setattr(whole_program, "measure_in_turns", measured)
    assert compare_with_rivals("24mp", [Path("a.tif"), Path("b.tif")]) == {
        "fuse_24mp_time": 6.0,
        "fuse_24mp_memory": 500,
        "pyramid_24mp_time": 4.0,
        "pyramid_24mp_memory": 900,
        "fuse_24mp_pyramid_time": 1.5,
    }


def test_the_command_fuses_the_frames(data_dir, tmp_path):
    frames = write_pair(tmp_path, megapixels=0.05)
    measure_process(fuse_command(frames, tmp_path / "fused.tif", "--method", "pca"))
    stack = read_stack(frames).frames
    fused = read_image(tmp_path / "fused.tif")
    assert fused.shape == stack.shape[1:]
    assert (fused >= stack.min(axis=0)).all()  # pca: a mean of the frames
    assert (fused <= stack.max(axis=0)).all()


def test_the_long_run_reports_time_per_megapixel_and_cleans_up(monkeypatch):
    folders = []

    def write_stack(folder, *, n_frames, megapixels):
        folders.append(folder)
        (folder / "frame.tif").write_bytes(bytes(n_frames * megapixels))
        return [folder / "frame.tif"]

    def measured(command):
        assert command[-2:] == ["--max-memory", "1.5GB"]
        size = next(part for part in command if str(part).endswith("frame.tif")).stat().st_size
        return Cost({120: 60.0, 2400: 1800.0}[size], 1400)

    monkeypatch.setattr(whole_program.large_stacks, "write_stack", write_stack)
    monkeypatch.setattr(whole_program, "measure_process", measured)
    figures = run_long()
    assert figures["long_100x24mp_per_megapixel_frame_time"] == pytest.approx(0.75)
    assert figures["long_100x24mp_10x12mp_time"] == pytest.approx(1.5)

    def failed(_):
        raise RuntimeError("no memory")

    monkeypatch.setattr(whole_program, "measure_process", failed)
    with pytest.raises(RuntimeError):
        run_long()
    assert len(folders) == 3
    assert not any(folder.exists() for folder in folders)


def test_a_written_pair_is_the_uncompressed_mosaic(data_dir, tmp_path):
    paths = write_pair(tmp_path, megapixels=0.3)
    frames = whole_program.mosaics.pair(0.3)
    np.testing.assert_array_equal(read_stack(paths).frames, frames)
    assert all(path.stat().st_size == pytest.approx(frames[0].nbytes, abs=2000) for path in paths)
