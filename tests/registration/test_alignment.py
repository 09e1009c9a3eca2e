"""Alignment recovers known motions of a synthetic scene."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, map_coordinates

import panfocus as pf
from panfocus.registration.alignment import alignment_errors, find_alignment
from panfocus.registration.models import apply, corners, movement

SHAPE = (240, 320)
MARGIN = 60  # pixels of the scene around the frames, so that moved frames show no border


@pytest.fixture(scope="module")
def scene():
    """Return a texture with detail of all sizes, like a photograph."""
    rng = np.random.default_rng(3)
    size = (SHAPE[0] + 2 * MARGIN, SHAPE[1] + 2 * MARGIN)
    layers = [s * gaussian_filter(rng.standard_normal(size), s) * s**0.8 for s in (0.8, 1.6, 3.2, 6.4, 12.8)]
    total = sum(layers)
    return 0.5 + 0.12 * total / total.std()


def view(scene, H, blur=0.0):
    """Return a frame moved by H relative to the reference, with a blurred right half."""
    back = np.linalg.inv(H)
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    at = apply(back, np.stack([x.ravel(), y.ravel()], axis=1).astype(float)) + MARGIN
    soft = gaussian_filter(scene, blur) if blur else scene
    half = np.arange(scene.shape[1]) > scene.shape[1] / 2
    mixed = np.where(half, soft, scene)
    frame = map_coordinates(mixed, [at[:, 1], at[:, 0]], order=5, mode="mirror").reshape(SHAPE)
    return np.rint(65535 * np.clip(frame, 0, 1)).astype(np.uint16)


def similarity(scale=1.0, degrees=0.0, dx=0.0, dy=0.0):
    middle = np.array([(SHAPE[1] - 1) / 2, (SHAPE[0] - 1) / 2])
    angle = np.deg2rad(degrees)
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    H = np.eye(3)
    H[:2, :2], H[:2, 2] = turn, middle - turn @ middle + [dx, dy]
    return H


@pytest.mark.parametrize(
    ("model", "H"),
    [
        ("shift", similarity(dx=12.3, dy=-9.6)),
        ("similarity", similarity(scale=1.12)),
        ("similarity", similarity(scale=0.9, degrees=-2.8, dx=-11.7, dy=8.2)),
        ("affine", np.array([[1.02, 0.015, -4.0], [-0.005, 0.98, 3.0], [0, 0, 1]])),
        ("homography", np.array([[1.01, 0.0, -3.0], [0.0, 1.0, 2.0], [4e-5, -3e-5, 1]])),
    ],
)
def test_auto_finds_the_motion_and_the_simplest_model(scene, model, H):
    found = find_alignment(np.stack([view(scene, np.eye(3)), view(scene, H, blur=2.0)]))
    assert found.model == model
    assert movement(found.transforms[1], SHAPE, H) < 0.3


def test_scale_is_unbiased(scene):
    """OpenCV's ECC underestimates scale here, because it blurs across borders (opencv#29774)."""
    errors = []
    for scale in (0.88, 0.95, 1.05, 1.14):
        frames = np.stack([view(scene, np.eye(3)), view(scene, similarity(scale), blur=1.5)])
        H = find_alignment(frames, "similarity").transforms[1]
        errors.append(np.sqrt(np.linalg.det(H[:2, :2])) / scale - 1)
    assert np.abs(errors).max() < 5e-4  # 0.1 pixel at the corners


