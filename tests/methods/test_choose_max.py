"""The methods `sr-cm` and `sr-ksvd`, compared with a plain implementation of their rule."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from panfocus.dictionary import CoupledDictionary, overcomplete_dct
from panfocus.errors import InputError
from panfocus.io.dictionary_file import MAX_TOTAL_ATOMS
from panfocus.methods import Tile, _patchwise
from panfocus.methods.choose_max import MAX_PATCH_SIZE, SrCm, SrKsvd
from plain_omp import batch_omp_plain, dense

SHAPE = (13, 17)
FLOAT32 = 1e-5  # unit range: error of float32 codes with nearly parallel atoms


def small_dictionary(n_levels):
    """Return a dictionary of 20 mean-free atoms of 4 x 4 pixels per level."""
    atoms = np.random.default_rng(6).standard_normal((n_levels, 16, 20))
    atoms -= atoms.mean(axis=1, keepdims=True)
    return CoupledDictionary(atoms / np.linalg.norm(atoms, axis=1, keepdims=True))


UNLIMITED = 0  # atoms: as many as the patch has pixels, like the paper
METHODS = [
    SrCm(patch_size=4, max_atoms=UNLIMITED),
    SrKsvd(dictionary=small_dictionary(1), max_atoms=UNLIMITED),
]
each_method = pytest.mark.parametrize("method", METHODS, ids=["sr-cm", "sr-ksvd"])


def with_settings(method, **settings):
    return type(method)(**vars(method) | settings)


def fuse(method, frames):
    return method.fuse(frames, Tile.whole(frames.shape[1:3]))


def choose_max(decisions, planes, D, *, eps=0.1, stride=1, reconstruct="pixels"):
    """Apply the rule to planes (n, h, w), choosing by `decisions`, with the plain kernel."""
    d = round(np.sqrt(len(D)))
    height, width = planes.shape[1:]
    rows, cols = (sorted({*range(0, side - d, stride), side - d}) for side in (height, width))
    places = [np.s_[r : r + d, c : c + d] for r in rows for c in cols]

    def codes(plane):
        X = np.stack([plane[place].ravel() - plane[place].mean() for place in places], axis=1)
        return dense(batch_omp_plain(D, X, max_atoms=d * d, max_sq_error=eps), D.shape[1])

    winners = np.argmax([np.abs(codes(plane)).sum(axis=0) for plane in decisions], axis=0)
    rebuilt = [D @ codes(plane) for plane in planes] if reconstruct == "codes" else None
    total, cover = np.zeros((height, width)), np.zeros((height, width))
    votes = np.zeros(planes.shape)
    for i, (place, k) in enumerate(zip(places, winners, strict=True)):
        patch = planes[k][place]
        total[place] += patch if rebuilt is None else rebuilt[k][:, i].reshape(d, d) + patch.mean()
        cover[place] += 1
        votes[k][place] += 1
    return total / cover, votes


@each_method
@pytest.mark.parametrize("reconstruct", ["pixels", "codes"])
@pytest.mark.parametrize("settings", [{}, {"stride": 3}, {"stride": 4, "eps": 0.02}], ids=str)
def test_results_match_the_plain_rule(rng, method, reconstruct, settings):
    frames = rng.random((3, *SHAPE))
    settings = settings | {"reconstruct": reconstruct}
    result = fuse(with_settings(method, **settings), frames)
    image, votes = choose_max(frames, frames, method.atoms, **settings)
    np.testing.assert_allclose(result.image, image, atol=1e-12 if reconstruct == "pixels" else FLOAT32)
    np.testing.assert_array_equal(result.labels, votes.argmax(axis=0))
    np.testing.assert_allclose(result.confidence, votes.max(axis=0) / votes.sum(axis=0), rtol=1e-6)


@each_method
@pytest.mark.parametrize("channels", [2, 3, 4])
def test_codes_are_chosen_on_grey_and_computed_for_each_channel(rng, method, channels):
    frames = rng.random((2, *SHAPE, channels))
    result = fuse(with_settings(method, reconstruct="codes"), frames)
    grey = frames[..., 0] if channels == 2 else frames[..., :3] @ [0.299, 0.587, 0.114]
    for i in range(channels):
        expected, _ = choose_max(grey, frames[..., i], method.atoms, reconstruct="codes")
        np.testing.assert_allclose(result.image[..., i], expected, atol=FLOAT32)


@pytest.mark.parametrize("reconstruct", ["pixels", "codes"])
def test_other_defaults_are_those_of_the_paper(rng, reconstruct):
    frames = rng.random((2, *SHAPE))
    for method, D in (
        (SrCm(reconstruct=reconstruct, max_atoms=UNLIMITED), overcomplete_dct(8, 256)),
        (SrKsvd(reconstruct=reconstruct, max_atoms=UNLIMITED), CoupledDictionary.default("ksvd").matrix),
    ):
        assert D.shape == (64, 256)
        expected, _ = choose_max(frames, frames, D, reconstruct=reconstruct)
        np.testing.assert_allclose(fuse(method, frames).image, expected, atol=FLOAT32)


def test_only_the_focused_level_of_a_coupled_dictionary_is_used(rng):
    frames = rng.random((2, *SHAPE))
    coupled = small_dictionary(2)
    alone = CoupledDictionary(coupled.levels[:1])
    result, expected = (fuse(SrKsvd(dictionary=d), frames) for d in (coupled, alone))
    np.testing.assert_array_equal(result.image, expected.image)


@each_method
def test_exact_codes_reproduce_the_pixels(rng, method):
    frames = gaussian_filter(rng.random((2, *SHAPE)), (0, 1, 1))
    pixels = fuse(with_settings(method, eps=1e-9), frames).image
    codes = [fuse(with_settings(method, eps=eps, reconstruct="codes"), frames).image for eps in (1e-9, 0.3)]
    np.testing.assert_allclose(codes[0], pixels, atol=1e-4)
    assert np.abs(codes[1] - pixels).max() > 1e-2


@each_method
def test_larger_eps_increases_the_error(rng, method):
    frame = rng.random(SHAPE)
    errors = []
    for eps in (0.01, 0.1, 0.5):
        rebuilt = fuse(with_settings(method, eps=eps, reconstruct="codes"), np.stack([frame] * 2)).image
        errors.append(np.mean((rebuilt - frame) ** 2))
    assert errors[0] < errors[1] < errors[2]
    assert errors[2] < 0.5 * frame.var()


@each_method
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_flat_channel_is_rebuilt_exactly(rng, method, dtype):
    white = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 1
    frames = (white * rng.random((2, *SHAPE, 4))).astype(dtype)
    frames[..., 3] = white
    image = fuse(with_settings(method, reconstruct="codes"), frames).image
    assert image.dtype == dtype
    assert (image[..., 3] == white).all()


@each_method
def test_rebuilt_values_stay_within_the_type(rng, method):
    # Inexact codes overshoot at edges between black and white.
    frame = (255 * (rng.random(SHAPE) > 0.5)).astype(np.uint8)
    unit = fuse(with_settings(method, reconstruct="codes"), np.stack([frame / 255] * 2)).image
    assert unit.max() > 1.01
    assert unit.min() < -0.01
    image = fuse(with_settings(method, reconstruct="codes"), np.stack([frame] * 2)).image
    np.testing.assert_allclose(image, np.clip(255 * unit, 0, 255), atol=0.51)


@each_method
@pytest.mark.parametrize("reconstruct", ["pixels", "codes"])
@pytest.mark.parametrize("patches", [1, 30])
def test_block_size_changes_no_bit(rng, method, reconstruct, patches, monkeypatch):
    method = with_settings(method, reconstruct=reconstruct)
    frames = rng.random((3, *SHAPE, 3)).astype(np.float32)
    expected = fuse(method, frames)
    monkeypatch.setattr(_patchwise, "PATCHES_PER_BLOCK", patches)
    for name in ("image", "labels", "confidence"):
        np.testing.assert_array_equal(getattr(fuse(method, frames), name), getattr(expected, name))


def test_largest_patch_fits_the_limit_of_atoms():
    assert 4 * MAX_PATCH_SIZE**2 <= MAX_TOTAL_ATOMS < 4 * (MAX_PATCH_SIZE + 1) ** 2


@pytest.mark.parametrize("patch_size", [2, 5, 12])
def test_cosine_dictionary_has_four_atoms_per_pixel(patch_size):
    assert SrCm(patch_size=patch_size).atoms.shape == (patch_size**2, 4 * patch_size**2)


def test_patch_larger_than_the_image_is_rejected(rng):
    with pytest.raises(InputError) as caught:
        fuse(SrCm(patch_size=14), rng.random((2, *SHAPE)))
    assert caught.value.facts == {"got": 13, "needed": 14}
