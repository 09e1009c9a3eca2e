import re

import numpy as np
import pytest

from panfocus.dictionary.training import sample_patches
from panfocus.errors import InputError


@pytest.fixture
def levels(rng):
    """Two scenes of different size at two levels; the second level is half the first, upside down."""
    sharp = [rng.random((13, 17)), rng.random((21, 9))]
    return [sharp, [0.5 - image / 2 for image in sharp]]


def draw(levels, n_samples=100, patch_size=4, seed=0, **options):
    rng = np.random.default_rng(seed)
    return sample_patches(levels, patch_size=patch_size, n_samples=n_samples, rng=rng, **options)


def all_patches(image, size):
    """Every mean-free patch of norm one, as rows."""
    rows = []
    for r in range(image.shape[0] - size + 1):
        for c in range(image.shape[1] - size + 1):
            patch = image[r : r + size, c : c + size].ravel()
            patch = patch - patch.mean()
            rows.append(patch / np.linalg.norm(patch))
    return np.array(rows)


def test_samples_are_mean_free_and_of_norm_one(levels):
    for X in draw(levels):
        assert X.shape == (16, 100)
        np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-14)
        np.testing.assert_allclose(np.linalg.norm(X, axis=0), 1, rtol=1e-12)


def test_samples_correspond_between_levels(levels):
    sharp, inverted = draw(levels)
    np.testing.assert_allclose(inverted, -sharp, atol=1e-12)


def test_samples_are_patches_of_the_images_each_place_at_most_once(levels):
    everywhere = np.concatenate([all_patches(image, 4) for image in levels[0]])
    overlaps = draw(levels)[0].T @ everywhere.T
    np.testing.assert_allclose(overlaps.max(axis=1), 1, rtol=1e-12)
    assert len(np.unique(overlaps.argmax(axis=1))) == 100
    assert overlaps.argmax(axis=1).max() >= 10 * 14  # also of the second image


def test_asking_for_more_than_there_is_gives_every_patch_once(levels):
    n_places = 10 * 14 + 18 * 6
    X = draw(levels, n_samples=1000)[0]
    assert X.shape[1] == n_places
    everywhere = np.concatenate([all_patches(image, 4) for image in levels[0]])
    assert sorted((X.T @ everywhere.T).argmax(axis=1)) == list(range(n_places))


@pytest.mark.parametrize("level", [0, 1])
def test_patches_flat_at_any_level_are_left_out(levels, level):
    image = levels[level][0]
    image[:, :12] = 0.4 + 0.001 * image[:, :12]  # a thousandth: a quarter of one level of 255
    sharp, inverted = draw(levels, n_samples=1000)
    # A patch of 4 columns has contrast at both levels only from column 9 on, where it reaches column 12.
    assert sharp.shape[1] == inverted.shape[1] == 10 * (14 - 9) + 18 * 6


def test_patches_of_less_than_the_least_contrast_are_left_out(levels):
    image = levels[0][0]
    patches = np.lib.stride_tricks.sliding_window_view(image, (4, 4)).reshape(-1, 16)
    contrasts = patches.std(axis=1)
    least = float(np.median(contrasts))
    (X,) = draw([[image]], n_samples=1000, min_contrast=least)
    assert X.shape[1] == np.sum(contrasts > least)


@pytest.mark.parametrize("value", [-0.1, np.nan])
def test_a_least_contrast_below_none_is_refused(levels, value):
    with pytest.raises(InputError, match="min_contrast must be at least 0, got"):
        draw(levels, min_contrast=value)


def test_the_draw_goes_on_until_enough_samples_have_contrast(levels):
    levels[0][0][:, :] = 0.5
    assert draw(levels, n_samples=100)[0].shape[1] == 100


def test_the_draw_depends_on_the_seed_alone(levels):
    np.testing.assert_array_equal(draw(levels, seed=3), draw(levels, seed=3))
    assert not np.array_equal(draw(levels, seed=3), draw(levels, seed=4))


def test_images_without_contrast_are_refused():
    flat = [np.full((13, 17), 0.3)]
    with pytest.raises(InputError, match="the training images hold no patch with contrast"):
        draw([flat, flat])


def test_images_smaller_than_a_patch_are_refused(levels):
    with pytest.raises(InputError, match="training image 1 is smaller than a patch of 10 x 10"):
        draw(levels, patch_size=10)


def test_images_that_differ_in_size_between_levels_are_refused(levels):
    levels[1][0] = levels[1][0][1:]
    words = "training image 0 differs in size between its levels: [(12, 17), (13, 17)]"
    with pytest.raises(InputError, match=re.escape(words)):
        draw(levels)


def test_no_images_no_samples_and_colour_are_refused(levels, rng):
    with pytest.raises(InputError, match="there are no training images"):
        draw([[], []])
    with pytest.raises(InputError, match="n_samples must be at least 1, got 0"):
        draw(levels, n_samples=0)
    with pytest.raises(InputError, match="patch_size must be at least 2, got 1"):
        draw(levels, patch_size=1)
    colour = [rng.random((13, 17, 3))]
    words = "training image 0 has shape (13, 17, 3); needed: (h, w)"
    with pytest.raises(InputError, match=re.escape(words)):
        draw([colour, colour])