@pytest.mark.parametrize("blur", [0.0, 3.0])
def test_aligned_frames_are_returned_bit_for_bit(scene, blur):
    frames = np.stack([view(scene, np.eye(3)), view(scene, np.eye(3), blur=blur) // 2])  # also darker
    aligned = pf.align(frames)
    assert aligned.model == "none"
    assert aligned.notices(["a", "b"]) == ()
    np.testing.assert_array_equal(aligned.frames, frames)
    np.testing.assert_array_equal(aligned.transforms, [np.eye(3), np.eye(3)])


def test_cropped_stack_shows_only_pixels_of_all_frames(scene):
    truth = [similarity(scale=1.02 ** (k - 1), dx=3.0 * (k - 1)) for k in range(4)]
    frames = np.stack([view(scene, H, blur=k / 2) for k, H in enumerate(truth)])
    aligned = pf.align(frames, reference=1, borders="crop")
    assert (aligned.model, aligned.reference) == ("similarity", 1)
    for H, expected in zip(aligned.transforms, truth, strict=True):
        assert movement(H, SHAPE, expected) < 0.3
    rows, cols = aligned.area
    np.testing.assert_array_equal(aligned.frames[1], frames[1, rows, cols])
    for H in aligned.transforms:
        inside = apply(H, corners(aligned.frames.shape[1:]) + np.array([cols.start, rows.start]))
        assert (inside >= -0.05).all()
        assert (inside <= np.array(SHAPE[::-1]) - 1 + 0.05).all()
    # The left half is sharp in all frames, so the aligned frames agree there.
    left = aligned.frames[:, :, : aligned.frames.shape[2] // 3].astype(float) / 65535
    assert np.abs(left - left[1]).mean() < 0.006


def test_result_does_not_depend_on_threads(scene):
    frames = np.stack([view(scene, np.eye(3)), view(scene, similarity(1.05, 1.0, 3, 2), blur=1.0)])
    one, many = pf.align(frames, threads=1), pf.align(frames, threads=3)
    np.testing.assert_array_equal(one.transforms, many.transforms)
    np.testing.assert_array_equal(one.frames, many.frames)


def test_full_borders_are_filled_from_the_neighbouring_frame(scene):
    frames = np.stack([view(scene, np.eye(3)), view(scene, similarity(dx=10.0))])
    aligned = pf.align(frames, "shift", reference=0, borders="full")
    assert aligned.frames.shape == frames.shape
    np.testing.assert_array_equal(aligned.frames[0], frames[0])
    # Frame 1 shows column x of the reference at x + 10, so it lacks the last columns.
    assert aligned.valid[:, : SHAPE[1] - 12].all()
    assert not aligned.valid[:, SHAPE[1] - 9 :].any()
    np.testing.assert_array_equal(aligned.frames[1][~aligned.valid], frames[0][~aligned.valid])
    assert aligned.border_share("full") == pytest.approx(1 - aligned.valid.mean())
    rows, cols = aligned.area
    area = (rows.stop - rows.start) * (cols.stop - cols.start)
    assert aligned.border_share("crop") == pytest.approx(1 - area / (SHAPE[0] * SHAPE[1]))


@pytest.mark.parametrize("borders", ["full", "crop"])
def test_apply_aligns_other_frames_in_the_same_way(scene, borders):
    frames = np.stack([view(scene, np.eye(3)), view(scene, similarity(1.03, 0.5, 6, 2))])
    aligned = pf.align(frames, borders=borders)
    np.testing.assert_array_equal(aligned.apply(frames), aligned.frames)
    colour = np.stack([frames // 256] * 3, axis=3).astype(np.uint8)
    other = aligned.apply(list(colour), threads=1)
    assert (other.dtype, other.shape) == (np.uint8, (*aligned.frames.shape, 3))
    assert np.abs(other[..., 0] - aligned.frames / 256).mean() < 1


def test_apply_copies_other_frames_if_nothing_was_moved(rng):
    aligned = pf.align(rng.integers(0, 256, (2, 40, 50), np.uint8))
    other = rng.random((2, 40, 50))
    np.testing.assert_array_equal(aligned.apply(other), other)


@pytest.mark.parametrize("shape", [(3, 40, 50), (2, 40, 51)])
def test_apply_rejects_frames_of_another_number_or_size(rng, shape):
    aligned = pf.align(rng.integers(0, 256, (2, 40, 50), np.uint8))
    with pytest.raises(pf.InputError) as caught:
        aligned.apply(np.zeros(shape, np.uint8))
    assert caught.value.facts["got"] == shape
    assert caught.value.facts["needed"] == (2, 40, 50)


def test_frame_of_another_scene_is_reported_and_bridged(scene, message):
    other = scene[::-1, ::-1].T[: scene.shape[0], : scene.shape[1]]
    other = np.pad(other, [(0, a - b) for a, b in zip(scene.shape, other.shape, strict=True)], mode="reflect")
    frames = np.stack(
        [
            view(scene, np.eye(3)),
            view(scene, similarity(1.01)),
            view(other, np.eye(3)),
            view(scene, similarity(1.03)),
            view(scene, similarity(1.04)),
        ]
    )
    found = find_alignment(frames)
    assert found.unaligned == (2,)
    assert found.scores[2] < 0.5 < min(found.scores[k] for k in (0, 1, 3, 4))
    relative = found.transforms[4] @ np.linalg.inv(found.transforms[0])
    assert movement(relative, SHAPE, similarity(1.04)) < 0.4
    with pytest.raises(pf.AlignmentError) as caught:
        pf.align(frames)
    assert caught.value.facts["frames"] == (2,)
    assert caught.value.hint == "align_off"
    message("alignment-other-scene", str(caught.value), score=f"{found.scores[2]:.2f}")


@pytest.mark.parametrize("level", [0, 100, 65535], ids=["black", "grey", "white"])
@pytest.mark.parametrize("n", [2, 3])
def test_frames_without_detail_are_rejected_as_blank(level, n):
    frames = np.full((n, 90, 110), level, np.uint16)
    with pytest.raises(pf.AlignmentError) as caught:
        pf.align(frames)
    assert 1 in caught.value.facts["blank"]


def test_blank_frame_is_not_reported_as_another_scene(rng, message):
    scene = np.kron(rng.integers(0, 200, (24, 30)), np.ones((8, 8))) + rng.integers(0, 40, (192, 240))
    dark = rng.integers(0, 4, scene.shape)
    frames = np.stack([scene, dark, scene]).astype(np.uint8)
    with pytest.raises(pf.AlignmentError) as caught:
        pf.align(frames)
    assert caught.value.facts["frames"] == caught.value.facts["blank"] == (1,)
    message("alignment-blank", str(caught.value))


def test_unmatched_reference_is_reported_with_another_hint(scene, rng):
    other = rng.integers(0, 65535, SHAPE, np.uint16)
    frames = np.stack([other, *(view(scene, similarity(1 + k / 100)) for k in range(3))])
    found = find_alignment(frames, reference=0)
    (error,) = alignment_errors(found, frames, list("abcd")).values()
    assert error.facts["frames"] == (0,)
    assert error.hint == "choose_reference"


def test_notice_names_reference_model_and_movement(scene, message):
    found = find_alignment(np.stack([view(scene, np.eye(3)), view(scene, similarity(dx=7.0))]), "shift")
    (notice,) = found.notices(["a.tif", "b.tif"])
    message("alignment-notice", notice, score=f"{min(found.scores):.3f}")


def test_small_frames_are_not_aligned(rng):
    frames = rng.integers(0, 256, (2, 40, 50), np.uint8)
    assert pf.align(frames).model == "none"
    with pytest.raises(pf.InputError) as caught:
        pf.align(frames, "shift")
    assert caught.value.facts["got"] == (40, 50)


@pytest.mark.parametrize("wrong", [{"model": "rigid"}, {"borders": "black"}, {"reference": 2}])
def test_invalid_settings_are_rejected(wrong):
    with pytest.raises(pf.InputError) as caught:
        pf.align(np.zeros((2, 80, 80), np.uint8), **wrong)
    ((name, value),) = wrong.items()
    assert (caught.value.facts["setting"], caught.value.facts["got"]) == (name, value)


def test_errors_do_not_accumulate_along_a_long_stack(scene):
    """24 frames drift, breathe and lose focus; frames 12 apart share nothing sharp.

    A chain of neighbours with a constant error of 0.1 px would be 1.2 px off at the ends; with random errors
    of that size, 0.35 px.
    """
    n, middle = 24, 11
    truth = [similarity(1.004 ** (k - middle), 0.05 * (k - middle), 1.3 * (k - middle)) for k in range(n)]
    noise = np.random.default_rng(8)
    frames = [
        view(scene, H, blur=abs(k - middle) / 4) + noise.integers(0, 600, SHAPE).astype(np.uint16)
        for k, H in enumerate(truth)
    ]
    found = find_alignment(np.stack(frames))
    assert (found.model, found.reference) == ("similarity", middle)
    errors = [movement(H, SHAPE, expected) for H, expected in zip(found.transforms, truth, strict=True)]
    assert max(errors) < 0.3
    ends = found.transforms[-1] @ np.linalg.inv(found.transforms[0])
    assert movement(ends, SHAPE, truth[-1] @ np.linalg.inv(truth[0])) < 0.5


def test_frames_without_a_common_area_cannot_be_cropped():
    """The frames pan down by more than their height: the last one shows nothing of the reference."""
    rng = np.random.default_rng(8)
    wide = sum(gaussian_filter(rng.standard_normal((240, 300)), s) * s for s in (1.0, 3.0, 9.0))
    wide = np.clip(128 + 30 * wide / wide.std(), 0, 255)
    frames = np.stack([wide[9 * k : 9 * k + 100] for k in range(13)]).round().astype(np.uint8)
    with pytest.raises(pf.InputError) as caught:
        pf.align(frames, "shift", reference=0, borders="crop")
    assert caught.value.facts["setting"] == "borders"
    aligned = pf.align(frames, "shift", reference=0, borders="full")
    np.testing.assert_allclose(aligned.transforms[12][:2, 2], [0, -108], atol=0.3)
    assert aligned.area == (slice(0, 0), slice(0, 0))
    assert aligned.valid.shape == (100, 300)
    assert not aligned.valid.any()
    # All frames show one sharp scene, so every pixel equals the reference's, except for resampling errors.
    assert np.abs(aligned.frames.astype(int) - frames[0]).mean() < 2
    part = aligned.frames[12]
    np.testing.assert_array_equal(part[:9], frames[0][:9])  # shown by no other frame
