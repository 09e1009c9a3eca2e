import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import panfocus as pf
from panfocus.methods import get_method
from panfocus.simulate import Layer, apply_defocus, render_stack
from panfocus.tiling.tiled import run_method
from textures import as_bytes, texture

pytestmark = pytest.mark.filterwarnings("error")


def halves(shape=(120, 160), radius=3.0):
    """Return a sharp image, and two frames: the first is sharp on the left, the second on the right."""
    sharp = texture(shape)
    soft = apply_defocus(sharp, radius)
    left = np.arange(shape[1]) < shape[1] // 2
    return as_bytes(sharp), np.stack(
        [as_bytes(np.where(left, sharp, soft)), as_bytes(np.where(left, soft, sharp))]
    )


def staircase(n_frames, shape=(100, 40), strength=1.5):
    """Return a stack of vertical stripes, each sharp in one frame and more blurred in distant ones."""
    sharp = texture((shape[0], shape[1] * n_frames))
    step = np.arange(sharp.shape[1]) // shape[1]
    frames = []
    for focus in range(n_frames):
        frame = np.empty_like(sharp)
        for k in range(n_frames):
            frame[:, step == k] = apply_defocus(sharp, strength * abs(k - focus))[:, step == k]
        frames.append(as_bytes(frame))
    return sharp, np.stack(frames), step


def test_each_half_is_taken_from_its_sharp_frame():
    sharp, frames = halves()
    result = pf.fuse(frames, method="panfocus")
    expected = np.broadcast_to(np.arange(160) >= 80, (120, 160))
    assert np.mean(result.labels == expected) > 0.99
    assert np.abs(result.image.astype(int) - sharp)[:, :70].mean() < 0.3
    assert np.abs(result.image.astype(int) - sharp)[:, 90:].mean() < 0.3
    assert result.confidence[:, np.r_[:60, 100:160]].min() > 0.9


def test_order_of_two_frames_does_not_matter():
    _, frames = halves()
    result, other = (pf.fuse(f, method="panfocus") for f in (frames, frames[::-1]))
    np.testing.assert_array_equal(result.image, other.image)
    np.testing.assert_array_equal(result.labels, 1 - other.labels)
    np.testing.assert_allclose(result.depth, 1 - other.depth, atol=1e-5)


def test_labels_and_depth_follow_the_stack():
    _, frames, step = staircase(6)
    result = pf.fuse(frames, method="panfocus")
    inside = np.zeros(step.shape, bool)
    for k in range(6):
        inside[40 * k + 10 : 40 * k + 30] = True
    assert np.mean((result.labels == step)[:, inside]) > 0.98
    assert np.abs(result.depth - step)[:, inside].mean() < 0.1


def test_depth_is_halfway_between_equally_sharp_frames():
    sharp = texture((100, 100))
    near, middle, far = (as_bytes(apply_defocus(sharp, r)) for r in (1.0, 1.0, 4.0))
    depth = pf.fuse(np.stack([near, middle, far]), method="panfocus").depth
    assert depth.mean() == pytest.approx(0.5, abs=0.05)


def test_depth_of_a_slope_is_interpolated_between_frames():
    depth = np.broadcast_to(np.linspace(-0.5, 4.5, 240), (100, 240))
    slope = Layer(texture(depth.shape)[..., None], np.ones(depth.shape), depth)
    frames = render_stack([slope], n_frames=5, strength=2.0)
    result = pf.fuse(frames, method="panfocus")
    inside = (depth > 0.5) & (depth < 3.5)
    error, of_labels = (np.abs(estimate - depth)[inside].mean() for estimate in (result.depth, result.labels))
    assert of_labels > 0.24  # the mean distance to the nearest whole number is 1/4
    assert error < 0.16


@pytest.mark.parametrize("n_frames", [2, 3, 7])
def test_flat_frames_are_equally_probable(n_frames):
    result = pf.fuse(np.full((n_frames, 60, 60), 128, np.uint8), method="panfocus")
    np.testing.assert_allclose(result.confidence, 1 / n_frames, rtol=1e-5)


def test_composition_by_labels_copies_one_frame_per_pixel():
    _, frames = halves()
    result = pf.fuse(frames, method="panfocus", composition="labels")
    np.testing.assert_array_equal(result.image, np.where(result.labels == 0, *frames))


