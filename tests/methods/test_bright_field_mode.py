"""Bright field: when phase contrast is suppressed, and what the image then consists of."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter

import panfocus as pf
from panfocus._filters import reach
from panfocus._threads import limit_threads
from panfocus.methods import get_method
from panfocus.methods._bright_field import SPLIT, compose_bands, spread_over_planes
from panfocus.simulate import apply_defocus
from panfocus.tiling.tiled import run_method
from textures import as_bytes, texture

DTYPES = ("uint8", "uint16", "float32", "float64")


@cache
def phase_stack(shape=(96, 128), n_frames=7):
    """Return bytes of a transparent object: coarse contrast is proportional to defocus, fine detail fades."""
    rng = np.random.default_rng(8)
    coarse, fine = (gaussian_filter(rng.normal(size=shape), width) for width in (3.0, 0.8))
    coarse, fine = coarse / coarse.std(), fine / fine.std()
    away = np.arange(n_frames) - n_frames // 2
    frames = [
        0.5 + 0.05 * k * coarse + 0.06 * gaussian_filter(fine, abs(k)) if k else 0.5 + 0.06 * fine
        for k in away
    ]
    frames = as_bytes(np.stack(frames) + 0.003 * rng.normal(size=(n_frames, *shape)))
    frames.flags.writeable = False
    return frames


@cache
def photo_stack(shape=(96, 128), n_frames=5):
    """Return bytes of a slope through focus."""
    sharp = texture(shape)
    centre = np.linspace(0, n_frames - 1, shape[1])
    blurs = [apply_defocus(sharp, radius) for radius in np.arange(0, 6.5, 0.5)]
    frames = []
    for focus in range(n_frames):
        radii = 1.5 * np.abs(centre - focus)
        frames.append(np.stack([blurs[round(2 * r)][:, x] for x, r in enumerate(radii)], axis=1))
    return as_bytes(np.stack(frames))


def typed(frames, dtype, channels):
    """Return grey bytes as another type, with grey, RGB or RGBA pixels."""
    unit = frames / 255
    if channels is not None:
        opaque = [np.ones_like(unit)] if channels == 4 else []
        unit = np.stack([unit, 0.8 * unit + 0.1, 1 - unit, *opaque], axis=-1)
    if np.issubdtype(dtype, np.integer):
        unit = np.rint(unit * np.iinfo(dtype).max)
    return unit.astype(dtype)


def survey(frames, **chosen):
    return get_method("panfocus", **chosen).survey(frames)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [None, 3, 4])
def test_phase_contrast_switches_bright_field_on(dtype, channels):
    surveyed = survey(typed(phase_stack(), dtype, channels))
    assert surveyed.bright_field
    assert surveyed.inversion > 0.3
    result = run_method(get_method("panfocus"), typed(phase_stack(), dtype, channels))
    assert result.report["bright_field"]
    assert result.report["inversion"] == round(surveyed.inversion, 4)


@pytest.mark.parametrize("noise", [0, 8])
def test_photographs_do_not(noise):
    frames = as_bytes((photo_stack() + noise * np.random.default_rng(3).normal(size=(5, 96, 128))) / 255)
    surveyed = survey(frames)
    assert not surveyed.bright_field
    assert surveyed.inversion < 0.02


def test_the_setting_decides():
    assert survey(photo_stack(), bright_field="on").bright_field
    assert not survey(phase_stack(), bright_field="off").bright_field
    on, off = (pf.fuse(phase_stack(), bright_field=setting, exposure="off") for setting in ("on", "off"))
    auto = pf.fuse(phase_stack(), exposure="off")
    np.testing.assert_array_equal(auto.image, on.image)
    assert np.mean(auto.image != off.image) > 0.5
    photo = pf.fuse(photo_stack())
    np.testing.assert_array_equal(photo.image, pf.fuse(photo_stack(), bright_field="off").image)


@pytest.mark.parametrize("value", ["yes", "", None, True])
def test_other_settings_are_rejected(value):
    with pytest.raises(pf.InputError) as caught:
        get_method("panfocus", bright_field=value)
    assert caught.value.facts["setting"] == "bright_field"


def test_two_frames_need_the_setting():
    # Of two frames one may be a negative by chance, and there are no planes on both sides.
    pair = phase_stack()[[1, 5]]
    assert not survey(pair).bright_field
    assert survey(pair, bright_field="on").bright_field


def test_plane_of_focus_is_found_despite_stronger_contrast_elsewhere():
    result = pf.fuse(phase_stack(), exposure="off")
    assert np.mean(result.labels == 3) > 0.99
    assert result.confidence.mean() > 0.9
    without = pf.fuse(phase_stack(), exposure="off", bright_field="off")
    images = np.float64([result.image, phase_stack()[3], phase_stack()[0], without.image])
    # Coarse phase contrast cancels: no more is left than in the plane of focus.
    smooth = np.array([gaussian_filter(image, 3) for image in images])
    coarse, in_focus, out_of_focus, of_other = smooth.std(axis=(1, 2))
    assert coarse < 1.2 * in_focus
    assert out_of_focus > 5 * in_focus
    assert of_other > 2 * in_focus
    # Fine detail is kept.
    fine = [image - gaussian_filter(image, 1.7) for image in images[:2]]
    assert np.corrcoef(*(image.ravel() for image in fine))[0, 1] > 0.95


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [None, 3, 4])
@pytest.mark.parametrize("kind", ["phase", "random"])
def test_no_value_leaves_the_range_of_the_frames(dtype, channels, kind):
    rng = np.random.default_rng(6)
    grey = phase_stack() if kind == "phase" else rng.integers(0, 256, (4, 33, 41))
    frames = typed(grey, dtype, channels)
    image = run_method(get_method("panfocus", bright_field="on"), frames).image
    assert image.dtype == frames.dtype
    assert image.shape == frames.shape[1:]
    assert np.all(image >= frames.min(axis=0))
    assert np.all(image <= frames.max(axis=0))
    if channels == 4:
        assert np.all(image[..., 3] == frames[0, 0, 0, 3])


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_frames=st.integers(1, 6),
    dtype=st.sampled_from(DTYPES),
    channels=st.sampled_from([None, 3]),
    depth_of_field=st.floats(0.6, 5.0),
    first=st.integers(0, 12),
    n_rows=st.integers(1, 13),
)
def test_bands_are_composed_within_the_range_of_the_frames(
    seed, n_frames, dtype, channels, depth_of_field, first, n_rows
):
    rng = np.random.default_rng(seed)
    shape = (n_frames, 13, 17) if channels is None else (n_frames, 13, 17, channels)
    top = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 1
    frames = (rng.random(shape) * top).astype(dtype)
    chances = rng.dirichlet(np.ones(n_frames), (13, 17)).transpose(2, 0, 1).astype(np.float32)
    planes = spread_over_planes(chances, depth_of_field)
    np.testing.assert_allclose(chances.sum(axis=0), 1, rtol=1e-5)
    np.testing.assert_array_equal(chances.argmax(axis=0), planes)
    votes = np.rint(chances * 16384).astype(np.int32)

    def compose(rows):
        margin = reach(SPLIT)
        above = min(margin, rows.start)
        more = frames[:, rows.start - above : rows.stop + margin]
        return compose_bands(more, votes[:, rows], planes, rows, above=above, depth_of_field=depth_of_field)

    whole = compose(slice(0, 13))
    assert whole.dtype == frames.dtype
    assert np.all((whole >= frames.min(axis=0)) & (whole <= frames.max(axis=0)))
    rows = slice(first, min(first + n_rows, 13))
    np.testing.assert_array_equal(compose(rows), whole[rows])


def test_equal_frames_give_that_frame():
    frame = typed(phase_stack()[2], "uint16", 3)
    result = run_method(get_method("panfocus", bright_field="on"), np.stack([frame] * 4))
    np.testing.assert_array_equal(result.image, frame)


@pytest.mark.parametrize(("channels", "front"), [(None, "unknown"), (3, "first")])
def test_tiles_equal_the_whole_image(channels, front):
    # Longer than two halos and a tile, so that the middle tile has no border within its halo.
    frames = typed(phase_stack((20, 900), 3), "uint8", channels)
    method = get_method("panfocus", bright_field="on", front=front, noise=1.0)
    assert 2 * method.survey(frames).halo + 200 < 900
    with limit_threads(2):
        whole = run_method(method, frames, side=10**6)
    for n_threads, side in ((1, 10**6), (3, 10**6), (2, 200), (1, 131)):
        with limit_threads(n_threads):
            other = run_method(method, frames, side=side)
        for name in ("image", *method.maps):
            np.testing.assert_array_equal(getattr(other, name), getattr(whole, name), err_msg=name)


def test_tiles_of_a_small_image_equal_the_whole():
    method = get_method("panfocus", bright_field="on")
    whole, tiled = (run_method(method, phase_stack(), side=side) for side in (10**6, 37))
    for name in ("image", *method.maps):
        np.testing.assert_array_equal(getattr(tiled, name), getattr(whole, name), err_msg=name)
