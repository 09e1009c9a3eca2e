import dataclasses

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, zoom

import panfocus as pf
from panfocus.io.read_stack import read_stack
from panfocus.methods import Tile, _never_in_focus, get_method
from panfocus.methods._never_in_focus import _blurred_patches, _reduced, find_scale, never_in_focus
from panfocus.simulate import apply_defocus
from panfocus.tiling.tiled import run_method
from textures import as_bytes, texture

pytestmark = pytest.mark.filterwarnings("error")

DICTIONARY = pf.CoupledDictionary.default()


def half_blurred(shape=(200, 320), radii=(0.0, 2.5), least=3.0, *, contrast=1.0, noise=0.0):
    """Return frames blurred by disks of these radii on the left, and by `least` more on the right."""
    sharp = 0.5 + contrast * (texture(shape) - 0.5)
    right = np.arange(shape[1]) >= shape[1] // 2
    rng = np.random.default_rng(7)
    return np.stack(
        [
            as_bytes(
                np.where(right, apply_defocus(sharp, radius + least), apply_defocus(sharp, radius))
                + rng.normal(0, noise / 255, shape)
            )
            for radius in radii
        ]
    )


def halves(mask):
    """Return the marked shares of the left and right halves, without 24 pixels on each side of the border."""
    middle = mask.shape[1] // 2
    return mask[:, : middle - 24].mean(), mask[:, middle + 24 :].mean()


@pytest.mark.parametrize(("contrast", "noise"), [(1.0, 0.0), (0.4, 0.0), (1.0, 4.0), (0.5, 2.0)])
def test_half_that_is_blurred_in_every_frame_is_found(contrast, noise):
    left, right = halves(pf.fuse(half_blurred(contrast=contrast, noise=noise)).never_in_focus)
    assert left < 0.05
    assert right > 0.9


def test_disk_of_two_pixels_counts_as_blurred_and_half_a_pixel_does_not():
    assert halves(pf.fuse(half_blurred(least=2.0)).never_in_focus)[1] > 0.9
    assert halves(pf.fuse(half_blurred(least=0.5)).never_in_focus)[1] < 0.05


@pytest.mark.parametrize("noise", [0.0, 1.0, 6.0])
def test_flat_areas_are_not_marked(noise):
    frames = half_blurred(noise=noise)
    flat = as_bytes(0.5 + np.random.default_rng(3).normal(0, noise / 255, (2, 200, 60)))
    frames[:, :, :60] = flat  # in the half that is in focus, far from the other
    assert pf.fuse(frames).never_in_focus[:, :50].mean() < 0.05


def test_enlarged_stack_is_marked_like_the_original():
    frames = half_blurred((200, 320))
    enlarged = np.stack([as_bytes(zoom(frame / 255, 3, order=3)) for frame in frames])
    before, after = pf.fuse(frames), pf.fuse(enlarged)
    assert before.report["scale"] == 1
    assert after.report["scale"] in (2, 3)  # at 2, the sharpest detail is 1.5 px wide
    left, right = halves(after.never_in_focus)
    assert left < 0.05
    assert right > 0.9
    surveyed = dataclasses.replace(get_method("panfocus").survey(enlarged), scale=1)
    # At full scale everything looks blurred.
    assert run_method(surveyed, enlarged).never_in_focus.mean() > 0.9


@pytest.mark.parametrize("noise", [0.0, 2.0, 6.0])
def test_the_scale_is_that_of_the_sharpest_places_in_any_frame_and_not_of_noise(noise):
    sharp = texture((200, 320))
    enlarged = zoom(sharp, 2, order=3)[:200, :320]
    part = enlarged.copy()
    part[:, :80] = sharp[:, :80]

    def scale(*frames):
        noisy = np.stack(frames) + np.random.default_rng(4).normal(0, noise / 255, (2, 200, 320))
        return find_scale(as_bytes(noisy), DICTIONARY, dark=0.0, span=1.0, noise=noise / 255)

    assert scale(enlarged, enlarged) == 2
    assert scale(enlarged, part) == 1


def test_frames_without_detail_and_small_frames_are_taken_as_they_are():
    soft = gaussian_filter(texture((400, 400)), 2)
    assert find_scale(as_bytes([soft, soft]), DICTIONARY, dark=0.0, span=1.0, noise=0.0) > 1
    assert find_scale(as_bytes([soft[:150], soft[:150]]), DICTIONARY, dark=0.0, span=1.0, noise=0.0) == 1
    assert find_scale(np.full((2, 400, 400), 128, np.uint8), DICTIONARY, dark=0.0, span=1.0, noise=0.0) == 1
    assert (
        find_scale(as_bytes(np.stack([soft, soft])[:, :9, :9]), DICTIONARY, dark=0.0, span=1.0, noise=0.0)
        == 1
    )


def test_sharp_objects_count_less_at_another_depth():
    # Blurred stripes of 24 px between sharp ones of 40 px: most patches around them are sharp.
    sharp = texture((160, 320))
    striped = np.arange(320) % 64 < 24
    gray = np.where(striped, apply_defocus(sharp, 3.0), sharp).astype(np.float32)
    chances = np.broadcast_to([~striped[None], striped[None]], (2, 160, 320)).astype(np.float32)
    of_one_depth, of_two = (
        never_in_focus(gray, depths, Tile.whole((160, 320)), DICTIONARY, stride=4, noise=0.0, scale=1)
        for depths in (np.full_like(chances, 0.5), chances)
    )
    assert of_one_depth[:, striped].mean() < 0.7
    assert of_two[:, striped].mean() > 0.85
    assert of_two[:, ~striped].mean() < 0.1


