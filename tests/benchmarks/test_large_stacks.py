from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.large_stacks import BLURS, NOISE, blurs, need_room, render, surface, write_stack
from benchmarks.mosaics import Picture

from benchmarks import large_stacks
from panfocus._threads import limit_threads
from panfocus.io.read_stack import read_stack

SHAPE = (90, 130)


@pytest.fixture
def picture(rng) -> Picture:
    return rng.integers(40, 215, (*SHAPE, 3), dtype=np.uint8)


def test_surface_covers_all_depths_and_has_steps():
    depth = surface((700, 1300), 9)
    assert depth.min() == 0
    assert depth.max() == 8
    assert np.abs(np.diff(depth[:, :500], axis=1)).max() < 0.1  # a slope,
    assert np.abs(depth[:, 600] - depth[:, 599]).max() > 0.3  # and a step


def test_noise_is_independent_in_every_frame():
    grey = np.full((len(BLURS), 200, 300, 3), 128, np.uint8)
    first, second = (render(grey, np.zeros((200, 300), np.float32), 2, k) - 128.0 for k in (0, 1))
    # rounding adds a twelfth to the variance; 180,000 samples know the deviation to 0.2 %
    assert first.std() == pytest.approx(np.sqrt(NOISE**2 + 1 / 12), rel=0.01)
    assert abs(first.mean()) < 0.02
    for other in (second, np.roll(first, 1, axis=1), np.roll(first, 1, axis=2)):
        assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 0.01


def test_blur_grows_with_the_distance_from_the_focus(picture, monkeypatch):
    monkeypatch.setattr(large_stacks, "NOISE", 0.0)
    blurred = blurs(picture)
    depth = np.zeros(SHAPE, np.float32)
    depth[:, 65:] = 5  # blur of 5 x 0.8 = 4 pixels
    frame = render(blurred, depth, 9, 0)
    np.testing.assert_array_equal(frame[:, :65], picture[:, :65])
    np.testing.assert_array_equal(frame[:, 65:], blurred[BLURS.index(4)][:, 65:])


def test_blurs_are_interpolated(picture, monkeypatch):
    monkeypatch.setattr(large_stacks, "NOISE", 0.0)
    blurred = blurs(picture)
    frame = render(blurred, np.full(SHAPE, 3.75, np.float32), 9, 0)  # 3 pixels: halfway from 2 to 4
    halfway = (blurred[2].astype(float) + blurred[3]) / 2
    assert np.abs(frame - halfway).max() <= 0.5


def test_threads_do_not_change_a_frame(picture):
    depth = surface(SHAPE, 4)
    frames = []
    for threads in (1, 3):
        with limit_threads(threads):
            frames.append(render(blurs(picture), depth, 4, 1))
    np.testing.assert_array_equal(*frames)


def test_every_frame_of_a_written_stack_is_different(data_dir, tmp_path):
    paths = write_stack(tmp_path, n_frames=4, megapixels=0.2)
    frames = read_stack(paths).frames
    assert frames.shape == (4, 420, 476, 3)
    for k in range(1, 4):
        assert (frames[k] != frames[k - 1]).mean() > 0.5


def test_a_full_disk_is_detected_before_writing(tmp_path, monkeypatch):
    monkeypatch.setattr(large_stacks.shutil, "disk_usage", lambda _: SimpleNamespace(free=10**9))
    need_room(tmp_path, 10**9)
    with pytest.raises(SystemExit, match=r"2\.0 GB needed"):
        need_room(tmp_path, 2 * 10**9)
