"""The methods `sr-cm` and `sr-ksvd`: against the rule written out, and where they differ from `coupled`."""

import re

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from panfocus.dictionary import CoupledDictionary, overcomplete_dct
from panfocus.errors import InputError
from panfocus.io.dictionary_file import MAX_TOTAL_ATOMS
from panfocus.methods import Tile, _patchwise
from panfocus.methods.sr_cm import MAX_PATCH_SIZE, SrCm
from panfocus.methods.sr_ksvd import SrKsvd
from panfocus.sparse import batch_omp_plain

SHAPE = (13, 17)
FLOAT32 = 1e-5  # what codes in float32 may be off in unit range, where atoms are nearly parallel


def small_dictionary(n_levels):
    """Atoms of 4 x 4 pixels without mean, 20 of each level."""
    atoms = np.random.default_rng(6).standard_normal((n_levels, 16, 20))
    atoms -= atoms.mean(axis=1, keepdims=True)
    return CoupledDictionary(atoms / np.linalg.norm(atoms, axis=1, keepdims=True))


METHODS = [SrCm(patch_size=4), SrKsvd(dictionary=small_dictionary(1))]
each_method = pytest.mark.parametrize("method", METHODS, ids=["sr-cm", "sr-ksvd"])


def with_settings(method, **settings):
    return type(method)(**vars(method) | settings)


def fuse(method, frames):
    return method.fuse(frames, Tile.whole(frames.shape[1:3]))


def choose_max(decisions, planes, D, *, eps=0.1, stride=1, reconstruct="pixels"):
    """The rule on planes (n, h, w), moving patches, by the plain kernel; decided on planes of their own."""
    d = round(np.sqrt(len(D)))
    height, width = planes.shape[1:]
    rows, cols = (sorted({*range(0, side - d, stride), side - d}) for side in (height, width))
    places = [np.s_[r : r + d, c : c + d] for r in rows for c in cols]

    def codes(plane):
        X = np.stack([plane[place].ravel() - plane[place].mean() for place in places], axis=1)
        return batch_omp_plain(D, X, max_atoms=d * d, max_sq_error=eps).dense(D.shape[1])

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
def test_image_labels_and_confidence_are_those_of_the_rule(rng, method, reconstruct, settings):
    frames = rng.random((3, *SHAPE))
    settings = settings | {"reconstruct": reconstruct}
    result = fuse(with_settings(method, **settings), frames)
    image, votes = choose_max(frames, frames, method.atoms, **settings)
    np.testing.assert_allclose(result.image, image, atol=1e-12 if reconstruct == "pixels" else FLOAT32)
    np.testing.assert_array_equal(result.labels, votes.argmax(axis=0))
    np.testing.assert_allclose(result.confidence, votes.max(axis=0) / votes.sum(axis=0), rtol=1e-6)


@each_method
@pytest.mark.parametrize("channels", [2, 3, 4])
def test_codes_are_chosen_on_grey_and_made_anew_in_each_channel(rng, method, channels):
    frames = rng.random((2, *SHAPE, channels))
    result = fuse(with_settings(method, reconstruct="codes"), frames)
    grey = frames[..., 0] if channels == 2 else frames[..., :3] @ [0.299, 0.587, 0.114]
    for i in range(channels):
        expected, _ = choose_max(grey, frames[..., i], method.atoms, reconstruct="codes")
        np.testing.assert_allclose(result.image[..., i], expected, atol=FLOAT32)


@pytest.mark.parametrize("reconstruct", ["pixels", "codes"])
def test_the_defaults_are_the_papers(rng, reconstruct):
    """8 x 8 patches, 256 atoms, every patch: over cosines, and over the dictionary that is shipped."""
    frames = rng.random((2, *SHAPE))
    for method, D in (
        (SrCm(reconstruct=reconstruct), overcomplete_dct(8, 256)),
        (SrKsvd(reconstruct=reconstruct), CoupledDictionary.default("ksvd").matrix),
    ):
        assert D.shape == (64, 256)
        expected, _ = choose_max(frames, frames, D, reconstruct=reconstruct)
        np.testing.assert_allclose(fuse(method, frames).image, expected, atol=FLOAT32)


def test_of_a_coupled_dictionary_the_focused_level_is_used(rng):
    frames = rng.random((2, *SHAPE))
    coupled = small_dictionary(2)
    alone = CoupledDictionary(coupled.levels[:1])
    given, expected = (fuse(SrKsvd(dictionary=d), frames) for d in (coupled, alone))
    np.testing.assert_array_equal(given.image, expected.image)


