"""Frames of other scenes and copies are found; frames of one scene are accepted, whatever their focus."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, map_coordinates

from panfocus.errors import FileError, InputError
from panfocus.io.disk_array import scratch_frames
from panfocus.io.encode import write_image
from panfocus.io.headers import read_headers, select_matching
from panfocus.io.read_stack import read_image, read_into
from panfocus.preprocess.frame_checks import (
    LEAST_LIKENESS,
    BadFrames,
    find_blank,
    find_copies,
    find_other_scenes,
    likeness,
    sampling_step,
    summarize_frame,
)


def texture(seed, shape=(180, 240)):
    """Return a texture with detail of all sizes, like a photograph."""
    rng = np.random.default_rng(seed)
    layers = [gaussian_filter(rng.normal(size=shape), scale) * scale for scale in (1, 3, 9, 20)]
    picture = np.sum(layers, axis=0)
    return np.rint(255 * (picture - picture.min()) / np.ptp(picture)).astype(np.uint8)


def warped(image, *, shift=(0.0, 0.0), scale=1.0, degrees=0.0, gain=1.0):
    """Shift an image by shares of its size, rotate, scale and brighten it; edges are extended."""
    height, width = image.shape[:2]
    y, x = np.mgrid[:height, :width] - np.array([height / 2, width / 2])[:, None, None]
    cos, sin = np.cos(np.deg2rad(degrees)) / scale, np.sin(np.deg2rad(degrees)) / scale
    places = [
        cos * y + sin * x + height / 2 + shift[0] * height,
        cos * x - sin * y + width / 2 + shift[1] * width,
    ]
    channels = image[..., np.newaxis] if image.ndim == 2 else image
    moved = [
        map_coordinates(channel, places, order=1, mode="nearest") for channel in np.moveaxis(channels, 2, 0)
    ]
    return np.clip(gain * np.stack(moved, axis=2), 0, 255).astype(np.uint8).reshape(image.shape)


def score(first, second):
    return likeness(summarize_frame(first).thumbnail, summarize_frame(second).thumbnail)


def test_frame_has_likeness_1_with_itself():
    assert score(texture(1), texture(1)) == pytest.approx(1)


@pytest.mark.parametrize("sign", [-1, 1])
def test_likeness_tolerates_focus_motion_and_exposure(sign):
    other = warped(
        gaussian_filter(texture(2), 4),
        shift=(0.05 * sign, -0.05),
        scale=1.15**sign,
        degrees=3,
        gain=1 + sign / 5,
    )
    assert score(texture(2), other) > LEAST_LIKENESS


@pytest.mark.parametrize("seed", range(3, 13))
def test_likeness_of_two_scenes_is_low(seed):
    assert score(texture(seed), texture(seed + 100)) < LEAST_LIKENESS


def test_likeness_does_not_depend_on_dtype_and_colour():
    eight = texture(1)
    for other in (eight.astype(np.uint16) * 16, eight / 255, np.stack([eight] * 3 + [255 - eight], axis=2)):
        assert score(eight, other) == pytest.approx(1, abs=1e-6)


def other_scenes(*frames):
    return [(s.number, s.nearest) for s in find_other_scenes(dict(enumerate(map(summarize_frame, frames))))]


def test_frames_unlike_most_are_other_scenes_at_any_position():
    scene = [warped(texture(1), scale=1 + k / 50) for k in range(4)]
    other = texture(2)
    assert other_scenes(*scene) == []
    assert other_scenes(other, *scene) == [(0, 1)]
    assert [number for number, _ in other_scenes(*scene[:2], other, *scene[2:], texture(3))] == [2, 5]
    assert [number for number, _ in other_scenes(*scene[:1], other, texture(3), texture(4), *scene[1:])] == [
        1,
        2,
        3,
    ]


def test_dark_noise_is_blank_not_another_scene():
    noise = np.random.default_rng(5).integers(0, 4, (180, 240), np.uint8)
    frames = [texture(1), noise, np.zeros_like(noise), warped(texture(1), scale=1.02)]
    summaries = dict(enumerate(map(summarize_frame, frames)))
    assert summaries[1].thumbnail is not None  # it has contrast relative to its own brightness
    assert find_blank(summaries) == {1, 2}
    assert other_scenes(*frames) == []


def test_second_of_two_scenes_is_the_other_scene():
    assert other_scenes(texture(1), texture(2)) == [(1, 0)]


def test_long_drift_is_not_another_scene():
    """The window moves by twice its width, so the ends share nothing."""
    wide = texture(5, (150, 600))
    frames = [wide[:, left : left + 200] for left in range(0, 400, 8)]
    assert score(frames[0], frames[-1]) < LEAST_LIKENESS
    assert other_scenes(*frames) == []


def test_flat_and_small_frames_are_not_other_scenes(rng):
    flat = np.rint(rng.normal(100, 3, (180, 240))).astype(np.uint8)
    tiny = texture(2, (40, 60))
    assert other_scenes(texture(1), flat, texture(1)) == []
    assert other_scenes(texture(1, (40, 60)), tiny) == []


def test_number_of_comparisons_is_linear_in_frames(monkeypatch):
    summaries = dict(enumerate(summarize_frame(texture(seed % 40, (64, 64))) for seed in range(200)))
    compared = []
    monkeypatch.setattr("panfocus.preprocess.frame_checks.likeness", lambda a, b: compared.append(1) or 0.0)
    assert len(find_other_scenes(summaries)) == 199
    assert len(compared) <= 200 * 20


def test_copies_are_compared_in_every_pixel():
    frames = np.stack([texture(1), texture(1), texture(2), texture(1)])
    frames[1, 7, 9] ^= 1  # too small for a thumbnail
    assert find_copies({k: summarize_frame(frame) for k, frame in enumerate(frames)}, frames) == {3: 0}


def select(frames, *, skip=False, unreadable=()):
    """Return remaining frames, notices and the policy, for frames that are followed by unreadable ones."""
    bad = BadFrames(skip=skip)
    inspected = [*map(summarize_frame, frames), *unreadable]
    remaining, notices = bad.select(inspected, [f"f{k}" for k in range(len(inspected))], np.stack(frames))
    return remaining, notices, bad


def test_frame_of_another_scene_is_rejected(message):
    with pytest.raises(InputError) as caught:
        select([texture(1), texture(2)])
    assert caught.value.facts["file"] == "f1"
    assert caught.value.facts["got"] < caught.value.facts["needed"]
    message("frame-other-scene", str(caught.value), likeness=f"{caught.value.facts['got']:.2f}")


def test_frame_of_another_scene_is_skipped():
    remaining, notices, bad = select([texture(1), texture(2), warped(texture(1), gain=0.9)], skip=True)
    assert (remaining, notices) == ([0, 2], [])
    assert [entry["frame"] for entry in bad.report()] == ["f1"]
    assert [line.partition(" ")[0] for line in bad.warnings] == ["Skipped:"]


def test_copy_is_reported_or_skipped(message):
    frames = [texture(1), warped(texture(1), gain=0.9), texture(1)]
    remaining, (notice,), bad = select(frames)
    assert (remaining, bad.warnings) == ([0, 1, 2], [])
    message("frame-copy", str(notice))
    assert select(frames, skip=True)[0] == [0, 1]


def test_fewer_than_two_remaining_frames_are_rejected(message):
    with pytest.raises(InputError) as caught:
        select([texture(1), texture(1)], skip=True)
    assert caught.value.facts == {"frames": 1, "needed": 2}
    message("frames-skipped", str(caught.value))
    with pytest.raises(InputError) as caught:
        select([texture(1)], skip=True, unreadable=[FileError("f1: cut off")])
    assert caught.value.facts["frames"] == 1


@pytest.mark.parametrize("where", ["memory", "scratch"])
def test_remaining_frames_move_to_the_front(tmp_path, where):
    pictures = [texture(1), texture(2), gaussian_filter(texture(1), 2), gaussian_filter(texture(1), 3)]
    for k, picture in enumerate(pictures):
        write_image(tmp_path / f"{k}.png", picture)
    headers = read_headers(sorted(tmp_path.iterdir()))
    shape = (4, *pictures[0].shape)
    room = (
        scratch_frames(shape, np.dtype(np.uint8))
        if where == "scratch"
        else nullcontext(np.empty(shape, np.uint8))
    )
    with room as frames:
        stack = read_into(frames, headers, bad=BadFrames(skip=True))
        assert stack.names == tuple(str(tmp_path / f"{k}.png") for k in (0, 2, 3))
        assert stack.frames.shape == (3, *shape[1:])
        np.testing.assert_array_equal(stack.frames[:], [pictures[k] for k in (0, 2, 3)])


def test_frames_of_the_most_common_size_are_selected(tmp_path):
    for k, height in enumerate((90, 80, 80, 90, 80)):
        write_image(tmp_path / f"{k}.png", texture(1, (height, 90)))
    headers = read_headers(sorted(tmp_path.iterdir()))
    bad = BadFrames(skip=True)
    assert select_matching(headers, bad) == [headers[k] for k in (1, 2, 4)]
    assert [name for name, _ in bad.dropped] == [headers[k].name for k in (0, 3)]
    with pytest.raises(InputError) as caught:
        select_matching(headers, BadFrames(skip=False))
    assert caught.value.facts["file"] == headers[1].name


def test_real_scenes_are_distinguished(data_dir, rng):
    """The scenes are from the half of Real-MFF that was not used to choose the threshold."""
    folder = data_dir / "groundtruth" / "real-mff"
    pairs = [
        [read_image(folder / f"rmff-{n:03}-{letter}.png") for letter in "AB"] for n in range(25, 346, 40)
    ]
    for a, b in pairs:
        assert score(a, warped(b, shift=(0.05, -0.05), scale=1.15, degrees=3, gain=0.8)) > LEAST_LIKENESS
    for k in range(len(pairs)):
        assert score(pairs[k][0], pairs[k - 1][1]) < LEAST_LIKENESS


def test_summary_of_samples_equals_summary_of_the_frame(rng):
    large = rng.integers(0, 256, (1000, 1300, 3), np.uint8)
    step = sampling_step(large.shape)
    assert step == 2
    assert summarize_frame(large[::step, ::step]).samples == summarize_frame(large).samples


def test_copies_are_compared_up_to_the_last_row(monkeypatch):
    monkeypatch.setattr("panfocus.preprocess.frame_checks._PIXELS_AT_ONCE", 1000)
    frames = np.stack([texture(1)] * 3)
    frames[1, -1, -1] ^= 1
    assert find_copies(dict.fromkeys(range(3), summarize_frame(frames[0])), frames) == {2: 0}
