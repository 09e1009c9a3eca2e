"""Frames in a scratch file."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from panfocus._checks import frames_array
from panfocus.errors import FileError
from panfocus.io.disk_array import scratch_folder, scratch_frames
from panfocus.io.encode import write_image
from panfocus.io.headers import read_headers
from panfocus.io.read_stack import read_into, read_stack
from panfocus.methods import get_method
from panfocus.tiling.tiled import run_method
from rejections import rejected


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of scratch files; it is empty, and to be so again."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def frames(rng):
    return rng.integers(0, 2**16, (5, 70, 90, 3), np.uint16)


@pytest.mark.parametrize(
    "key",
    [
        0,
        -1,
        np.int64(2),
        slice(None),
        slice(1, None, 2),
        slice(4, 1, -1),
        slice(3, 3),
        (2, slice(5, 60)),
        (slice(None), slice(10, 33), slice(80, None)),
        (slice(None), slice(0, 1), slice(0, 1), 1),
        (3, slice(None, None, 7)),
    ],
    ids=str,
)
def test_scratch_frames_are_indexed_like_an_array(frames, key):
    with scratch_frames(frames.shape, frames.dtype) as scratch:
        for k, frame in enumerate(frames):
            scratch[k] = np.asfortranarray(frame)  # whatever its order in memory
        part = scratch[key]
        assert type(part) is np.ndarray
        assert part.dtype == frames.dtype
        np.testing.assert_array_equal(part, frames[key], strict=True)


def test_scratch_frames_have_the_attributes_of_an_array(frames):
    with scratch_frames(frames.shape, frames.dtype) as scratch:
        for k, frame in enumerate(frames):
            scratch[k] = frame
        assert (scratch.shape, scratch.dtype, scratch.ndim) == (frames.shape, frames.dtype, 4)
        assert len(scratch) == 5
        np.testing.assert_array_equal(list(scratch), frames)
        assert frames_array(scratch) is scratch
        for beyond in (5, -6):
            with pytest.raises(IndexError):
                scratch[beyond]


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("panfocus", {}),
        ("dwt", {}),
        ("coupled", {"stride": 4}),
        ("pca", {}),
        ("dsift", {"cell": 2, "refinement": "none"}),
    ],
)
def test_fusion_from_scratch_frames_gives_the_bits_of_memory(rng, tmp_path, method, settings):
    paths = [tmp_path / f"{k}.png" for k in range(3)]
    for path in paths:
        write_image(path, rng.integers(0, 256, (83, 97, 3), np.uint8))
    expected = run_method(get_method(method, **settings), read_stack(paths).frames)
    headers = read_headers(paths)
    with scratch_frames((3, 83, 97, 3), np.dtype(np.uint8)) as scratch:
        stack = read_into(scratch, headers, at_once=1)
        result = run_method(get_method(method, **settings), stack.frames, side=40)
    for name in ("image", *get_method(method, **settings).maps):
        np.testing.assert_array_equal(getattr(result, name), getattr(expected, name), err_msg=name)
    assert result.report == expected.report


def test_nothing_is_left_after_an_error(frames, folder):
    with pytest.raises(KeyboardInterrupt), scratch_frames(frames.shape, frames.dtype) as scratch:
        scratch[0] = frames[0]
        raise KeyboardInterrupt
    assert list(folder.iterdir()) == []


def test_scratch_disk_without_room_is_rejected_before_any_work(frames, folder, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=100_000))
    with pytest.raises(FileError) as caught, scratch_frames(frames.shape, frames.dtype):
        pytest.fail()
    facts = {"file": str(folder), "needed": frames.nbytes, "free": 100_000}
    assert (caught.value.facts, caught.value.hint) == (facts, "free_scratch_space")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_full_scratch_disk_is_rejected_in_one_line(frames, folder, monkeypatch):
    with (
        scratch_frames(frames.shape, frames.dtype) as scratch,
        Path("/dev/full").open("r+b", buffering=0) as full,
        rejected(folder),
    ):
        monkeypatch.setattr(scratch, "_file", full)
        scratch[0] = frames[0]


def test_scratch_folder_follows_tmpdir(folder, monkeypatch):
    assert scratch_folder() == folder
    monkeypatch.delenv("TMPDIR")
    assert scratch_folder() in (Path("/var/tmp"), folder)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_closing_a_file_that_could_not_be_written_adds_no_error(folder, monkeypatch):
    """What is left in its buffer fails once more, and must not take the place of the line that tells why."""
    full = Path("/dev/full").open("r+b")  # noqa: SIM115  # it is closed by what is tested
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: full)
    with (
        rejected(folder),
        scratch_frames((1, 4, 5), np.dtype(np.uint8)) as frames,
    ):
        frames[0] = np.zeros((4, 5), np.uint8)
    assert full.closed
