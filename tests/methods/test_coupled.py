"""The method `coupled`: against Algorithm 1 written out, and for what it promises of every result."""

import itertools
import re

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter

from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.methods import Tile, _patchwise
from panfocus.methods.coupled import Coupled
from panfocus.simulate import defocused
from panfocus.sparse import batch_omp_plain

SHAPE = (13, 17)
DTYPES = [np.uint8, np.uint16, np.float32, np.float64]


def as_dtype(unit, dtype):
    if np.issubdtype(dtype, np.integer):
        return np.rint(np.iinfo(dtype).max * unit).astype(dtype)
    return unit.astype(dtype)


def random_frames(rng, n_frames, *, channels=None, dtype=np.float64, shape=SHAPE):
    """Textures that have nothing to do with each other: the choice is a new one at every patch."""
    full = (n_frames, *shape) if channels is None else (n_frames, *shape, channels)
    return as_dtype(rng.random(full), dtype)


def fuse(frames, **settings):
    return Coupled(**settings).fuse(frames, Tile.whole(frames.shape[1:3]))


def assert_same_result(result, expected):
    for name in ("image", "labels", "confidence"):
        np.testing.assert_array_equal(getattr(result, name), getattr(expected, name), err_msg=name)


def algorithm_1(frames, dictionary, *, eps=0.1, w=0.55, stride=1, contrast="restored"):
    """The paper's Algorithm 1 on grey frames, moving patches; returns I0 and the votes."""
    d = dictionary.patch_size
    height, width = frames.shape[1:]
    rows, cols = (sorted({*range(0, side - d, stride), side - d}) for side in (height, width))
    places = [np.s_[r : r + d, c : c + d] for r in rows for c in cols]
    weights = np.linspace(w, 1 - w, dictionary.n_levels)
    activities = []
    for frame in frames:
        X = np.stack([frame[place].ravel() - frame[place].mean() for place in places], axis=1)
        if contrast == "normalised":
            X /= np.linalg.norm(X, axis=0)
        codes = batch_omp_plain(dictionary.matrix, X, max_atoms=d * d, max_sq_error=eps)
        A = np.abs(codes.dense(dictionary.matrix.shape[1])).reshape(dictionary.n_levels, -1, len(places))
        activities.append(weights @ A.sum(axis=1))
    total, cover, votes = np.zeros((height, width)), np.zeros((height, width)), np.zeros(frames.shape)
    for place, winner in zip(places, np.argmax(activities, axis=0), strict=True):
        total[place] += frames[winner][place]
        cover[place] += 1
        votes[winner][place] += 1
    return total / cover, votes


@pytest.fixture(scope="module")
def small():
    """Two levels of 20 atoms of 4 x 4 pixels."""
    rng = np.random.default_rng(6)
    tiles = gaussian_filter(rng.standard_normal((20, 4, 4)), (0, 0.4, 0.4))
    levels = np.stack([tiles, gaussian_filter(tiles, (0, 1, 1))]).reshape(2, 20, 16).transpose(0, 2, 1)
    levels = levels - levels.mean(axis=1, keepdims=True)
    levels /= np.linalg.norm(levels, axis=1, keepdims=True)
    return CoupledDictionary(levels.astype(np.float32))


@pytest.fixture(scope="module")
def two_halves():
    """A texture, frame 0 out of focus on the left of column 60, frame 1 on the right; and who is sharp."""
    rng = np.random.default_rng(7)
    sharp = gaussian_filter(rng.random((72, 120)), 0.7)
    sharp = (sharp - sharp.min()) / (sharp.max() - sharp.min())
    soft = defocused(sharp, 2.5)
    left = np.arange(120) < 60
    frames = np.stack([np.where(left, soft, sharp), np.where(left, sharp, soft)])
    return frames, np.broadcast_to(left.astype(int), sharp.shape)


@pytest.mark.parametrize(
    "settings",
    [{}, {"stride": 3}, {"stride": 4, "eps": 0.01}, {"w": 0.8}, {"contrast": "normalised"}],
    ids=str,
)
def test_image_labels_and_confidence_are_those_of_algorithm_1(rng, small, settings):
    frames = random_frames(rng, 3)
    result = fuse(frames, dictionary=small, **settings)
    image, votes = algorithm_1(frames, small, **settings)
    np.testing.assert_allclose(result.image, image, rtol=1e-12)
    np.testing.assert_array_equal(result.labels, votes.argmax(axis=0))
    np.testing.assert_allclose(result.confidence, votes.max(axis=0) / votes.sum(axis=0), rtol=1e-6)


@pytest.mark.parametrize("name", ["levels2", "levels3"])
def test_the_shipped_dictionaries_fuse_as_algorithm_1_says(rng, name):
    frames = random_frames(rng, 2)
    shipped = CoupledDictionary.default(name)
    np.testing.assert_allclose(
        fuse(frames, dictionary=shipped).image, algorithm_1(frames, shipped)[0], rtol=1e-12
    )


