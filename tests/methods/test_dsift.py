"""The method `dsift`: its windows, its refinement, and its scores on Lytro."""

import itertools

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from test_dense_sift import descriptors

import panfocus as pf
from panfocus.errors import InputError
from panfocus.io.jpeg_webp import decode_jpeg, encode_jpeg
from panfocus.io.read_stack import read_image
from panfocus.methods import dsift
from panfocus.methods.dsift import DSIFT
from panfocus.tiling.tiled import run_method


def fuse(frames, *, side=10**9, **settings):
    return run_method(DSIFT(**settings), frames, side=side)


def textures(rng, n_frames, shape=(24, 29), *, channels=None):
    full = (n_frames, *shape) if channels is None else (n_frames, *shape, channels)
    return gaussian_filter(rng.random(full), [0, 1, 1, 0][: len(full)])


def scene(sharp_in_second, *, dtype=np.uint8):
    """Return two frames of a texture; the second is sharp where `sharp_in_second`."""
    rng = np.random.default_rng(7)
    sharp = gaussian_filter(rng.random(sharp_in_second.shape), 0.7)
    soft = gaussian_filter(sharp, 2)
    frames = np.stack([np.where(sharp_in_second, soft, sharp), np.where(sharp_in_second, sharp, soft)])
    frames = (frames - sharp.min()) / (sharp.max() - sharp.min())
    return np.rint(255 * frames).astype(dtype) if dtype == np.uint8 else frames.astype(dtype)


def disk(shape, centre, radius):
    rows, cols = np.ogrid[: shape[0], : shape[1]]
    return (rows - centre[0]) ** 2 + (cols - centre[1]) ** 2 < radius**2