@each_method
def test_codes_that_leave_nothing_over_give_the_pixels(rng, method):
    frames = gaussian_filter(rng.random((2, *SHAPE)), (0, 1, 1))
    pixels = fuse(with_settings(method, eps=1e-9), frames).image
    codes = [fuse(with_settings(method, eps=eps, reconstruct="codes"), frames).image for eps in (1e-9, 0.3)]
    np.testing.assert_allclose(codes[0], pixels, atol=1e-4)
    assert np.abs(codes[1] - pixels).max() > 1e-2


@each_method
def test_a_larger_eps_leaves_more_over(rng, method):
    frame = rng.random(SHAPE)
    errors = []
    for eps in (0.01, 0.1, 0.5):
        rebuilt = fuse(with_settings(method, eps=eps, reconstruct="codes"), np.stack([frame] * 2)).image
        errors.append(np.mean((rebuilt - frame) ** 2))
    assert errors[0] < errors[1] < errors[2]
    assert errors[2] < 0.5 * frame.var()


@each_method
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_what_is_flat_stays_exact_also_from_codes(rng, method, dtype):
    white = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 1
    frames = (white * rng.random((2, *SHAPE, 4))).astype(dtype)
    frames[..., 3] = white
    image = fuse(with_settings(method, reconstruct="codes"), frames).image
    assert image.dtype == dtype
    assert (image[..., 3] == white).all()


@each_method
def test_rebuilt_values_stay_within_the_type(rng, method):
    """Edges between black and white overshoot where a code leaves something over."""
    frame = (255 * (rng.random(SHAPE) > 0.5)).astype(np.uint8)
    unit = fuse(with_settings(method, reconstruct="codes"), np.stack([frame / 255] * 2)).image
    assert unit.max() > 1.01
    assert unit.min() < -0.01
    image = fuse(with_settings(method, reconstruct="codes"), np.stack([frame] * 2)).image
    np.testing.assert_allclose(image, np.clip(255 * unit, 0, 255), atol=0.51)


@each_method
@pytest.mark.parametrize("reconstruct", ["pixels", "codes"])
@pytest.mark.parametrize("patches", [1, 30, 10**9])
def test_blocks_of_patches_do_not_change_a_bit(rng, method, reconstruct, patches, monkeypatch):
    method = with_settings(method, reconstruct=reconstruct)
    frames = rng.random((3, *SHAPE, 3)).astype(np.float32)
    expected = fuse(method, frames)
    monkeypatch.setattr(_patchwise, "PATCHES_PER_BLOCK", patches)
    for name in ("image", "labels", "confidence"):
        np.testing.assert_array_equal(getattr(fuse(method, frames), name), getattr(expected, name))


@pytest.mark.parametrize(
    ("cls", "settings", "words"),
    [
        (SrCm, {"eps": 0.0}, "eps must lie between 0 and 1, got 0.0"),
        (SrCm, {"eps": "high"}, "eps must be a number, got 'high'"),
        (SrKsvd, {"eps": float("nan")}, "eps must lie between 0 and 1, got nan"),
        (SrKsvd, {"stride": 0}, "stride must be at least 1, got 0"),
        (SrCm, {"stride": 9}, "stride must be between 1 and the patch size 8, got 9"),
        (SrCm, {"patch_size": 1}, "patch_size must be at least 2, got 1"),
        (SrCm, {"patch_size": 46}, "patch_size must be at most 45, got 46"),
        (SrCm, {"reconstruct": "both"}, "reconstruct must be one of pixels, codes, got 'both'"),
        (SrKsvd, {"dictionary": "a.npz"}, "dictionary must be a CoupledDictionary, got 'a.npz'"),
        (
            SrKsvd,
            {"dictionary": CoupledDictionary.default("focus-maps")},
            "the method sr-ksvd needs a dictionary learned from pictures, not from focus maps; got 1 level",
        ),
    ],
)
def test_settings_out_of_range_are_refused_at_once(cls, settings, words):
    with pytest.raises(InputError, match=re.escape(words)):
        cls(**settings)


def test_the_largest_patch_has_as_many_atoms_as_a_dictionary_may_have():
    assert 4 * MAX_PATCH_SIZE**2 <= MAX_TOTAL_ATOMS < 4 * (MAX_PATCH_SIZE + 1) ** 2


@pytest.mark.parametrize("patch_size", [2, 5, 12])
def test_cosines_are_four_for_each_pixel_of_a_patch(patch_size):
    assert SrCm(patch_size=patch_size).atoms.shape == (patch_size**2, 4 * patch_size**2)


def test_a_patch_larger_than_the_image_is_refused(rng):
    words = "patches of 14 x 14 pixels do not fit into an image side of 13 pixels"
    with pytest.raises(InputError, match=words):
        fuse(SrCm(patch_size=14), rng.random((2, *SHAPE)))
