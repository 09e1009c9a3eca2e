"""Known movements put into real and drawn textures, and found again."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, map_coordinates

import panfocus as pf
from panfocus.registration import find_alignment
from panfocus.registration.models import apply, corners, movement

SHAPE = (240, 320)
MARGIN = 60  # of the drawn scene around the frames: no pixel of a frame is invented


@pytest.fixture(scope="module")
def scene():
    """Draw detail of all sizes, as photographs have it."""
    rng = np.random.default_rng(3)
    size = (SHAPE[0] + 2 * MARGIN, SHAPE[1] + 2 * MARGIN)
    layers = [s * gaussian_filter(rng.standard_normal(size), s) * s**0.8 for s in (0.8, 1.6, 3.2, 6.4, 12.8)]
    total = sum(layers)
    return 0.5 + 0.12 * total / total.std()


def seen(scene, H, blur=0.0):
    """Return a frame whose pixel H(x) shows what the reference shows at x; blurred on its right half."""
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
def test_auto_finds_the_movement_and_the_simplest_model_that_has_it(scene, model, H):
    found = find_alignment(np.stack([seen(scene, np.eye(3)), seen(scene, H, blur=2.0)]))
    assert found.model == model
    assert movement(found.transforms[1], SHAPE, H) < 0.3


def test_scale_is_not_underestimated(scene):
    """OpenCV's ECC is biased here: it blurs across borders that its mask does not hold (opencv#29774)."""
    errors = []
    for scale in (0.88, 0.95, 1.05, 1.14):
        frames = np.stack([seen(scene, np.eye(3)), seen(scene, similarity(scale), blur=1.5)])
        H = find_alignment(frames, "similarity").transforms[1]
        errors.append(np.sqrt(np.linalg.det(H[:2, :2])) / scale - 1)
    assert np.abs(errors).max() < 5e-4  # 0.1 pixel at the corners