def test_the_shipped_dictionary_is_the_default(rng):
    frames = random_frames(rng, 2)
    shipped = fuse(frames, dictionary=CoupledDictionary.default())
    np.testing.assert_array_equal(fuse(frames).image, shipped.image)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [None, 3])
def test_equal_frames_give_that_frame(rng, small, dtype, channels):
    frame = random_frames(rng, 1, channels=channels, dtype=dtype)[0]
    result = fuse(np.stack([frame] * 3), dictionary=small)
    np.testing.assert_array_equal(result.image, frame)
    assert result.image.dtype == dtype
    assert not result.labels.any()
    assert (result.confidence == np.float32(1 / 3)).all()  # no frame is ahead of the others


@pytest.mark.parametrize("dtype", DTYPES)
def test_frames_without_contrast_fuse_to_their_mean(small, dtype):
    frames = np.stack([np.full(SHAPE, as_dtype(np.array(value), dtype)) for value in (0.2, 0.4, 0.9)])
    result = fuse(frames, dictionary=small)
    np.testing.assert_allclose(result.image, as_dtype(np.array(0.5), dtype), rtol=1e-15)
    assert not result.labels.any()


@pytest.mark.parametrize("contrast", ["restored", "normalised"])
def test_any_contrast_beats_none(rng, small, contrast):
    flat = np.full(SHAPE, 0.5)
    textured = 0.5 + 0.01 * rng.random(SHAPE)
    result = fuse(np.stack([flat, textured]), dictionary=small, contrast=contrast)
    np.testing.assert_array_equal(result.image, textured)


def test_the_readings_differ_in_whether_contrast_counts(rng, small):
    texture = rng.random((2, *SHAPE))
    frames = np.stack([texture[0], 0.1 * texture[1]])
    assert not fuse(frames, dictionary=small, contrast="restored").labels.any()
    assert 0.2 < fuse(frames, dictionary=small, contrast="normalised").labels.mean() < 0.8


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [None, 1, 2, 3, 4])
def test_pixels_stay_within_the_range_of_the_frames(rng, small, dtype, channels):
    frames = random_frames(rng, 4, channels=channels, dtype=dtype)
    result = fuse(frames, dictionary=small)
    assert result.image.shape == frames.shape[1:]
    assert result.image.dtype == dtype
    assert (result.image >= frames.min(axis=0)).all()
    assert (result.image <= frames.max(axis=0)).all()


@pytest.mark.parametrize("n_frames", [2, 5])
def test_labels_and_confidence_have_the_shape_of_a_plane_and_sane_values(rng, small, n_frames):
    result = fuse(random_frames(rng, n_frames, channels=3), dictionary=small)
    assert result.labels.shape == result.confidence.shape == SHAPE
    assert set(np.unique(result.labels)) <= set(range(n_frames))
    assert result.confidence.dtype == np.float32
    assert (result.confidence >= np.float32(1 / n_frames)).all()
    assert (result.confidence <= 1).all()


def test_sure_pixels_are_their_frames_own(rng, small):
    frames = random_frames(rng, 2, channels=3, dtype=np.float32)
    frames[0, :, :9] *= 0.01
    result = fuse(frames, dictionary=small)
    sure = result.confidence == 1
    assert sure.any()
    assert not sure.all()
    source = np.where(result.labels[..., None] == 1, frames[1], frames[0])
    np.testing.assert_array_equal(result.image[sure], source[sure])


def test_colour_is_decided_on_grey_and_composed_alike(rng, small):
    grey = random_frames(rng, 2, dtype=np.uint8)
    colour = np.stack([grey] * 3, axis=3)
    one, three = fuse(grey, dictionary=small), fuse(colour, dictionary=small)
    np.testing.assert_array_equal(three.labels, one.labels)
    for channel in range(3):
        np.testing.assert_array_equal(three.image[..., channel], one.image)


def test_alpha_is_composed_but_has_no_say(rng, small):
    frames = random_frames(rng, 2, channels=4)
    with_alpha, without = fuse(frames, dictionary=small), fuse(frames[..., :3], dictionary=small)
    np.testing.assert_array_equal(with_alpha.labels, without.labels)
    np.testing.assert_array_equal(with_alpha.image[..., :3], without.image)


def test_the_order_of_the_frames_only_renames_the_labels(rng, small):
    frames = random_frames(rng, 3, dtype=np.uint16)
    result = fuse(frames, dictionary=small)
    for order in itertools.permutations(range(3)):
        other = fuse(frames[list(order)], dictionary=small)
        np.testing.assert_array_equal(other.image, result.image)
        np.testing.assert_array_equal(other.confidence, result.confidence)
        clear = result.confidence > 0.5  # a majority, which no other frame can share
        np.testing.assert_array_equal(np.array(order)[other.labels][clear], result.labels[clear])


