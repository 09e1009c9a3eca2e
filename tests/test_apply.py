"""`pf.apply`: compose other frames by the decisions of a fusion."""

import dataclasses

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import panfocus as pf
from panfocus.io.disk_array import scratch_frames
from panfocus.result import FusionResult


@pytest.fixture(scope="module")
def frames():
    """Four colour frames (4, 70, 90, 3), each sharp in a quarter of the width."""
    rng = np.random.default_rng(5)
    sharp = gaussian_filter(rng.random((70, 90, 3)), (0.6, 0.6, 0))
    stack = []
    for k in range(4):
        blur = [gaussian_filter(sharp, (s, s, 0)) if s else sharp for s in (0, 1, 2, 3)]
        distance = np.abs(np.arange(90) * 4 // 90 - k)
        stack.append(np.choose(distance[None, :, None], blur))
    return np.rint(255 * np.array(stack)).astype(np.uint8)


@pytest.mark.parametrize("composition", ["blend", "labels"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_applying_to_the_fused_frames_gives_the_fused_image(frames, composition, dtype):
    given = frames.astype(dtype) / (1 if dtype is np.uint8 else 255)
    result = pf.fuse(given, maps=("votes",), composition=composition)
    np.testing.assert_array_equal(pf.apply(result, given), result.image)


def test_applying_does_not_use_the_exposure_gains_of_the_fused_frames(frames):
    flickering = frames.copy()
    flickering[2] = np.rint(0.8 * frames[2])
    result = pf.fuse(flickering, maps=("votes",))
    assert np.ptp(result.report["exposure"]["gains"]) > 0.2
    other = np.full_like(frames, 100)
    np.testing.assert_array_equal(pf.apply(result, other), other[0])


@pytest.mark.parametrize("method", ["coupled", "sr-cm", "sr-ksvd", "sr-fm"])
def test_applying_works_for_methods_that_vote(frames, method):
    result = pf.fuse(frames, method, maps=("votes",), stride=4)
    np.testing.assert_array_equal(pf.apply(result, frames), result.image)
    plain = pf.fuse(frames, method, stride=4)
    assert plain.votes is None
    np.testing.assert_array_equal(plain.image, result.image)


def test_images_made_of_codes_have_no_votes(frames):
    with pytest.raises(pf.InputError) as caught:
        pf.fuse(frames, "sr-cm", maps=("votes",), stride=4, reconstruct="codes")
    assert caught.value.facts == {"setting": "maps", "got": "votes"}


def test_layers_are_returned_on_request_and_do_not_change_the_result(frames):
    plain = pf.fuse(frames)
    rich = pf.fuse(frames, maps=("labels", "votes", "log_odds"))
    assert plain.votes is None
    assert plain.log_odds is None
    np.testing.assert_array_equal(plain.image, rich.image)
    np.testing.assert_array_equal(plain.labels, rich.labels)
    assert (rich.votes.shape, rich.votes.dtype) == ((4, 70, 90), np.uint16)
    assert (rich.log_odds.shape, rich.log_odds.dtype) == ((3, 70, 90), np.float16)
    # Where frame 1 is sharp, it wins against frame 0, and frame 2 loses against it.
    middle = slice(20, 50), slice(30, 38)
    assert (rich.log_odds[0][middle] > 0).all()
    assert (rich.log_odds[1][middle] < 0).all()
    assert rich.votes[1][middle].sum() > 0.9 * rich.votes[:, *middle].sum()


def test_tiles_threads_and_disk_do_not_change_layers(frames):
    from panfocus.methods import get_method
    from panfocus.tiling.tiled import run_method

    whole = run_method(get_method("panfocus"), frames, maps=("votes", "log_odds"))
    with scratch_frames((4, 70, 90), np.dtype(np.uint16)) as votes:
        tiled = run_method(
            get_method("panfocus"), frames, maps=("votes",), side=37, allocate=lambda shape, dtype: votes
        )
        assert tiled.votes is votes
        np.testing.assert_array_equal(votes[:], whole.votes)
        again = pf.apply(tiled, frames, threads=1)
    np.testing.assert_array_equal(again, whole.image)
    tiled = run_method(get_method("panfocus"), frames, maps=("log_odds",), side=37)
    np.testing.assert_array_equal(tiled.log_odds, whole.log_odds)


def test_other_channels_keep_their_type(frames):
    """Each frame is constant, so the image is the mean of the constants weighted by the votes."""
    result = pf.fuse(frames, maps=("votes", "labels"))
    values = np.array([1000, 3000, 20000, 60000])
    other = np.broadcast_to(values[:, None, None], (4, 70, 90)).astype(np.uint16)
    votes = result.votes.astype(float)
    expected = np.tensordot(values, votes, axes=1) / votes.sum(axis=0)
    applied = pf.apply(result, other)
    assert applied.dtype == np.uint16
    np.testing.assert_allclose(applied, expected, atol=0.5)
    by_labels = pf.apply(dataclasses.replace(result, votes=None), other)
    np.testing.assert_array_equal(by_labels, values[result.labels])


def test_frames_that_do_not_match_the_result_are_rejected(frames):
    result = pf.fuse(frames, maps=("labels",))
    for other in (frames[:3], frames[:, :, 10:]):
        with pytest.raises(pf.InputError) as caught:
            pf.apply(result, other)
        assert caught.value.facts == {"needed": (4, 70, 90), "got": other.shape[:3]}
    with pytest.raises(pf.InputError):
        pf.apply(FusionResult(result.image), frames)


def test_rectangle_is_written_at_its_place(rng):
    expected = np.zeros((3, 13, 17, 2), np.uint16)
    with scratch_frames(expected.shape, expected.dtype) as frames:
        for k in range(3):
            frames[k] = expected[k]
        part = rng.integers(0, 60000, (5, 4, 2)).astype(np.uint16)
        for array in (expected, frames):
            array[1, slice(3, 8), slice(11, 15)] = part
            array[2, slice(3, 8), slice(0, 17)] = np.repeat(part, 5, axis=1)[:, :17]
        np.testing.assert_array_equal(frames[:], expected)
