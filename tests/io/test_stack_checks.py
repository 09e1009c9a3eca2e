"""Frames of another scene and copies are found; frames of one scene never are, however they are focused."""

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
    find_strangers,
    likeness,
    look_at,
    sampling_step,
    sound_frames,
)


def texture(seed, shape=(180, 240)):
    """Detail of all sizes, as photographs have."""
    rng = np.random.default_rng(seed)
    layers = [gaussian_filter(rng.normal(size=shape), scale) * scale for scale in (1, 3, 9, 20)]
    picture = np.sum(layers, axis=0)
    return np.rint(255 * (picture - picture.min()) / np.ptp(picture)).astype(np.uint8)


def warped(image, *, shift=(0.0, 0.0), scale=1.0, degrees=0.0, gain=1.0):
    """Move a picture by shares of its size, and turn, scale and brighten it; edges are drawn out."""
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
    return likeness(look_at(first).thumbnail, look_at(second).thumbnail)


def test_a_frame_is_like_itself():
    assert score(texture(1), texture(1)) == pytest.approx(1)


@pytest.mark.parametrize("sign", [-1, 1])
def test_one_scene_stays_one_with_all_that_a_stack_may_do_to_it(sign):
    other = warped(
        gaussian_filter(texture(2), 4),
        shift=(0.05 * sign, -0.05),
        scale=1.15**sign,
        degrees=3,
        gain=1 + sign / 5,
    )
    assert score(texture(2), other) > LEAST_LIKENESS


@pytest.mark.parametrize("seed", range(3, 13))
def test_two_scenes_are_not_alike(seed):
    assert score(texture(seed), texture(seed + 100)) < LEAST_LIKENESS


def test_depth_and_type_do_not_matter():
    eight = texture(1)
    for other in (eight.astype(np.uint16) * 16, eight / 255, np.stack([eight] * 3 + [255 - eight], axis=2)):
        assert score(eight, other) == pytest.approx(1, abs=1e-6)


def strangers(*frames):
    return [(s.number, s.nearest) for s in find_strangers(dict(enumerate(map(look_at, frames))))]


def test_strangers_are_those_unlike_most_wherever_they_stand():
    scene = [warped(texture(1), scale=1 + k / 50) for k in range(4)]
    other = texture(2)
    assert strangers(*scene) == []
    assert strangers(other, *scene) == [(0, 1)]
    assert [number for number, _ in strangers(*scene[:2], other, *scene[2:], texture(3))] == [2, 5]
    assert [number for number, _ in strangers(*scene[:1], other, texture(3), texture(4), *scene[1:])] == [
        1,
        2,
        3,
    ]


def test_a_dark_frame_of_noise_alone_is_blank_and_no_other_scene():
    noise = np.random.default_rng(5).integers(0, 4, (180, 240), np.uint8)
    frames = [texture(1), noise, np.zeros_like(noise), warped(texture(1), scale=1.02)]
    looks = dict(enumerate(map(look_at, frames)))
    assert looks[1].thumbnail is not None  # beside its own brightness it has contrast
    assert find_blank(looks) == {1, 2}
    assert strangers(*frames) == []


def test_of_two_frames_the_second_is_the_stranger():
    assert strangers(texture(1), texture(2)) == [(1, 0)]


def test_a_long_drift_is_no_other_scene():
    """The ends show nothing of each other: the window moves over twice its width."""
    wide = texture(5, (150, 600))
    frames = [wide[:, left : left + 200] for left in range(0, 400, 8)]
    assert score(frames[0], frames[-1]) < LEAST_LIKENESS
    assert strangers(*frames) == []


def test_what_shows_nothing_is_no_stranger(rng):
    flat = np.rint(rng.normal(100, 3, (180, 240))).astype(np.uint8)
    tiny = texture(2, (40, 60))
    assert strangers(texture(1), flat, texture(1)) == []
    assert strangers(texture(1, (40, 60)), tiny) == []


def test_hundreds_of_scenes_take_no_longer_than_a_stack(monkeypatch):
    looks = dict(enumerate(look_at(texture(seed % 40, (64, 64))) for seed in range(200)))
    compared = []
    monkeypatch.setattr("panfocus.preprocess.frame_checks.likeness", lambda a, b: compared.append(1) or 0.0)
    assert len(find_strangers(looks)) == 199
    assert len(compared) <= 200 * 20


def test_copies_are_found_by_every_pixel():
    frames = np.stack([texture(1), texture(1), texture(2), texture(1)])
    frames[1, 7, 9] ^= 1  # which no thumbnail shows
    assert find_copies({k: look_at(frame) for k, frame in enumerate(frames)}, frames) == {3: 0}