def test_8_bit_frames_and_the_same_in_16_bit_give_the_same_labels(rng, small):
    frames = random_frames(rng, 2, channels=3, dtype=np.uint8)
    narrow, wide = fuse(frames, dictionary=small), fuse(frames.astype(np.uint16) * 257, dictionary=small)
    np.testing.assert_array_equal(narrow.labels, wide.labels)
    np.testing.assert_array_equal(narrow.confidence, wide.confidence)
    np.testing.assert_allclose(wide.image / 257, narrow.image, atol=0.51)


@pytest.mark.parametrize("stride", range(1, 9))
def test_every_pixel_is_decided_at_every_stride(rng, stride):
    frames = random_frames(rng, 2, dtype=np.uint8)
    frames[:, 0, 0], frames[:, -1, -1] = 7, 9
    result = fuse(frames, stride=stride)
    assert np.isfinite(result.confidence).all()
    assert result.confidence.min() >= 0.5
    assert (result.image[0, 0], result.image[-1, -1]) == (7, 9)


def test_a_frame_of_exactly_one_patch_is_taken_whole(rng):
    frames = random_frames(rng, 2, shape=(8, 8))
    result = fuse(frames)
    np.testing.assert_array_equal(result.image, frames[result.labels[0, 0]])
    assert (result.confidence == 1).all()


def test_frames_are_not_written_to(rng, small):
    frames = random_frames(rng, 2)
    frames.flags.writeable = False
    fuse(frames, dictionary=small)


@pytest.fixture(scope="module")
def reference(two_halves):
    frames = np.stack([two_halves[0]] * 3, axis=3).astype(np.float32)[:, :40, :53]
    frames = np.concatenate([frames, frames[::-1, ::-1]])
    return frames, fuse(frames)


@pytest.mark.parametrize("patches", [1, 100, 10**9])
def test_blocks_of_patches_do_not_change_a_bit(reference, monkeypatch, patches):
    frames, expected = reference
    monkeypatch.setattr(_patchwise, "PATCHES_PER_BLOCK", patches)
    assert_same_result(fuse(frames), expected)


@pytest.mark.parametrize("name", ["levels2", "levels3"])
@pytest.mark.parametrize("contrast", ["restored", "normalised"])
def test_the_sharp_halves_are_found(two_halves, name, contrast):
    frames, truth = two_halves
    result = fuse(as_dtype(frames, np.uint8), dictionary=CoupledDictionary.default(name), contrast=contrast)
    away = np.abs(np.arange(120) - 59.5) > 8
    right = (result.labels == truth)[:, away].mean()
    assert right > (0.97 if contrast == "restored" else 0.9)


def test_the_fused_halves_are_nearer_the_truth_than_either_frame(two_halves):
    frames, truth = two_halves
    sharp = np.where(truth == 1, frames[1], frames[0])
    errors = [np.mean((image - sharp) ** 2) for image in (fuse(frames).image, *frames)]
    assert errors[0] < 0.05 * min(errors[1:])


def test_a_lytro_pair_takes_its_share_from_both_frames(data_dir):
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


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"eps": 0.0}, "eps must lie between 0 and 1, got 0.0"),
        ({"eps": 1.0}, "eps must lie between 0 and 1, got 1.0"),
        ({"eps": float("nan")}, "eps must lie between 0 and 1, got nan"),
        ({"w": 0.49}, "w must be at least 0.5 and below 1, got 0.49"),
        ({"w": 1.0}, "w must be at least 0.5 and below 1, got 1.0"),
        ({"stride": 0}, "stride must be at least 1, got 0"),
        ({"contrast": "lost"}, "contrast must be one of restored, normalised, got 'lost'"),
        ({"dictionary": "a.npz"}, "dictionary must be a CoupledDictionary, got 'a.npz'"),
        (
            {"dictionary": CoupledDictionary.default("ksvd")},
            "the method coupled needs a dictionary of two or more levels, got 1 level of 256 atoms",
        ),
    ],
)
def test_settings_out_of_range_are_refused_at_once(settings, words):
    with pytest.raises(InputError, match=re.escape(words)):
        Coupled(**settings)


def test_the_ends_of_the_ranges_are_allowed(rng, small):
    frames = random_frames(rng, 2)
    for settings in ({"w": 0.5}, {"w": 0.99}, {"eps": 1e-6}, {"eps": 0.99}, {"stride": 4}):
        assert np.isfinite(fuse(frames, dictionary=small, **settings).image).all()


def test_a_patch_larger_than_the_image_is_refused(rng):
    words = "patches of 8 x 8 pixels do not fit into an image side of 7 pixels"
    for shape in ((7, 17), (13, 7)):
        with pytest.raises(InputError, match=words):
            fuse(random_frames(rng, 2, shape=shape))


def test_a_stride_beyond_the_patch_is_refused(rng, small):
    with pytest.raises(InputError, match="stride must be between 1 and the patch size 4, got 5"):
        fuse(random_frames(rng, 2), dictionary=small, stride=5)
