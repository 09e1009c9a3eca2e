"""The method `sr-fm`, compared with a plain implementation, and its halo."""

from itertools import product

import numpy as np
import pytest

from panfocus.decide.focus_measure import laplacian_energy
from panfocus.dictionary import CoupledDictionary
from panfocus.methods import Tile, _patchwise
from panfocus.methods.sr_fm import SrFm
from panfocus.simulate import apply_defocus
from panfocus.tiling.tiled import run_method
from plain_omp import batch_omp_plain, dense

SHAPE = (13, 17)


@pytest.fixture(scope="module")
def small():
    """Return a dictionary of 20 mean-free atoms of 4 x 4 pixels with a few bright dots each."""
    atoms = np.random.default_rng(6).random((1, 16, 20)) ** 3
    atoms -= atoms.mean(axis=1, keepdims=True)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    return CoupledDictionary(atoms, settings={"of_focus_maps": True})


def fuse(frames, **settings):
    return SrFm(**settings).fuse(frames, Tile.whole(frames.shape[1:3]))


def plain_sr_fm(frames, dictionary, *, eps=0.1, stride=1):
    """Fuse frames step by step; return the image and the votes."""
    d, n_atoms = dictionary.patch_size, dictionary.n_atoms
    height, width = frames.shape[1:]
    rows, cols = (sorted({*range(0, side - d, stride), side - d}) for side in (height, width))
    responses = np.zeros((len(frames), len(rows), len(cols)))
    for k, frame in enumerate(frames):
        energy = laplacian_energy(frame)
        X = np.stack([energy[r : r + d, c : c + d].ravel() for r, c in product(rows, cols)], axis=1)
        X = X - X.mean(axis=0)
        codes = batch_omp_plain(dictionary.matrix, X, max_atoms=d * d, max_sq_error=eps)
        A = np.abs(dense(codes, n_atoms)).reshape(n_atoms, len(rows), len(cols))
        for i, j in product(range(len(rows)), range(len(cols))):
            around = A[:, max(0, i - 1) : i + 2, max(0, j - 1) : j + 2]
            responses[k, i, j] = around.max(axis=(1, 2)).sum()
    total, cover, votes = np.zeros((height, width)), np.zeros((height, width)), np.zeros(frames.shape)
    for (i, r), (j, c) in product(enumerate(rows), enumerate(cols)):
        winner = responses[:, i, j].argmax()
        place = np.s_[r : r + d, c : c + d]
        total[place] += frames[winner][place]
        cover[place] += 1
        votes[winner][place] += 1
    return total / cover, votes


@pytest.mark.parametrize("settings", [{}, {"stride": 3}, {"stride": 4, "eps": 0.01}], ids=str)
def test_results_match_the_plain_implementation(rng, small, settings):
    frames = rng.random((3, *SHAPE))
    result = fuse(frames, dictionary=small, **settings)
    image, votes = plain_sr_fm(frames, small, **settings)
    np.testing.assert_allclose(result.image, image, rtol=1e-12)
    np.testing.assert_array_equal(result.labels, votes.argmax(axis=0))
    np.testing.assert_allclose(result.confidence, votes.max(axis=0) / votes.sum(axis=0), rtol=1e-6)


def test_shipped_dictionary_is_the_default(rng):
    frames = rng.random((2, *SHAPE))
    image, _ = plain_sr_fm(frames, CoupledDictionary.default("focus-maps"))
    np.testing.assert_allclose(fuse(frames).image, image, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-15, 1e-6, 1e6, 1e14])
def test_brightness_does_not_change_the_labels(rng, small, scale):
    frames = rng.random((2, *SHAPE))
    np.testing.assert_array_equal(
        fuse(frames * scale, dictionary=small).labels, fuse(frames, dictionary=small).labels
    )


def test_flat_frames_are_averaged_and_a_textured_frame_wins(rng, small):
    flat = np.full(SHAPE, 0.5, np.float32)
    textured = (0.5 + 0.01 * rng.random(SHAPE)).astype(np.float32)
    np.testing.assert_array_equal(fuse(np.stack([flat, 0.5 * flat]), dictionary=small).image, 0.75 * flat)
    np.testing.assert_array_equal(fuse(np.stack([flat, textured]), dictionary=small).image, textured)


@pytest.mark.parametrize("patches", [1, 30])
@pytest.mark.parametrize("stride", [1, 3])
def test_block_size_changes_no_bit(rng, small, stride, patches, monkeypatch):
    frames = rng.random((3, *SHAPE, 3)).astype(np.float32)
    expected = fuse(frames, dictionary=small, stride=stride)
    monkeypatch.setattr(_patchwise, "PATCHES_PER_BLOCK", patches)
    result = fuse(frames, dictionary=small, stride=stride)
    for name in ("image", "labels", "confidence"):
        np.testing.assert_array_equal(getattr(result, name), getattr(expected, name))


class NarrowHalo(SrFm):
    """A method whose halo is one pixel too narrow."""

    @property
    def halo(self):
        return super().halo - 1


@pytest.mark.parametrize(("stride", "halo"), [(1, 7), (3, 9)])
def test_halo_is_exactly_as_wide_as_needed(rng, small, stride, halo):
    # 3 pixels of the patch, the stride to its neighbour, 2 of the window, 1 of the Laplacian.
    frames = rng.random((2, 60, 80))
    method, narrow = (cls(dictionary=small, stride=stride) for cls in (SrFm, NarrowHalo))
    assert method.halo == halo
    whole = run_method(method, frames, side=10**9).image
    np.testing.assert_array_equal(run_method(method, frames, side=7).image, whole)
    assert (run_method(narrow, frames, side=7).image != whole).any()


def test_sharp_halves_are_found(rng):
    sharp = apply_defocus(rng.random((72, 120)), 0.7)
    soft = apply_defocus(sharp, 2.5)
    left = np.arange(120) < 60
    frames = np.stack([np.where(left, soft, sharp), np.where(left, sharp, soft)])
    result = fuse(np.rint(255 * frames).astype(np.uint8))
    away = np.abs(np.arange(120) - 59.5) > 8
    assert (result.labels == left)[:, away].mean() > 0.97


def test_dictionary_is_learned_from_focus_maps(rng):
    images = [apply_defocus(rng.random((40, 50)), radius) for radius in (0.7, 2.0)]
    options = {"patch_size": 4, "n_atoms": 16, "rounds": 2, "n_samples": 500, "rng": 3}
    learned = SrFm.learn_dictionary(images, **options)
    assert learned.levels.shape == (1, 16, 16)
    assert learned.of_focus_maps
    maps = [laplacian_energy(image) for image in images]
    again = CoupledDictionary.learn(maps, min_contrast=13 / 255**2, **options)
    np.testing.assert_array_equal(again.levels, learned.levels)
