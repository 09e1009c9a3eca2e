import dataclasses

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, zoom

import panfocus as pf
from panfocus.execute import run
from panfocus.methods import Tile, get_method
from panfocus.methods._never_in_focus import _reduced, never_in_focus, own_scale
from panfocus.simulate import defocused

pytestmark = pytest.mark.filterwarnings("error")

DICTIONARY = pf.CoupledDictionary.default()


def texture(shape, seed=1):
    rng = np.random.default_rng(seed)
    layers = [s * gaussian_filter(rng.normal(size=shape), s) for s in (0.6, 1.2, 2.5, 5.0)]
    return np.clip(0.5 + 0.22 * np.sum(layers, axis=0), 0, 1)


def as_bytes(unit):
    return np.rint(255 * np.clip(unit, 0, 1)).astype(np.uint8)


def half_blurred(shape=(200, 320), radii=(0.0, 2.5), least=3.0, *, contrast=1.0, noise=0.0):
    """Frames whose left half has these disks, and whose right half has disks larger by `least`."""
    sharp = 0.5 + contrast * (texture(shape) - 0.5)
    right = np.arange(shape[1]) >= shape[1] // 2
    rng = np.random.default_rng(7)
    return np.stack(
        [
            as_bytes(
                np.where(right, defocused(sharp, radius + least), defocused(sharp, radius))
                + rng.normal(0, noise / 255, shape)
            )
            for radius in radii
        ]
    )


def halves(found):
    """Shares of the left and of the right half, without the 24 pixels beside their border."""
    middle = found.shape[1] // 2
    return found[:, : middle - 24].mean(), found[:, middle + 24 :].mean()


@pytest.mark.parametrize(("contrast", "noise"), [(1.0, 0.0), (0.4, 0.0), (1.0, 4.0), (0.5, 2.0)])
def test_the_half_that_every_frame_has_blurred_is_found(contrast, noise):
    left, right = halves(pf.fuse(half_blurred(contrast=contrast, noise=noise)).never_in_focus)
    assert left < 0.05
    assert right > 0.9


def test_a_disk_of_two_pixels_is_blurred_and_one_of_half_a_pixel_is_not():
    assert halves(pf.fuse(half_blurred(least=2.0)).never_in_focus)[1] > 0.9
    assert halves(pf.fuse(half_blurred(least=0.5)).never_in_focus)[1] < 0.05


@pytest.mark.parametrize("noise", [0.0, 1.0, 6.0])
def test_where_nothing_is_to_be_seen_nothing_is_blurred(noise):
    frames = half_blurred(noise=noise)
    flat = as_bytes(0.5 + np.random.default_rng(3).normal(0, noise / 255, (2, 200, 60)))
    frames[:, :, :60] = flat  # in the half that is in focus, far from the other
    assert pf.fuse(frames).never_in_focus[:, :50].mean() < 0.05


def test_an_enlarged_stack_is_judged_as_it_was_before():
    frames = half_blurred((200, 320))
    enlarged = np.stack([as_bytes(zoom(frame / 255, 3, order=3)) for frame in frames])
    before, after = pf.fuse(frames), pf.fuse(enlarged)
    assert before.report["scale"] == 1
    assert after.report["scale"] in (2, 3)  # at 2, what is sharpest has detail of a pixel and a half
    left, right = halves(after.never_in_focus)
    assert left < 0.05
    assert right > 0.9
    surveyed = dataclasses.replace(get_method("panfocus").survey(enlarged), scale=1)
    assert run(surveyed, enlarged).never_in_focus.mean() > 0.9  # by its pixels all of it is blurred


@pytest.mark.parametrize("noise", [0.0, 2.0, 6.0])
def test_the_scale_is_that_of_the_sharpest_places_in_any_frame_and_not_of_noise(noise):
    sharp = texture((200, 320))
    enlarged = zoom(sharp, 2, order=3)[:200, :320]
    part = enlarged.copy()
    part[:, :80] = sharp[:, :80]

    def scale(*frames):
        noisy = np.stack(frames) + np.random.default_rng(4).normal(0, noise / 255, (2, 200, 320))
        return own_scale(as_bytes(noisy), DICTIONARY, dark=0.0, span=1.0, noise=noise / 255)

    assert scale(enlarged, enlarged) == 2
    assert scale(enlarged, part) == 1


def test_frames_without_detail_and_small_frames_are_taken_as_they_are():
    soft = gaussian_filter(texture((400, 400)), 2)
    assert own_scale(as_bytes([soft, soft]), DICTIONARY, dark=0.0, span=1.0, noise=0.0) > 1
    assert own_scale(as_bytes([soft[:150], soft[:150]]), DICTIONARY, dark=0.0, span=1.0, noise=0.0) == 1
    assert own_scale(np.full((2, 400, 400), 128, np.uint8), DICTIONARY, dark=0.0, span=1.0, noise=0.0) == 1
    assert (
        own_scale(as_bytes(np.stack([soft, soft])[:, :9, :9]), DICTIONARY, dark=0.0, span=1.0, noise=0.0) == 1
    )


def test_a_sharp_thing_speaks_less_for_what_is_at_another_depth():
    """Blurred stripes of 24 pixels between sharp ones of 40: most patches around them are sharp."""
    sharp = texture((160, 320))
    striped = np.arange(320) % 64 < 24
    gray = np.where(striped, defocused(sharp, 3.0), sharp).astype(np.float32)
    chances = np.broadcast_to([~striped[None], striped[None]], (2, 160, 320)).astype(np.float32)
    of_one_depth, of_two = (
        never_in_focus(gray, depths, Tile.whole((160, 320)), DICTIONARY, stride=4, noise=0.0, scale=1)
        for depths in (np.full_like(chances, 0.5), chances)
    )
    assert of_one_depth[:, striped].mean() < 0.7
    assert of_two[:, striped].mean() > 0.85
    assert of_two[:, ~striped].mean() < 0.1


def test_reducing_takes_means_of_squares():
    image = np.random.default_rng(0).random((12, 18)).astype(np.float32)
    np.testing.assert_allclose(_reduced(image, 3), image.reshape(4, 3, 6, 3).mean(axis=(1, 3)), rtol=1e-6)
    np.testing.assert_array_equal(_reduced(image, 1), image)


@pytest.mark.parametrize(("scale", "height"), [(1, 505), (2, 625), (3, 751)])
def test_tiles_equal_the_whole_at_every_scale(scale, height):
    frames = half_blurred((200, height), (0.0, 2.5, 5.0), 3.0 * scale, noise=1.0).swapaxes(1, 2)
    surveyed = dataclasses.replace(get_method("panfocus").survey(frames), scale=scale)
    assert 2 * surveyed.halo + 101 < height
    whole, tiled = (run(surveyed, frames, side=side) for side in (10**6, 101))  # squares cross their borders
    assert 0.1 < whole.never_in_focus.mean() < 0.9
    for name in ("image", *surveyed.maps):
        np.testing.assert_array_equal(getattr(tiled, name), getattr(whole, name), err_msg=name)


def test_a_picture_smaller_than_a_patch_is_fused_all_the_same():
    frames = np.random.default_rng(1).integers(0, 256, (3, 5, 30), dtype=np.uint8)
    result = pf.fuse(frames)
    assert result.image.shape == (5, 30)
    assert not result.never_in_focus.any()