@pytest.mark.parametrize("blur", [0.0, 3.0])
def test_aligned_frames_are_returned_bit_for_bit(scene, blur):
    frames = np.stack([seen(scene, np.eye(3)), seen(scene, np.eye(3), blur=blur) // 2])  # and darker
    aligned = pf.align(frames)
    assert aligned.model == "none"
    assert aligned.notices(["a", "b"]) == ()
    np.testing.assert_array_equal(aligned.frames, frames)
    np.testing.assert_array_equal(aligned.transforms, [np.eye(3), np.eye(3)])


def test_a_stack_is_brought_to_its_reference_and_no_pixel_is_invented(scene):
    truth = [similarity(scale=1.02 ** (k - 1), dx=3.0 * (k - 1)) for k in range(4)]
    frames = np.stack([seen(scene, H, blur=k / 2) for k, H in enumerate(truth)])
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
    # The left half is sharp in all frames: they show the same there now.
    left = aligned.frames[:, :, : aligned.frames.shape[2] // 3].astype(float) / 65535
    assert np.abs(left - left[1]).mean() < 0.006


def test_threads_do_not_change_a_bit(scene):
    frames = np.stack([seen(scene, np.eye(3)), seen(scene, similarity(1.05, 1.0, 3, 2), blur=1.0)])
    one, many = pf.align(frames, threads=1), pf.align(frames, threads=3)
    np.testing.assert_array_equal(one.transforms, many.transforms)
    np.testing.assert_array_equal(one.frames, many.frames)


def test_marked_borders_keep_the_size_and_hold_pixels_of_the_next_frame(scene):
    frames = np.stack([seen(scene, np.eye(3)), seen(scene, similarity(dx=10.0))])
    aligned = pf.align(frames, "shift", reference=0, borders="full")
    assert aligned.frames.shape == frames.shape
    np.testing.assert_array_equal(aligned.frames[0], frames[0])
    # Frame 1 shows the reference's x at x + 10: its last columns are beyond.
    assert aligned.valid[:, : SHAPE[1] - 12].all()
    assert not aligned.valid[:, SHAPE[1] - 9 :].any()
    np.testing.assert_array_equal(aligned.frames[1][~aligned.valid], frames[0][~aligned.valid])


def test_a_frame_of_another_scene_is_named_and_the_chain_goes_on_behind_it(scene):
    other = scene[::-1, ::-1].T[: scene.shape[0], : scene.shape[1]]
    other = np.pad(other, [(0, a - b) for a, b in zip(scene.shape, other.shape, strict=True)], mode="reflect")
    frames = np.stack(
        [
            seen(scene, np.eye(3)),
            seen(scene, similarity(1.01)),
            seen(other, np.eye(3)),
            seen(scene, similarity(1.03)),
            seen(scene, similarity(1.04)),
        ]
    )
    found = find_alignment(frames)
    assert found.unaligned == (2,)
    assert found.scores[2] < 0.5 < min(found.scores[k] for k in (0, 1, 3, 4))
    relative = found.transforms[4] @ np.linalg.inv(found.transforms[0])
    assert movement(relative, SHAPE, similarity(1.04)) < 0.4
    with pytest.raises(pf.AlignmentError, match=r"frame 2 \(score -?0\.\d\d\)") as error:
        pf.align(frames)
    assert error.value.facts["frames"] == (2,)


@pytest.mark.parametrize("level", [0, 100, 65535], ids=["black", "grey", "white"])
@pytest.mark.parametrize("n", [2, 3])
def test_frames_without_any_detail_are_refused_by_name(level, n):
    """No pair of them is believed, so that there are no equations to bring to agree."""
    frames = np.full((n, 90, 110), level, np.uint16)
    with pytest.raises(pf.AlignmentError, match=r"cannot align frame 1 \(blank\).* nothing is seen in it"):
        pf.align(frames)


def test_a_blank_frame_in_a_stack_is_not_called_another_scene(rng):
    scene = np.kron(rng.integers(0, 200, (24, 30)), np.ones((8, 8))) + rng.integers(0, 40, (192, 240))
    dark = rng.integers(0, 4, scene.shape)
    frames = np.stack([scene, dark, scene]).astype(np.uint8)
    with pytest.raises(pf.AlignmentError) as error:
        pf.align(frames)
    assert str(error.value) == "cannot align frame 1 (blank) with its neighbours: nothing is seen in it"


def test_small_frames_are_left_alone_or_refused(rng):
    frames = rng.integers(0, 256, (2, 40, 50), np.uint8)
    assert pf.align(frames).model == "none"
    with pytest.raises(pf.InputError, match="50 x 40 pixels are too small"):
        pf.align(frames, "shift")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"model": "rigid"}, "model must be one of auto, shift"),
        ({"borders": "black"}, "borders must be one of full, crop"),
        ({"reference": 2}, "reference must be at most 1"),
    ],
)
def test_wrong_settings_are_named(wrong, message):
    with pytest.raises(pf.InputError, match=message):
        pf.align(np.zeros((2, 80, 80), np.uint8), **wrong)


def test_errors_do_not_add_up_along_a_long_stack(scene):
    """24 frames that drift, breathe and lose focus: the last lies as well on the first as its neighbour does.

    Frames 12 apart have nothing sharp in common. A chain of neighbours whose errors of 0.1 pixel were all the
    same would be 1.2 pixels off at the ends, one of random errors 0.35.
    """
    n, middle = 24, 11
    truth = [similarity(1.004 ** (k - middle), 0.05 * (k - middle), 1.3 * (k - middle)) for k in range(n)]
    noise = np.random.default_rng(8)
    frames = [
        seen(scene, H, blur=abs(k - middle) / 4) + noise.integers(0, 600, SHAPE).astype(np.uint16)
        for k, H in enumerate(truth)
    ]
    found = find_alignment(np.stack(frames))
    assert (found.model, found.reference) == ("similarity", middle)
    errors = [movement(H, SHAPE, expected) for H, expected in zip(found.transforms, truth, strict=True)]
    assert max(errors) < 0.3
    ends = found.transforms[-1] @ np.linalg.inv(found.transforms[0])
    assert movement(ends, SHAPE, truth[-1] @ np.linalg.inv(truth[0])) < 0.5


def test_frames_without_a_common_area_are_marked_but_not_cropped():
    """A pan down by more than the height of a frame: the last shows nothing of the reference."""
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
    # All frames show one sharp scene: whichever a pixel is from, it is the reference's, but for resampling.
    assert np.abs(aligned.frames.astype(int) - frames[0]).mean() < 2
    part = aligned.frames[12]
    np.testing.assert_array_equal(part[:9], frames[0][:9])  # which no other frame shows