@pytest.mark.parametrize(("stride", "n_frames"), [(8, 2), (8, 3), (4, 4)])
def test_share_of_blurred_patches_matches_the_documented_formula(monkeypatch, stride, n_frames):
    # B' of docs/panfocus-method.md in float64, with SciPy's filters, for random blurred patches.
    rng = np.random.default_rng(8)
    shape, origins = (96, 160), [np.arange(0, length - 7, stride) for length in (96, 160)]
    blurred = (gaussian_filter(rng.normal(size=[len(o) for o in origins]), 1.5) > 0.05).astype(np.float32)
    monkeypatch.setattr(_never_in_focus, "_blurred_patches", lambda *_: blurred)
    chances = np.exp([12 * gaussian_filter(rng.normal(size=shape), 6) for _ in range(n_frames)])
    chances = (chances / chances.sum(axis=0)).astype(np.float32)
    mask = never_in_focus(
        np.zeros(shape, np.float32), chances, Tile.whole(shape), DICTIONARY, stride=stride, noise=0.0, scale=1
    )

    def around(values):
        return gaussian_filter(values.astype(np.float64), 32 / stride, radius=48 // stride)

    of_patches = chances[:, (origins[0] + 4)[:, None], origins[1] + 4].astype(np.float64)
    if n_frames > 2:  # half of a frame's probability counts for each of its neighbours
        near = np.eye(n_frames) + (np.eye(n_frames, k=1) + np.eye(n_frames, k=-1)) / 2
        of_patches = np.tensordot(near, of_patches, 1)
    at_depth = sum(p * around(p * blurred) for p in of_patches)
    share = (around(blurred) + at_depth) / (1 + sum(p * around(p) for p in of_patches))
    here = gaussian_filter(blurred.astype(np.float64), 4 / stride, radius=8 // stride)
    share = (share + 0.15 * here) / 1.15
    share = np.stack([np.interp(np.arange(160), origins[1] + 4, values) for values in share])
    share = np.stack([np.interp(np.arange(96), origins[0] + 4, values) for values in share.T], axis=1)
    clear = np.abs(share - 0.345) > 1e-5
    np.testing.assert_array_equal(mask[clear], share[clear] > 0.345)
    assert clear.mean() > 0.99
    assert 0.05 < mask.mean() < 0.95


@pytest.mark.parametrize(("more", "expected"), [(0.003, 0), (0.007, 1)])
def test_patch_is_blurred_if_blurred_atoms_clearly_dominate(more, expected):
    # Cosines are orthogonal: the code of a sum of two atoms is exact. Rounding noise (0.0091 in a patch,
    # halved in energy) is far below both.
    cosines = np.cos(np.pi * np.outer(np.arange(8) + 0.5, np.arange(8)) / 8)
    atoms = np.kron(cosines, cosines)[:, 1:63]
    atoms /= np.linalg.norm(atoms, axis=0)
    fine_and_coarse = pf.CoupledDictionary(levels=np.stack([atoms[:, ::-1][:, :31], atoms[:, :31]]))
    patch = 0.06 * atoms[:, 55] + (0.06 + more) * atoms[:, 5]
    origin = np.array([0])
    blurred = _blurred_patches(patch.reshape(8, 8).astype(np.float32), origin, origin, fine_and_coarse, 0.0)
    assert blurred == expected


def test_rounding_to_8_bits_does_not_look_sharp():
    faint = as_bytes(0.5 + 0.05 * (apply_defocus(texture((200, 200)), 4.0) - 0.5))
    assert faint.std() < 1.1  # levels
    rows = cols = np.arange(0, 192, 8)
    assert _blurred_patches((faint / 255).astype(np.float32), rows, cols, DICTIONARY, 0.0).mean() > 0.4


@pytest.mark.parametrize("quality", ["exact", "high"])
def test_position_of_jpeg_blocks_hardly_matters(data_dir, quality):
    # If all patches coincided with JPEG blocks, 0.62 would be marked, and 0.07 after a shift by 4 px.
    frames = read_stack([data_dir / "lytro" / f"lytro-02-{letter}.jpg" for letter in "AB"]).frames
    first, shifted = (pf.fuse(frames[:, k:, k:], quality=quality).never_in_focus.mean() for k in (0, 4))
    assert abs(first - shifted) < 0.1


def test_reduction_averages_squares():
    image = np.random.default_rng(0).random((12, 18)).astype(np.float32)
    np.testing.assert_allclose(_reduced(image, 3), image.reshape(4, 3, 6, 3).mean(axis=(1, 3)), rtol=1e-6)
    np.testing.assert_array_equal(_reduced(image, 1), image)


@pytest.mark.parametrize(("scale", "height"), [(1, 505), (2, 625), (3, 751)])
def test_tiles_equal_the_whole_at_every_scale(scale, height):
    frames = half_blurred((200, height), (0.0, 2.5, 5.0), 3.0 * scale, noise=1.0).swapaxes(1, 2)
    surveyed = dataclasses.replace(get_method("panfocus").survey(frames), scale=scale)
    assert 2 * surveyed.halo + 101 < height
    # 101 is not a multiple of the scale.
    whole, tiled = (run_method(surveyed, frames, side=side) for side in (10**6, 101))
    assert 0.1 < whole.never_in_focus.mean() < 0.9
    for name in ("image", *surveyed.maps):
        np.testing.assert_array_equal(getattr(tiled, name), getattr(whole, name), err_msg=name)


def test_image_smaller_than_a_patch_is_fused():
    frames = np.random.default_rng(1).integers(0, 256, (3, 5, 30), dtype=np.uint8)
    result = pf.fuse(frames)
    assert result.image.shape == (5, 30)
    assert not result.never_in_focus.any()
