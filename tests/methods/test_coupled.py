"""The method `coupled`, compared with a plain implementation of Algorithm 1."""

import itertools

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter

from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.methods import Tile, _patchwise
from panfocus.methods.choose_max import SrCm, SrKsvd
from panfocus.methods.coupled import Coupled, level_weights, weighted_activity
from panfocus.simulate import apply_defocus
from plain_omp import batch_omp_plain, dense

SHAPE = (13, 17)
DTYPES = [np.uint8, np.uint16, np.float32, np.float64]


def as_dtype(unit, dtype):
    if np.issubdtype(dtype, np.integer):
        return np.rint(np.iinfo(dtype).max * unit).astype(dtype)
    return unit.astype(dtype)


def random_frames(rng, n_frames, *, channels=None, dtype=np.float64, shape=SHAPE):
    """Return unrelated textures, so that each patch is a new choice."""
    full = (n_frames, *shape) if channels is None else (n_frames, *shape, channels)
    return as_dtype(rng.random(full), dtype)


def fuse(frames, **settings):
    return Coupled(**settings).fuse(frames, Tile.whole(frames.shape[1:3]))


def assert_same_result(result, expected):
    for name in ("image", "labels", "confidence"):
        np.testing.assert_array_equal(getattr(result, name), getattr(expected, name), err_msg=name)


def limited_codes(D, X, *, eps, max_atoms, noise):
    """Code signals by the plain kernel; codes of 8 atoms or more end if their error is at most `noise`."""
    A = np.zeros((D.shape[1], X.shape[1]))
    for i in range(X.shape[1]):
        for n in range(min(8, max_atoms), max_atoms + 1):
            codes = batch_omp_plain(D, X[:, [i]], max_atoms=n, max_sq_error=eps)
            A[:, [i]] = dense(codes, D.shape[1])
            if codes.sq_errors[0] <= noise or codes.counts[0] < n:
                break
    return A


def algorithm_1(
    frames, dictionary, *, eps=0.1, w=0.55, stride=1, contrast="restored", max_atoms=64, noise=None
):
    """Apply the paper's Algorithm 1 to grey frames; return I0 and the votes."""
    d, D = dictionary.patch_size, dictionary.matrix
    height, width = frames.shape[1:]
    rows, cols = (sorted({*range(0, side - d, stride), side - d}) for side in (height, width))
    places = [np.s_[r : r + d, c : c + d] for r in rows for c in cols]
    weights = np.linspace(w, 1 - w, dictionary.n_levels)
    activities = []
    for frame in frames:
        X = np.stack([frame[place].ravel() - frame[place].mean() for place in places], axis=1)
        if contrast == "normalised":
            X /= np.linalg.norm(X, axis=0)
        if noise is None:
            A = dense(batch_omp_plain(D, X, max_atoms=max_atoms, max_sq_error=eps), D.shape[1])
        else:
            A = limited_codes(D, X, eps=eps, max_atoms=max_atoms, noise=noise)
        A = np.abs(A).reshape(dictionary.n_levels, -1, len(places))
        activities.append(weights @ A.sum(axis=1))
    total, cover, votes = np.zeros((height, width)), np.zeros((height, width)), np.zeros(frames.shape)
    for place, winner in zip(places, np.argmax(activities, axis=0), strict=True):
        total[place] += frames[winner][place]
        cover[place] += 1
        votes[winner][place] += 1
    return total / cover, votes


@pytest.fixture(scope="module")
def small():
    """Return a dictionary of two levels with 20 atoms of 4 x 4 pixels."""
    rng = np.random.default_rng(6)
    tiles = gaussian_filter(rng.standard_normal((20, 4, 4)), (0, 0.4, 0.4))
    levels = np.stack([tiles, gaussian_filter(tiles, (0, 1, 1))]).reshape(2, 20, 16).transpose(0, 2, 1)
    levels = levels - levels.mean(axis=1, keepdims=True)
    levels /= np.linalg.norm(levels, axis=1, keepdims=True)
    return CoupledDictionary(levels.astype(np.float32))


@pytest.fixture(scope="module")
def two_halves():
    """Return frames blurred left (0) and right (1) of column 60, and the index of the sharp frame."""
    rng = np.random.default_rng(7)
    sharp = gaussian_filter(rng.random((72, 120)), 0.7)
    sharp = (sharp - sharp.min()) / (sharp.max() - sharp.min())
    soft = apply_defocus(sharp, 2.5)
    left = np.arange(120) < 60
    frames = np.stack([np.where(left, soft, sharp), np.where(left, sharp, soft)])
    return frames, np.broadcast_to(left.astype(int), sharp.shape)