def test_front_frame_is_preferred_next_to_the_foreground():
    back, front = (np.repeat(texture((140, 140), seed)[..., None], 3, axis=2) for seed in (4, 5))
    matte = np.zeros((140, 140))
    matte[40:100, 40:100] = 1
    layers = [Layer(back, np.ones_like(matte), 1.0), Layer(0.3 * front, matte, 0.0)]
    frames = render_stack(layers, n_frames=2, strength=7.0)
    rim = (gaussian_filter(matte, 3) > 0.02) & (matte == 0)

    def haze(front):
        difference = pf.fuse(frames, method="panfocus", front=front).image - 255 * back
        return np.abs(gaussian_filter(difference, (2, 2, 0)))[rim].mean()

    assert haze("first") < 0.98 * haze("unknown")
    assert haze("last") > haze("unknown")


def test_front_may_be_at_either_end():
    _, frames, _ = staircase(4)
    first = pf.fuse(frames, method="panfocus", front="first")
    last = pf.fuse(frames[::-1], method="panfocus", front="last")
    # Equal up to rounding: p and 1 - (1 - p).
    np.testing.assert_allclose(first.image.astype(int), last.image, atol=1)
    assert np.mean(first.labels == 3 - last.labels) > 0.999


def test_areas_blurred_in_every_frame_are_found():
    sharp = texture((160, 240))
    never = np.arange(240) >= 140
    frames = np.stack(
        [as_bytes(np.where(never, apply_defocus(sharp, r + 3.0), apply_defocus(sharp, r))) for r in (0, 2.5)]
    )
    found = pf.fuse(frames, method="panfocus").never_in_focus
    assert found[:, 160:].mean() > 0.9
    assert found[:, :120].mean() < 0.1


def test_noise_is_estimated_for_the_whole_stack():
    _, frames = halves()
    assert pf.fuse(frames, method="panfocus").report["noise"] < 4
    noisy = np.clip(frames + np.random.default_rng(0).normal(0, 12, frames.shape), 0, 255).astype(np.uint8)
    result = pf.fuse(noisy, method="panfocus")
    span = np.ptp(np.percentile(noisy, (0.1, 99.9)))
    assert result.report["noise"] == pytest.approx(12 * 255 / span, rel=0.15)
    assert np.mean(result.labels == (np.arange(160) >= 80)) > 0.97
    assert pf.fuse(noisy, method="panfocus", noise=2.0).report["noise"] == 2


def test_single_bright_pixels_do_not_win():
    # Cosmic rays have full contrast, in a frame that is blurred around them.
    sharp = 0.5 + np.where(np.arange(160) < 80, 0.5, 0.1) * (texture((120, 160)) - 0.5)
    soft = apply_defocus(sharp, 4.0)
    left = np.arange(160) < 80
    frames = np.stack([as_bytes(np.where(left, sharp, soft)), as_bytes(np.where(left, soft, sharp))])
    expected = pf.fuse(frames)
    frames[0, 10:110:25, 95:150:15] = 255
    result = pf.fuse(frames)
    assert result.report["hot_pixels"]["single"] == 16
    assert np.mean(result.labels != expected.labels) < 0.001
    assert np.abs(result.image.astype(int) - expected.image)[:, 90:].max() <= 3
    shown = pf.fuse(frames, hot_pixels="off")
    assert np.abs(shown.image.astype(int) - expected.image).max() > 50  # without the repair


def test_hot_pixels_do_not_change_the_noise_estimate():
    rng = np.random.default_rng(5)
    _, frames, _ = staircase(3)
    noisy = as_bytes((frames + rng.normal(0, 4, frames.shape)) / 255)
    hot = noisy.copy()
    hot[:, 5:95:9, 5:115:9] = 255
    expected, result = (pf.fuse(f, hot_pixels="off").report["noise"] for f in (noisy, hot))
    assert result == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize(("channels", "front"), [(None, "unknown"), (3, "unknown"), (None, "last")])
def test_tiles_equal_the_whole_image(channels, front):
    rng = np.random.default_rng(2)
    bright = np.zeros((560, 570))
    bright[rng.integers(0, 560, 60), rng.integers(0, 570, 60)] = 20000
    lights = np.stack([apply_defocus(bright, radius) for radius in (2, 4, 8)])
    grey = staircase(3, shape=(560, 190))[1] + lights  # clipped in places, in different frames
    frames = grey if channels is None else np.stack([grey] * channels, axis=-1)
    frames = np.clip(frames + rng.normal(0, 2, frames.shape), 0, 255).astype(np.uint8)
    method = get_method("panfocus", front=front)
    assert 2 * method.survey(frames).halo + 180 < 560
    whole, tiled = (run_method(method, frames, side=side) for side in (10**6, 180))
    for name in ("image", *method.maps):
        np.testing.assert_array_equal(getattr(tiled, name), getattr(whole, name), err_msg=name)
