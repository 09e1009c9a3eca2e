from itertools import pairwise

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from panfocus.decide import reblur
from panfocus.decide.reblur import estimate_noise, log_odds, log_odds_reach
from panfocus.simulate import apply_defocus
from reblur_reference import reference_log_odds

CLIP = 0.985 * 255


def texture(shape=(90, 110, 3), seed=5):
    """Return a texture with detail at every scale, in levels of 255."""
    rng = np.random.default_rng(seed)
    layers = [s * gaussian_filter(rng.normal(size=shape), (s, s, 0)) for s in (0.7, 1.5, 3.0, 6.0)]
    return (128 + 60 * np.sum(layers, axis=0)).astype(np.float32)


def blurred(frame, width):
    return gaussian_filter(frame, (width, width, 0))


def glints(shape=(60, 60), *, radius, light=8000.0):
    """Return frames (h, w, 3) of a square light on a dark ground, blurred by a disk and clipped at 255."""
    scene = np.full(shape, 40.0)
    middle = tuple(slice(n // 2 - 3, n // 2 + 3) for n in shape)
    scene[middle] = light
    clipped = np.minimum(apply_defocus(scene, radius), 255)
    return np.repeat(clipped[..., None], 3, axis=2).astype(np.float32)


def between(a, b, **settings):
    """Return the log odds of two frames (h, w, c)."""
    (odds,) = log_odds([np.ascontiguousarray(np.moveaxis(frame, 2, 0)) for frame in (a, b)], **settings)
    return odds


@pytest.mark.parametrize("width", [0.7, 1.5, 2.5, 5.0])
def test_frame_that_reproduces_the_other_when_blurred_is_sharper(width):
    sharp = texture()
    soft = blurred(sharp, width)
    odds, other = between(soft, sharp, noise=0.0), between(sharp, soft, noise=0.0)
    assert np.mean(odds.regional > 0) > 0.97
    assert np.mean(odds.single > 0) > 0.97
    np.testing.assert_array_equal(other.regional, -odds.regional)
    np.testing.assert_array_equal(other.single, -odds.single)
    np.testing.assert_array_equal(other.doubt, odds.doubt)


def test_less_blurred_of_two_blurred_frames_is_sharper():
    sharp = texture()
    for odds in between(blurred(sharp, 3.0), blurred(sharp, 2.0), noise=0.0)[:2]:
        assert np.mean(odds > 0) > 0.9


@pytest.mark.parametrize(("contrast", "least", "most"), [(1.5, 0.9, 1.0), (2.0, 0.5, 0.75), (3.0, 0.1, 0.4)])
def test_sharp_frame_wins_at_lower_contrast_but_not_at_a_third(contrast, least, most):
    # Known limit: no blur restores contrast. Below about half of the contrast, that error outweighs fine
    # detail.
    sharp = texture()
    odds = between(blurred(sharp, 2.0), 128 + (sharp - 128) / contrast, noise=0.0)
    assert least < np.mean(odds.regional > 0) < most


@pytest.mark.parametrize("level", [0.0, 0.5])
def test_log_odds_of_flat_areas_are_near_zero(level):
    rng = np.random.default_rng(6)
    a, b = (np.full((60, 60, 3), 100, np.float32) + level * rng.normal(size=(60, 60, 3)) for _ in range(2))
    for odds in between(a.astype(np.float32), b.astype(np.float32), noise=level)[:2]:
        assert np.abs(odds).max() < 1.5  # odds of at most 1 : 4.5 at any of 3600 pixels
        assert abs(odds.mean()) < 0.02


@pytest.mark.parametrize("sections", [False, True])
@pytest.mark.parametrize("clip", [None, CLIP])
@pytest.mark.parametrize("noise", [0.0, 5.0])
def test_log_odds_match_a_float64_reference(noise, clip, sections):
    a, b = texture(seed=8), blurred(texture(seed=8), 1.3) + texture(seed=9) / 20
    a[:20, :50], b[:20, :50] = glints((20, 50), radius=0), glints((20, 50), radius=5)
    a[60:, 60:] = 80  # detail that vanishes
    actual = between(a, b, noise=noise, clip=clip, sections=sections)
    planes = [np.moveaxis(frame, 2, 0) for frame in (a, b)]
    ((regional, single, doubt),) = reference_log_odds(planes, noise=noise, clip=clip, sections=sections)
    # Ties between blurs may be broken in another way.
    for odds, expected, error in (
        (actual.doubt, doubt, 1e-3),
        (actual.regional, regional, 2e-3),
        (actual.single, single, 2e-3),
    ):
        assert np.quantile(np.abs(odds - expected), 0.999) < error


def test_log_odds_of_a_stack_equal_those_of_its_pairs():
    frames = [blurred(texture(), width) for width in (0.5, 1.0, 3.0, 2.0)]
    of_stack = log_odds([np.ascontiguousarray(np.moveaxis(frame, 2, 0)) for frame in frames], noise=1.0)
    for odds, pair in zip(of_stack, pairwise(frames), strict=True):
        np.testing.assert_array_equal(odds, between(*pair, noise=1.0))


def test_differences_that_no_blur_explains_cause_doubt():
    # Two different scenes: neither is a blurred version of the other.
    odds = between(texture(seed=8), texture(seed=9), noise=0.0)
    assert np.abs(odds.regional).mean() > 2
    assert np.abs(odds.single).mean() < np.abs(odds.regional).mean() / 2
    assert odds.doubt.min() > 0.3


def test_nothing_vanishes_near_clipped_light():
    frames = [np.minimum(texture(seed=seed), 200) for seed in (8, 9)]
    for frame in frames:
        frame[:, :20] = 255
    odds, without = (between(*frames, noise=0.0, clip=CLIP, sections=sections) for sections in (True, False))
    # The light is 5 % of the widest blur up to about 10 px from it.
    np.testing.assert_array_equal(odds.regional[:, 20:36], without.regional[:, 20:36])
    assert np.abs(odds.regional - without.regional)[:, 60:].mean() > 0.1


@pytest.mark.parametrize("clip", [None, CLIP])
def test_reach_covers_all_pixels_that_matter(clip):
    a, b = texture(), blurred(texture(), 2.0)
    a[:, :, 1:] = b[:, :, 1:] = 100
    if clip is not None:
        b[::16, ::16] = 255
    settings = {"noise": 0.0, "clip": clip, "sections": True}
    reach = log_odds_reach(0.0, clipping=clip is not None)
    before, farthest = between(a, b, **settings), 0
    for column in range(90, 106):
        changed = b.copy()
        changed[:, column:] = 255
        difference = np.not_equal(between(a, changed, **settings), before).any(axis=0)
        farthest = max(farthest, column - np.flatnonzero(difference.any(axis=0))[0])
    assert reach / 2 < farthest <= reach


def rim(frame, sharp):
    """Return the pixels that the blurred light covers, outside of its sharp image."""
    return (frame[..., 0] > 60) & (sharp[..., 0] < 60)


def test_light_of_clipped_pixels_is_a_lower_bound():
    # The sharp frame has the light as 255, which cannot give a blurred disk of 255.
    sharp, soft = glints(radius=0), glints(radius=6)
    around = rim(soft, sharp)
    assert around.sum() > 80
    with_clip, without = (between(soft, sharp, noise=0.5, clip=clip) for clip in (CLIP, None))
    assert np.mean(with_clip.single[around] > 1) > 0.9
    assert np.mean(without.single[around] > 1) < 0.5
    assert with_clip.single[around].mean() > without.single[around].mean() + 2
    other = between(sharp, soft, noise=0.5, clip=CLIP)
    np.testing.assert_array_equal(other.single, -with_clip.single)


@pytest.mark.parametrize("sections", [False, True])
def test_frames_without_clipped_pixels_do_not_depend_on_the_clip(sections):
    a, b = texture(), blurred(texture(), 2.0)
    clip = float(max(a.max(), b.max())) + 1
    odds, expected = (between(a, b, noise=1.0, clip=c, sections=sections) for c in (clip, None))
    for one, other in zip(odds, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_odds_with_clipping_do_not_depend_on_the_place_of_a_tile():
    # Blurs contain clipped pixels everywhere; errors are large enough for doubt on the right side only, and
    # strong noise widens the windows.
    rng = np.random.default_rng(6)
    a, b = (240 + 5 * rng.normal(size=(2, 130, 260, 3))).astype(np.float32)
    a[::3, ::3] = 255
    b[:, 200:] = -3000
    settings = {"noise": 25.0, "clip": CLIP}
    reach = log_odds_reach(25.0, clipping=True)
    whole = between(a, b, **settings)
    for start in range(20, 60, 6):
        part = between(a[:, start:], b[:, start:], **settings)
        for odds, expected in zip(part, whole, strict=True):
            np.testing.assert_array_equal(odds[:, reach:], expected[:, start + reach :])


def test_clipped_pixels_that_a_blur_explains_are_as_bright_as_they_look():
    # A white area with a soft border: one frame is a blur of the other, so nothing is hidden.
    sharp = np.where(np.arange(110)[None, :, None] < 55, np.float32(255), texture())
    soft = blurred(sharp, 2.0)
    odds, expected = (between(soft, sharp, noise=0.0, clip=c) for c in (CLIP, None))
    np.testing.assert_array_equal(odds.single, expected.single)


def test_detail_that_vanishes_in_the_other_frame_is_sharp():
    textured, dark = texture(), np.full((90, 110, 3), 10, np.float32)
    (odds, back) = log_odds(
        [np.ascontiguousarray(np.moveaxis(f, 2, 0)) for f in (dark, textured, dark)], noise=0.5, sections=True
    )
    assert np.mean(odds.single > 2) > 0.9
    assert np.mean(odds.regional > 2) > 0.9
    assert odds.doubt.max() < 0.01
    np.testing.assert_array_equal(back.single, -odds.single)
    # Without it, no blur of the texture gives the dark frame.
    alone = between(dark, textured, noise=0.5)
    assert np.abs(alone.single).mean() < 0.5
    assert alone.doubt.min() > 0.5


def test_detail_of_clipped_pixels_is_unknown():
    # In the middle of a large clipped area there seems to be no detail.
    dark, light = np.full((2, 100, 100, 3), 10, np.float32)
    light[20:80, 20:80] = 255
    middle = slice(48, 52)
    known, unknown = (between(dark, light, noise=0.5, clip=c, sections=True) for c in (None, CLIP))
    assert np.all(known.single[middle, middle] < 1)
    assert np.all(unknown.single[middle, middle] > 8)


def stack_odds(frames, noise):
    """Return the single log odds (n - 1, h, w) of grey frames (n, h, w)."""
    planes = [frame[None].astype(np.float32) for frame in frames]
    return np.stack([odds.single for odds in log_odds(planes, noise=noise, sections=True)])


@pytest.mark.parametrize("noise", [1.0, 4.0, 12.0])
def test_odds_of_noise_do_not_add_up_along_a_stack(noise):
    # An error E of noise deviates by at most its own size from its mean, which is below 1.3 times the noise
    # variance, so odds of two frames are about 4 d, with d the relative difference, times a trust of
    # (1.3 d / 3)^2 or less: a deviation of at most 0.75. Neighbouring odds share a frame with opposite sign
    # and mostly cancel, so that the total over 12 frames deviates no more than the odds of two.
    frames = 128 + noise * np.random.default_rng(4).normal(size=(12, 120, 120))
    odds = stack_odds(frames, noise)
    assert np.sqrt(np.mean(odds**2)) < 0.3
    totals = np.cumsum(odds, axis=0)
    assert np.sqrt(np.mean(totals[-1] ** 2)) < 0.5
    assert np.quantile(np.abs(totals).max(axis=0), 0.99) < 2


def test_trust_leaves_the_odds_of_real_detail(monkeypatch):
    rng = np.random.default_rng(3)
    pair = [frame + rng.normal(0, 2, (90, 110, 3)) for frame in (blurred(texture(), 2.0), texture())]
    odds = between(*np.float32(pair), noise=2.0)
    monkeypatch.setattr(reblur, "TRUSTED", 1e-6)
    expected = between(*np.float32(pair), noise=2.0)
    assert np.mean(expected.single > 4) > 0.9
    assert np.mean(odds.single > 0.95 * expected.single) > 0.99


@pytest.mark.parametrize("level", [1.0, 5.0])
def test_noise_is_estimated_despite_edges(level):
    rng = np.random.default_rng(7)
    picture = 100 * (gaussian_filter(rng.normal(size=(200, 200)), 20) > 0)
    noisy = (picture + rng.normal(0, level, picture.shape)).astype(np.float32)
    assert estimate_noise([noisy]) == pytest.approx(level, rel=0.1)


def test_noise_of_a_tiny_image_is_zero():
    assert estimate_noise([np.zeros((2, 9), np.float32)]) == 0