@pytest.mark.parametrize(
    "settings",
    [{}, {"stride": 3}, {"stride": 4, "eps": 0.01}, {"w": 0.8}, {"contrast": "normalised"}],
    ids=str,
)
def test_results_match_algorithm_1(rng, small, settings):
    frames = random_frames(rng, 3)
    result = fuse(frames, dictionary=small, max_atoms=0, **settings)
    image, votes = algorithm_1(frames, small, **settings)
    np.testing.assert_allclose(result.image, image, rtol=1e-12)
    np.testing.assert_array_equal(result.labels, votes.argmax(axis=0))
    np.testing.assert_allclose(result.confidence, votes.max(axis=0) / votes.sum(axis=0), rtol=1e-6)


@pytest.mark.parametrize("name", ["levels2", "levels3"])
def test_shipped_dictionaries_match_algorithm_1(rng, name):
    frames = random_frames(rng, 2)
    shipped = CoupledDictionary.default(name)
    np.testing.assert_allclose(
        fuse(frames, dictionary=shipped, max_atoms=0).image, algorithm_1(frames, shipped)[0], rtol=1e-12
    )


def test_codes_end_at_8_atoms_if_their_error_is_within_the_noise(rng, small):
    frames = random_frames(rng, 2)
    settings = {"max_atoms": 12, "eps": 0.001}
    energy = 15 * 0.03**2  # of noise with a deviation of 0.03 in a mean-free patch of 16 pixels
    method = Coupled(dictionary=small, **settings)
    votes = algorithm_1(frames, small, noise=energy, **settings)[1]
    result = method.fuse_by(method.pursuit(0.03), frames, Tile.whole(SHAPE), ())
    np.testing.assert_allclose(result.confidence, votes.max(axis=0) / votes.sum(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(result.labels, votes.argmax(axis=0))
    for noise, max_atoms in ((None, 12), (None, 8), (energy, 16)):
        others = algorithm_1(frames, small, noise=noise, max_atoms=max_atoms, eps=0.001)[1]
        assert (others != votes).any()


@pytest.mark.parametrize("method", [Coupled, SrCm, SrKsvd])
def test_noise_does_not_win_over_texture(method):
    """Texture with a deviation of 40 levels and noise of 5; the other frame is blurred by 4 pixels."""
    rng = np.random.default_rng(4)
    sharp = gaussian_filter(rng.standard_normal((40, 52)), 2)
    sharp = 128 + 40 * sharp / sharp.std()
    frames = np.stack([gaussian_filter(sharp, 4), sharp]) + rng.normal(0, 5, (2, *sharp.shape))
    frames = np.clip(np.rint(frames), 0, 255).astype(np.uint8)
    limited, paper = (
        method(**settings).fuse(frames, Tile.whole(sharp.shape)).labels.mean()
        for settings in ({}, {"max_atoms": 0})
    )
    assert limited > 0.99
    if method is not SrCm:  # its cosines are far from parallel
        assert paper < 0.8


@pytest.mark.parametrize("dtype", [np.float64, np.uint16])
def test_noise_beyond_a_level_is_measured_on_all_frames(small, dtype):
    """A ramp over a tenth of the range of the type, with noise of 10 and 20 levels of 255 of the ramp."""
    level = 0.1 / 255
    ramp = np.linspace(0.3, 0.4, 200) * np.ones((150, 1))
    noise = np.random.default_rng(3).standard_normal((2, *ramp.shape))
    frames = as_dtype(ramp + level * np.array([10, 20])[:, None, None] * noise, dtype)
    measured = Coupled(dictionary=small).survey(frames).measured
    wider = np.ptp(frames / (1 if dtype == np.float64 else 65535)) / 0.1  # noise widens the range, too
    assert measured["noise"] == pytest.approx(15 * level, rel=0.05)
    assert 0.3 * 15 / wider < measured["width"] < 0.3 * 15
    clean = Coupled(dictionary=small).survey(as_dtype(np.stack([ramp + 0.5 * level * noise[0]] * 2), dtype))
    assert clean.measured == {"noise": 0.0, "width": 0.0}


def test_activities_are_averaged_in_noise(small):
    method = Coupled(dictionary=small, stride=2)
    halos = [method.from_measurements({"noise": 0.1, "width": w}).halo for w in (0, 0.3, 3)]
    assert halos == [3, 3 + 2 * 1, 3 + 2 * 9]  # 3 deviations, in patches
    textures = np.random.default_rng(2).random((2, 24, 24))
    alone, averaged = (
        method.from_measurements({"noise": 0.1, "width": w}).fuse(textures, Tile.whole((24, 24)))
        for w in (0, 2)
    )
    assert averaged.confidence.mean() > 1.1 * alone.confidence.mean()


def test_negative_max_atoms_is_rejected(small):
    with pytest.raises(InputError) as caught:
        Coupled(dictionary=small, max_atoms=-1)
    assert caught.value.facts["setting"] == "max_atoms"


def test_equal_frames_share_the_confidence(rng, small):
    frame = random_frames(rng, 1, channels=3)[0]
    result = fuse(np.stack([frame] * 3), dictionary=small)
    assert not result.labels.any()
    assert (result.confidence == np.float32(1 / 3)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_flat_frames_are_averaged(small, dtype):
    frames = np.stack([np.full(SHAPE, as_dtype(np.array(value), dtype)) for value in (0.2, 0.4, 0.9)])
    result = fuse(frames, dictionary=small)
    np.testing.assert_allclose(result.image, as_dtype(np.array(0.5), dtype), rtol=1e-15)
    assert not result.labels.any()


@pytest.mark.parametrize("contrast", ["restored", "normalised"])
def test_textured_frame_wins_over_a_flat_one(rng, small, contrast):
    flat = np.full(SHAPE, 0.5)
    textured = 0.5 + 0.01 * rng.random(SHAPE)
    result = fuse(np.stack([flat, textured]), dictionary=small, contrast=contrast)
    np.testing.assert_array_equal(result.image, textured)


def test_contrast_counts_only_if_restored(rng, small):
    texture = rng.random((2, *SHAPE))
    frames = np.stack([texture[0], 0.1 * texture[1]])
    exact = {"dictionary": small, "max_atoms": 0}
    assert not fuse(frames, contrast="restored", **exact).labels.any()
    assert 0.2 < fuse(frames, contrast="normalised", **exact).labels.mean() < 0.8


@pytest.mark.parametrize("n_frames", [2, 5])
def test_labels_and_confidence_have_valid_values(rng, small, n_frames):
    result = fuse(random_frames(rng, n_frames, channels=3), dictionary=small)
    assert result.labels.shape == result.confidence.shape == SHAPE
    assert set(np.unique(result.labels)) <= set(range(n_frames))
    assert result.confidence.dtype == np.float32
    assert (result.confidence >= np.float32(1 / n_frames)).all()
    assert (result.confidence <= 1).all()


def test_pixels_with_full_confidence_are_copied(rng, small):
    frames = random_frames(rng, 2, channels=3, dtype=np.float32)
    frames[0, :, :9] *= 0.01
    result = fuse(frames, dictionary=small, max_atoms=0)
    sure = result.confidence == 1
    assert sure.any()
    assert not sure.all()
    source = np.where(result.labels[..., None] == 1, frames[1], frames[0])
    np.testing.assert_array_equal(result.image[sure], source[sure])


def test_channels_share_the_decision_on_grey(rng, small):
    grey = random_frames(rng, 2, dtype=np.uint8)
    colour = np.stack([grey] * 3, axis=3)
    one, three = fuse(grey, dictionary=small), fuse(colour, dictionary=small)
    np.testing.assert_array_equal(three.labels, one.labels)
    for channel in range(3):
        np.testing.assert_array_equal(three.image[..., channel], one.image)


def test_alpha_is_composed_but_does_not_decide(rng, small):
    frames = random_frames(rng, 2, channels=4)
    with_alpha, without = fuse(frames, dictionary=small), fuse(frames[..., :3], dictionary=small)
    np.testing.assert_array_equal(with_alpha.labels, without.labels)
    np.testing.assert_array_equal(with_alpha.image[..., :3], without.image)


def test_order_of_frames_only_renames_the_labels(rng, small):
    frames = random_frames(rng, 3, dtype=np.uint16)
    result = fuse(frames, dictionary=small)
    for order in itertools.permutations(range(3)):
        other = fuse(frames[list(order)], dictionary=small)
        np.testing.assert_array_equal(other.image, result.image)
        np.testing.assert_array_equal(other.confidence, result.confidence)
        clear = result.confidence > 0.5  # more than half: no other frame can tie
        np.testing.assert_array_equal(np.array(order)[other.labels][clear], result.labels[clear])


def test_8_and_16_bit_frames_have_the_same_labels(rng, small):
    frames = random_frames(rng, 2, channels=3, dtype=np.uint8)
    narrow, wide = fuse(frames, dictionary=small), fuse(frames.astype(np.uint16) * 257, dictionary=small)
    np.testing.assert_array_equal(narrow.labels, wide.labels)
    np.testing.assert_array_equal(narrow.confidence, wide.confidence)
    np.testing.assert_allclose(wide.image / 257, narrow.image, atol=0.51)


@pytest.mark.parametrize("stride", [1, 3, 8])
def test_every_pixel_is_decided_at_every_stride(rng, stride):
    frames = random_frames(rng, 2, dtype=np.uint8)
    frames[:, 0, 0], frames[:, -1, -1] = 7, 9
    result = fuse(frames, stride=stride)
    assert np.isfinite(result.confidence).all()
    assert result.confidence.min() >= 0.5
    assert (result.image[0, 0], result.image[-1, -1]) == (7, 9)


def test_frame_of_one_patch_is_copied(rng):
    frames = random_frames(rng, 2, shape=(8, 8))
    result = fuse(frames)
    np.testing.assert_array_equal(result.image, frames[result.labels[0, 0]])
    assert (result.confidence == 1).all()


@pytest.fixture(scope="module")
def reference(two_halves):
    frames = np.stack([two_halves[0]] * 3, axis=3).astype(np.float32)[:, :40, :53]
    frames = np.concatenate([frames, frames[::-1, ::-1]])
    return frames, fuse(frames)


@pytest.mark.parametrize("patches", [1, 100])
def test_block_size_changes_no_bit(reference, monkeypatch, patches):
    frames, expected = reference
    monkeypatch.setattr(_patchwise, "PATCHES_PER_BLOCK", patches)
    assert_same_result(fuse(frames), expected)


@pytest.mark.parametrize("name", ["levels2", "levels3"])
@pytest.mark.parametrize("contrast", ["restored", "normalised"])
def test_sharp_halves_are_found(two_halves, name, contrast):
    frames, truth = two_halves
    result = fuse(as_dtype(frames, np.uint8), dictionary=CoupledDictionary.default(name), contrast=contrast)
    away = np.abs(np.arange(120) - 59.5) > 8
    right = (result.labels == truth)[:, away].mean()
    assert right > (0.97 if contrast == "restored" else 0.9)


def test_fused_image_is_closer_to_the_truth_than_any_frame(two_halves):
    frames, truth = two_halves
    sharp = np.where(truth == 1, frames[1], frames[0])
    errors = [np.mean((image - sharp) ** 2) for image in (fuse(frames).image, *frames)]
    assert errors[0] < 0.05 * min(errors[1:])


def test_lytro_pair_is_fused_from_both_frames(data_dir):
    frames = []
    for name in "AB":
        with Image.open(data_dir / "lytro" / f"lytro-01-{name}.jpg") as picture:
            frames.append(np.asarray(picture)[100:260, 150:350])
    frames = np.stack(frames)
    result = fuse(frames)
    assert 0.05 < result.labels.mean() < 0.95
    assert result.confidence.mean() > 0.8

    def detail(image):
        return np.abs(np.diff(image.astype(float).mean(axis=2), axis=0)).mean()

    assert detail(result.image) > max(detail(frame) for frame in frames)


def test_limits_of_the_settings_are_allowed(rng, small):
    frames = random_frames(rng, 2)
    for settings in ({"w": 0.5}, {"w": 0.99}, {"eps": 1e-6}, {"eps": 0.99}, {"stride": 4}):
        assert np.isfinite(fuse(frames, dictionary=small, **settings).image).all()


def test_two_levels_have_weights_w_and_one_minus_w():
    np.testing.assert_allclose(level_weights(0.55, 2), [0.55, 0.45], rtol=1e-6)


def test_weights_of_more_levels_fall_in_equal_steps():
    np.testing.assert_allclose(level_weights(0.6, 3), [0.6, 0.5, 0.4], rtol=1e-6)
    np.testing.assert_allclose(np.diff(level_weights(0.9, 5)), -0.2, rtol=1e-5)


def test_weight_of_one_half_treats_levels_equally():
    np.testing.assert_array_equal(level_weights(0.5, 4), 0.5)


@pytest.mark.parametrize("w", [0.49, 1.0, -1, np.nan])
def test_weight_out_of_range_is_rejected(w):
    with pytest.raises(InputError) as caught:
        level_weights(w, 2)
    assert caught.value.facts["setting"] == "w"


@pytest.mark.parametrize("n_levels", [2, 3])
def test_activity_is_the_weighted_sum_of_l1_norms(rng, n_levels):
    l1 = rng.random((n_levels, 50)).astype(np.float32)
    before = l1.copy()
    weights = level_weights(0.7, n_levels)
    activity = weighted_activity(l1, weights)
    assert activity.dtype == np.float32
    np.testing.assert_allclose(activity, weights.astype(np.float64) @ l1, rtol=1e-6)
    np.testing.assert_array_equal(l1, before)


def test_activity_of_a_patch_does_not_depend_on_other_patches(rng):
    l1 = rng.random((3, 50)).astype(np.float32)
    weights = level_weights(0.7, 3)
    whole = weighted_activity(l1, weights)
    np.testing.assert_array_equal(whole[17:31], weighted_activity(l1[:, 17:31], weights))