def judged(frames, *, skip=False, found=None):
    said = []
    bad = BadFrames(skip=skip, warn=said.append)
    found = [*map(look_at, frames), *(found or [])]
    kept, notices = sound_frames(found, [f"f{k}" for k in range(len(found))], np.stack(frames), bad)
    return kept, notices, said, bad


def test_a_stranger_is_refused_with_name_and_score_or_left_out():
    frames = [texture(1), texture(2), texture(1)[::-1, ::-1], texture(1)]
    with pytest.raises(
        InputError, match=r"f1 shows another scene than f. \(likeness -?0\.\d\d, needed: 0\.6\)"
    ):
        judged(frames[:2])
    kept, notices, said, bad = judged([frames[0], frames[1], warped(frames[0], gain=0.9)], skip=True)
    assert (kept, notices) == ([0, 2], [])
    assert len(said) == 1
    assert said[0].startswith("left out: f1 shows another scene")
    assert bad.report() == [{"frame": "f1", "reason": said[0].removeprefix("left out: ")}]


def test_a_copy_is_told_or_left_out():
    frames = [texture(1), warped(texture(1), gain=0.9), texture(1)]
    kept, notices, said, _ = judged(frames)
    assert (kept, said) == ([0, 1, 2], [])
    assert notices == ["f2 has the same pixels as f0; it is used all the same, --skip-bad leaves it out."]
    assert judged(frames, skip=True)[0] == [0, 1]


def test_at_least_two_frames_must_remain():
    with pytest.raises(InputError, match="at least two frames, 1 is left after --skip-bad has dropped 1"):
        judged([texture(1), texture(1)], skip=True)
    with pytest.raises(InputError, match="at least two frames, 1 is left"):
        judged([texture(1)], skip=True, found=[FileError("f1: cut off")])


@pytest.mark.parametrize("where", ["memory", "scratch"])
def test_what_is_left_moves_to_the_front(tmp_path, where):
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
        stack = read_into(frames, headers, bad=BadFrames(skip=True, warn=lambda line: None))
        assert stack.names == tuple(str(tmp_path / f"{k}.png") for k in (0, 2, 3))
        assert stack.frames.shape == (3, *shape[1:])
        np.testing.assert_array_equal(stack.frames[:], [pictures[k] for k in (0, 2, 3)])


def test_the_size_of_most_frames_is_that_of_the_stack(tmp_path):
    for k, height in enumerate((90, 80, 80, 90, 80)):
        write_image(tmp_path / f"{k}.png", texture(1, (height, 90)))
    headers = read_headers(sorted(tmp_path.iterdir()))
    said = []
    fitting = select_matching(headers, BadFrames(skip=True, warn=said.append))
    assert fitting == [headers[k] for k in (1, 2, 4)]
    assert [line.partition(" is ")[0] for line in said] == [f"left out: {headers[k].name}" for k in (0, 3)]
    with pytest.raises(InputError, match=r"1\.png is 90 x 80 pixels, .*0\.png is 90 x 90"):
        select_matching(headers, BadFrames(skip=False, warn=said.append))


def test_real_scenes_are_told_apart(data_dir, rng):
    """On scenes that had no say in the threshold: Real-MFF's other half and, as stacks, all that move."""
    folder = data_dir / "groundtruth" / "real-mff"
    pairs = [
        [read_image(folder / f"rmff-{n:03}-{letter}.png") for letter in "AB"] for n in range(25, 346, 40)
    ]
    for a, b in pairs:
        assert score(a, warped(b, shift=(0.05, -0.05), scale=1.15, degrees=3, gain=0.8)) > LEAST_LIKENESS
    for k in range(len(pairs)):
        assert score(pairs[k][0], pairs[k - 1][1]) < LEAST_LIKENESS


def test_samples_of_a_large_frame_look_like_it(rng):
    large = rng.integers(0, 256, (1000, 1300, 3), np.uint8)
    step = sampling_step(large.shape)
    assert step == 2
    assert look_at(large[::step, ::step]).samples == look_at(large).samples


def test_copies_are_compared_to_their_last_row(monkeypatch):
    monkeypatch.setattr("panfocus.preprocess.frame_checks._PIXELS_AT_ONCE", 1000)
    frames = np.stack([texture(1)] * 3)
    frames[1, -1, -1] ^= 1
    assert find_copies(dict.fromkeys(range(3), look_at(frames[0])), frames) == {2: 0}
