import numpy as np
import pytest

from panfocus.dictionary.training import sample_patches, share_with_contrast
from panfocus.errors import InputError


@pytest.fixture
def levels(rng):
    """Return two scenes of different size; the second level is the first, inverted, at half contrast."""
    sharp = [rng.random((13, 17)), rng.random((21, 9))]
    return [sharp, [0.5 - image / 2 for image in sharp]]


def draw(levels, n_samples=100, patch_size=4, seed=0, **options):
    rng = np.random.default_rng(seed)
    return sample_patches(levels, patch_size=patch_size, n_samples=n_samples, rng=rng, **options)


def all_patches(image, size):
    """Return every mean-free patch with norm 1, as rows."""
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


def test_samples_are_different_patches_of_the_images(levels):
    everywhere = np.concatenate([all_patches(image, 4) for image in levels[0]])
    overlaps = draw(levels)[0].T @ everywhere.T
    np.testing.assert_allclose(overlaps.max(axis=1), 1, rtol=1e-12)
    assert len(np.unique(overlaps.argmax(axis=1))) == 100
    assert overlaps.argmax(axis=1).max() >= 10 * 14  # from the second image too


def test_request_for_too_many_samples_gives_every_patch_once(levels):
    n_places = 10 * 14 + 18 * 6
    X = draw(levels, n_samples=1000)[0]
    assert X.shape[1] == n_places
    everywhere = np.concatenate([all_patches(image, 4) for image in levels[0]])
    assert sorted((X.T @ everywhere.T).argmax(axis=1)) == list(range(n_places))


@pytest.mark.parametrize("level", [0, 1])
def test_patches_flat_at_any_level_are_skipped(levels, level):
    image = levels[level][0]
    image[:, :12] = 0.4 + 0.001 * image[:, :12]  # a thousandth: a quarter of one level of 255
    sharp, inverted = draw(levels, n_samples=1000)
    # A patch of 4 columns has contrast at both levels only from column 9 on, where it reaches column 12.
    assert sharp.shape[1] == inverted.shape[1] == 10 * (14 - 9) + 18 * 6


def test_patches_below_the_minimum_contrast_are_skipped(levels):
    image = levels[0][0]
    patches = np.lib.stride_tricks.sliding_window_view(image, (4, 4)).reshape(-1, 16)
    contrasts = patches.std(axis=1)
    least = float(np.median(contrasts))
    (X,) = draw([[image]], n_samples=1000, min_contrast=least)
    assert X.shape[1] == np.sum(contrasts > least)


@pytest.mark.parametrize("size", [2, 5, 8])
def test_share_with_contrast_counts_the_patches_above_the_threshold(rng, size):
    image = (0.9 + 0.01 * rng.random((13, 17))).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(image.astype(float), (size, size))
    contrasts = np.sort(windows.std(axis=(2, 3)).ravel())
    quarter = len(contrasts) // 4
    least = float(contrasts[-quarter - 1 : -quarter + 1].mean())  # between two patches
    assert share_with_contrast(image, size, least) == quarter / len(contrasts)
    assert share_with_contrast(np.full((13, 17), 7 / 65535, np.float32), size, 2**-13 / 255) == 0


@pytest.mark.parametrize(
    ("setting", "value"),
    [("min_contrast", -0.1), ("min_contrast", np.nan), ("n_samples", 0), ("patch_size", 1)],
)
def test_number_out_of_range_is_rejected(levels, setting, value):
    with pytest.raises(InputError) as caught:
        draw(levels, **{setting: value})
    assert caught.value.facts["setting"] == setting


def test_drawing_continues_until_enough_samples_have_contrast(levels):
    levels[0][0][:, :] = 0.5
    assert draw(levels, n_samples=100)[0].shape[1] == 100


def test_samples_depend_only_on_the_seed(levels):
    np.testing.assert_array_equal(draw(levels, seed=3), draw(levels, seed=3))
    assert not np.array_equal(draw(levels, seed=3), draw(levels, seed=4))


@pytest.mark.parametrize("images", [[], [np.full((13, 17), 0.3)]], ids=["none", "flat"])
def test_images_without_contrast_are_rejected(images):
    with pytest.raises(InputError) as caught:
        draw([images, images])
    assert caught.value.facts == {}


def test_image_smaller_than_a_patch_is_rejected(levels):
    with pytest.raises(InputError) as caught:
        draw(levels, patch_size=10)
    assert caught.value.facts == {"image": 1, "got": (21, 9), "needed": 10}


def test_images_that_differ_in_size_between_levels_are_rejected(levels):
    levels[1][0] = levels[1][0][1:]
    with pytest.raises(InputError) as caught:
        draw(levels)
    assert caught.value.facts == {"image": 0, "got": [(12, 17), (13, 17)]}


def test_colour_images_are_rejected(rng):
    colour = [rng.random((13, 17, 3))]
    with pytest.raises(InputError) as caught:
        draw([colour, colour])
    assert caught.value.facts == {"image": 0, "got": (13, 17, 3)}


def test_image_with_nan_is_rejected(levels):
    levels[1][1][3, 3] = np.nan
    with pytest.raises(InputError) as caught:
        draw(levels)
    assert caught.value.facts == {"image": 1}
