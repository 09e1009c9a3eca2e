"""Stacks that focus stacking does not suit are recognised; ordinary stacks are not reported."""

import logging

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import panfocus as pf
from panfocus.preprocess.stack_checks import (
    are_sections,
    check_shares,
    check_stack,
    find_movements,
    light_of_blocks,
    reduced_frame,
)
from textures import as_bytes, texture

NAMES = ("a.jpg", "b.jpg", "c.jpg")
METHOD = {"method": "panfocus"}


def stack(n=3, shape=(150, 190), gains=None):
    """Return frames of a plane that tilts through the depths, in unit range."""
    sharp = texture(shape)
    focus = np.linspace(0, n - 1, shape[1])
    frames = []
    for k in range(n):
        blurred = [gaussian_filter(sharp, width) for width in range(4)]
        width = np.minimum(np.abs(focus - k) * 1.5, 2.99)
        low, share = width.astype(int), width % 1
        columns = np.arange(shape[1])
        at = np.stack(blurred)
        frames.append((1 - share) * at[low, :, columns].T + share * at[low + 1, :, columns].T)
    return np.stack(frames) * (1 if gains is None else np.reshape(gains, (n, 1, 1)))


def with_object(frames, places, radius=13):
    """Paint a patterned disc at another place (row, column) of each frame."""
    y, x = np.indices(frames.shape[1:])
    pattern = 0.5 + 0.5 * np.sin(0.6 * np.arange(2 * radius))
    moved = frames.copy()
    for frame, (row, column) in zip(moved, places, strict=True):
        inside = np.hypot(y - row, x - column) < radius
        frame[inside] = pattern[(y - row + radius)[inside]]
    return moved


def small(frames):
    return [reduced_frame(as_bytes(frames), k) for k in range(len(frames))]


def test_moved_object_is_found_where_it_was():
    frames = with_object(stack(), [(60, 70), (60, 70), (70, 84)])
    (movement,) = find_movements(small(frames), 1)
    assert movement.frame == 1
    assert np.hypot(movement.x - 70, movement.y - 60) < 20
    (notice,) = check_stack(as_bytes(frames), NAMES, METHOD)
    assert f"x {movement.x}, y {movement.y}" in notice.message
    assert "b.jpg and c.jpg" in notice.message


def test_movement_is_in_pixels_of_the_image():
    frames = with_object(stack(), [(60, 70), (60, 70), (70, 84)])
    (movement,) = find_movements(small(frames), 1)
    (larger,) = find_movements(small(frames), 4)
    assert abs(larger.x - 4 * movement.x) < 4
    assert abs(larger.y - 4 * movement.y) < 4
    assert abs(larger.size - 4 * movement.size) < 4


@pytest.mark.parametrize("gains", [None, (1, 0.7, 0.85)])
def test_ordinary_stacks_are_not_reported(gains):
    resting = with_object(stack(gains=gains), [(60, 70)] * 3)
    assert check_stack(as_bytes(resting), NAMES, METHOD) == []


def test_frames_of_different_scenes_are_not_a_movement():
    frames = [gaussian_filter(texture((150, 190), seed), 2) for seed in (1, 2)]
    assert find_movements(small(np.stack(frames)), 1) == []


def light(frames):
    return [light_of_blocks(frame) for frame in small(frames)]


def sections(n=6, shape=(120, 160), *, background=0.0):
    """Return a confocal stack: each strip of structures shines in one plane only."""
    frames = np.zeros((n, *shape))
    for k in range(n):
        strip = slice(shape[1] * k // n, shape[1] * (k + 1) // n)
        frames[k, :, strip] = texture(shape)[:, strip]
    return background + gaussian_filter(frames, (0, 2, 2))


@pytest.mark.parametrize("background", [0.0, 0.2])
def test_optical_sections_are_recognised(background):
    frames = 0.8 * sections(background=background)
    assert are_sections(light(frames))
    (notice,) = check_stack(as_bytes(frames), NAMES * 2, METHOD)
    assert "max-projection" in notice.message
    assert check_stack(as_bytes(frames), NAMES * 2, {"method": "max-projection"}) == []


def test_widefield_fluorescence_and_flicker_are_not_sections():
    """Light that leaves a plane by blur stays near its place; flicker changes all places alike."""
    emitters = sections().sum(axis=0) * (texture((120, 160), 3) > 0.6)
    widefield = np.stack([gaussian_filter(emitters, 0.5 + 1.5 * abs(k - 3)) for k in range(6)])
    assert not are_sections(light(widefield))
    assert not are_sections(light(widefield * np.linspace(0.3, 1, 6)[:, None, None]))


def test_frame_that_is_sharpest_everywhere_is_named():
    shares = {"frame_shares": [0.01, 0.985, 0.005], "mean_confidence": 0.9}
    (notice,) = check_shares(NAMES, shares)
    assert notice.message.startswith("b.jpg is the sharpest")
    assert "98.5%" in notice.message
    assert check_shares(NAMES, shares | {"mean_confidence": 0.3}) == []


def test_frames_without_a_share_are_named():
    (notice,) = check_shares(NAMES, {"frame_shares": [0.5, 0.0, 0.5]})
    assert notice.message.startswith("b.jpg is sharpest nowhere")
    names = tuple(f"{k}.jpg" for k in range(7))
    (notice,) = check_shares(names, {"frame_shares": [0.5, 0.5, *[0.0] * 5]})
    assert notice.message.startswith("2.jpg, 3.jpg, 4.jpg and 2 more are sharpest nowhere")
    assert check_shares(NAMES, {"frame_shares": [0.6, 0.399, 0.001]}) == []


def test_fuse_reports_and_logs_warnings(caplog):
    frames = as_bytes(with_object(stack(), [(60, 70), (60, 70), (70, 84)]))
    with caplog.at_level(logging.WARNING, logger="panfocus"):
        result = pf.fuse(frames, exposure="off")
    (warning,) = result.report["warnings"]
    assert "moved" in warning
    assert warning in caplog.messages
    assert pf.fuse(as_bytes(stack())).report["warnings"] == []


def test_particles_of_a_real_stack_that_moved_are_found(data_dir):
    frames = pf.read_stack(sorted((data_dir / "stacks" / "algae-20mp").glob("*.jpg"))[:2]).frames
    places = find_movements([reduced_frame(frames, k) for k in range(2)], 9)
    # A cell moved from 3985, 910 to 4035, 965.
    assert min(np.hypot(place.x - 4010, place.y - 940) for place in places) < 60


@pytest.mark.parametrize("name", ["pcb", "ring"])
def test_real_stacks_without_movement_are_not_reported(data_dir, name):
    aligned = pf.align(pf.read_stack(sorted((data_dir / "stacks" / name).glob("*.jpg"))[:2]))
    assert check_stack(aligned.frames, NAMES[:2], METHOD) == []


def test_frames_are_reduced_in_bands_like_at_once(rng, monkeypatch):
    frames = rng.integers(0, 65536, (1, 37, 1290, 3)).astype(np.uint16)
    whole = reduced_frame(frames, 0)
    assert whole.shape == (13, 430)
    monkeypatch.setattr("panfocus.preprocess.stack_checks.BAND", 1)
    np.testing.assert_array_equal(reduced_frame(frames, 0), whole)