@pytest.mark.parametrize(("cell", "window"), [(2, 4), (3, 7), (1, 1)])
def test_without_refinement_winners_of_windows_are_averaged(rng, cell, window):
    frames = textures(rng, 3)
    sums = [descriptors(frame, cell).sum(axis=2) for frame in frames]
    total, votes = np.zeros(frames.shape[1:]), np.zeros(frames.shape, int)
    for y, x in itertools.product(*(range(side - window + 1) for side in frames.shape[1:])):
        place = (slice(y, y + window), slice(x, x + window))
        winner = np.argmax([s[place].sum() for s in sums])
        total[place] += frames[winner][place]
        votes[winner][place] += 1
    result = fuse(frames, cell=cell, window=window, refinement="none")
    np.testing.assert_allclose(result.image, total / votes.sum(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(result.labels, votes.argmax(axis=0))


def test_halo_is_the_reach_of_the_windows():
    # 8 - 1 of the window, 2.5 cells of 6 minus 1, 4 of the smoothing and 1 of the difference.
    assert DSIFT(refinement="none").halo == 7 + 14 + 5
    assert DSIFT().halo is None
    assert DSIFT(refinement="sharpness").halo is None


@pytest.mark.parametrize("refinement", ["matching", "sharpness", "none"])
def test_sharp_halves_are_found(refinement):
    right = np.broadcast_to(np.arange(150) >= 70, (120, 150))
    result = fuse(scene(right), refinement=refinement)
    away = np.abs(np.arange(150) - 69.5) > 5
    np.testing.assert_array_equal(result.labels[:, away], right[:, away])


def test_refinement_improves_boundaries():
    bent = disk((160, 160), (80, 80), 45)
    frames = scene(bent, dtype=np.float64)
    truth = np.where(bent, frames[1], frames[0])
    errors = [
        np.mean((fuse(frames, refinement=r).image - truth) ** 2) for r in ("matching", "sharpness", "none")
    ]
    assert max(errors[:2]) < 0.8 * errors[2]


def test_small_region_is_given_to_the_frame_around_it():
    island = disk((120, 120), (60, 60), 20)  # about 1250 pixels
    frames = scene(island)
    large, removed = fuse(frames, min_region=200), fuse(frames, min_region=3600)
    assert large.labels[50:70, 50:70].all()
    assert not removed.labels.any()
    np.testing.assert_array_equal(removed.image, frames[0])


@pytest.mark.parametrize("refinement", ["sharpness", "none"])
def test_tied_frames_are_averaged(rng, refinement):
    texture = textures(rng, 1)[0]
    # The negative has other pixels, but the same gradient magnitudes and squared differences.
    result = fuse(np.stack([texture, -texture]), refinement=refinement)
    np.testing.assert_allclose(result.image, np.zeros(texture.shape), atol=1e-15)
    assert not result.labels.any()


def test_displaced_details_are_compared_at_their_match():
    # Frame 1 shows a dot two columns to the right and half as bright. On its right, the 7 x 7 square contains
    # only the dot of frame 1; with matching, frame 0 is still the sharper one.
    frames = np.zeros((2, 40, 40))
    frames[0, 20, 18], frames[1, 20, 20] = 1, 0.5
    frames = gaussian_filter(frames, (0, 0.5, 0.5))
    rows, cols = np.array([20, 20]), np.array([16, 23])
    pairs = np.array([[0, 0], [1, 1]])
    assert DSIFT(refinement="sharpness")._leads(frames, rows, cols, pairs).tolist() == [1, -1]
    assert DSIFT(refinement="matching")._leads(frames, rows, cols, pairs).tolist() == [1, 1]


@pytest.mark.parametrize("refinement", ["matching", "sharpness"])
def test_comparison_is_antisymmetric(rng, refinement):
    frames = textures(rng, 3)
    places = np.indices(frames.shape[1:]).reshape(2, -1)
    pairs = np.array(list(itertools.permutations(range(3), 2)))[rng.integers(0, 6, places.shape[1])].T
    method = DSIFT(cell=3, refinement=refinement)
    leads = method._leads(frames, *places, pairs)
    np.testing.assert_array_equal(method._leads(frames, *places, pairs[::-1]), -leads)
    assert set(leads) >= {-1, 1}


def test_local_sharpness_sums_squared_differences(rng):
    gray = rng.random((11, 12))
    square = gray[2:9, 3:10]
    expected = (np.diff(square, axis=0) ** 2).sum() + (np.diff(square, axis=1) ** 2).sum()
    assert dsift.local_sharpness(gray)[5, 6] == pytest.approx(expected)


@pytest.mark.parametrize(("side", "n_frames"), [(37, 2), (64, 4)])
def test_block_size_of_refinement_changes_no_bit(rng, monkeypatch, side, n_frames):
    bent = disk((130, 110), (60, 50), 40)
    frames = scene(bent, dtype=np.float32)
    frames = np.concatenate([frames, frames[:, ::-1]])[:n_frames]
    expected = fuse(frames, min_region=500)
    monkeypatch.setattr(dsift, "BLOCK", side)
    result = fuse(frames, min_region=500)
    np.testing.assert_array_equal(result.image, expected.image)
    np.testing.assert_array_equal(result.labels, expected.labels)


def test_only_the_two_most_active_frames_are_compared(rng):
    # Frames 2 and 3 contain only faint noise; they must not enter the mean where 0 and 1 tie.
    bent = disk((130, 110), (60, 50), 40)
    two = scene(bent, dtype=np.float64)
    faint = 0.5 + 1e-4 * rng.random((2, *bent.shape))
    expected = fuse(two)
    for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
        result = fuse(np.concatenate([two, faint])[order])
        np.testing.assert_array_equal(result.image, expected.image)


def test_contenders_do_not_depend_on_the_order_of_frames():
    activities = np.array([[5, 1, 2, 4, 4], [3, 9, 2, 4, 0], [2, 1, 2, 1, 0], [0, 1, 1, 0, 4]], float)
    two_best, one, three = {0, 1}, {1}, {0, 1, 2}
    expected = [two_best, one, three, {0, 1}, {0, 3}]
    marked = dsift._contenders(activities[:, None])[:, 0]
    assert [set(np.flatnonzero(column)) for column in marked.T] == expected


@pytest.mark.parametrize("refinement", ["matching", "sharpness", "none"])
def test_flat_frames_are_averaged(refinement):
    frames = np.stack([np.full((20, 20), level, np.uint8) for level in (10, 30, 50)])
    result = fuse(frames, refinement=refinement)
    assert (result.image == 30).all()
    assert not result.labels.any()


def test_alpha_does_not_decide(rng):
    frames = textures(rng, 2, channels=4)
    with_alpha, without = fuse(frames, cell=2), fuse(frames[..., :3], cell=2)
    np.testing.assert_array_equal(with_alpha.labels, without.labels)
    np.testing.assert_array_equal(with_alpha.image[..., :3], without.image)


@pytest.mark.parametrize("refinement", ["matching", "none"])
def test_window_larger_than_the_image_is_rejected(rng, refinement):
    with pytest.raises(InputError) as caught:
        fuse(textures(rng, 2, (7, 20)), refinement=refinement)
    assert caught.value.facts == {"setting": "window", "got": 8, "limit": 7}


@pytest.mark.parametrize("refinement", ["matching", "none"])
def test_largest_cells_work_on_a_small_image(rng, refinement):
    frame = textures(rng, 1, (9, 20))[0]
    np.testing.assert_array_equal(fuse(np.stack([frame] * 2), cell=64, refinement=refinement).image, frame)


def test_published_scores_on_lytro_are_reached(data_dir):
    # The published results, stored as JPEG, score NMI 1.129 and Q_AB/F 0.752.
    scores = []
    for i in range(1, 21):
        frames = np.stack([read_image(data_dir / "lytro" / f"lytro-{i:02d}-{part}.jpg") for part in "AB"])
        fused = decode_jpeg(encode_jpeg(fuse(frames).image, quality=75)).image
        *sources, result = (pf.metrics.matlab_gray(image) for image in (*frames, fused))
        scores.append((pf.metrics.nmi(sources, result), pf.metrics.qabf(sources, result)))
    nmi, qabf = np.mean(scores, axis=0)
    assert nmi >= 1.12
    assert qabf >= 0.750
