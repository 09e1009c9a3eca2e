"""Fusion in slabs: how a stack is divided, and that labels and depth count its frames."""

from contextlib import ExitStack

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import panfocus as pf
from panfocus.io.disk_array import scratch_allocator
from panfocus.methods import get_method
from panfocus.pipeline import process_stack
from panfocus.slabs import slab_spans
from panfocus.stack import Chosen, Stack

N, WIDTH = 9, 270


@pytest.fixture(scope="module")
def stack():
    """Nine frames; column x is sharp in frame x // 30, and blur grows with the distance from it."""
    rng = np.random.default_rng(2)
    sharp = gaussian_filter(rng.random((60, WIDTH)), 0.6)
    blurred = np.array([gaussian_filter(sharp, 0.9 * s) if s else sharp for s in range(N)])
    columns = np.arange(WIDTH)
    frames = [blurred[np.abs(columns * N // WIDTH - k), :, columns].T for k in range(N)]
    return np.rint(255 * np.array(frames)).astype(np.uint8)


@pytest.mark.parametrize(
    ("n", "size", "overlap", "spans"),
    [
        (10, 4, 1, [(0, 4), (3, 7), (6, 10)]),
        (9, 4, 1, [(0, 4), (3, 7), (5, 9)]),
        (4, 2, 0, [(0, 2), (2, 4)]),
        (5, 4, 3, [(0, 4), (1, 5)]),
    ],
)
def test_slabs_of_full_size_cover_the_stack(n, size, overlap, spans):
    assert [(span.start, span.stop) for span in slab_spans(n, size, overlap)] == spans


@pytest.mark.parametrize(("n", "size", "overlap"), [(4, 4, 1), (9, 1, 0), (9, 4, 4), (9, 4, -1)])
def test_impossible_slabs_are_rejected(n, size, overlap):
    with pytest.raises(pf.InputError):
        slab_spans(n, size, overlap)


def test_labels_and_depth_count_the_frames_of_the_stack(stack):
    by_slabs = pf.fuse(stack, slabs=(4, 1))
    truth = np.arange(WIDTH) * N // WIDTH
    # At the borders of the strips the truth is uncertain by some pixels.
    inside = np.abs(np.arange(WIDTH) % 30 - 14.5) < 8
    labels = by_slabs.labels[:, inside]
    assert np.mean(labels == truth[inside]) > 0.97
    assert np.mean(np.abs(by_slabs.depth[:, inside] - truth[inside])) < 0.25
    assert by_slabs.report["frames"] == N
    shares = np.bincount(by_slabs.labels.ravel(), minlength=N) / by_slabs.labels.size
    np.testing.assert_allclose(by_slabs.report["frame_shares"], shares, atol=1e-6)
    assert by_slabs.confidence is None


def test_slabs_are_fused_first_and_then_their_images(stack):
    by_slabs = pf.fuse(stack, slabs=(4, 1))
    spans = [(part["first"], part["last"]) for part in by_slabs.report["slabs"]]
    assert spans == [(0, 3), (3, 6), (5, 8)]
    for slab, (first, last) in zip(by_slabs.slabs, spans, strict=True):
        np.testing.assert_array_equal(slab, pf.fuse(stack[first : last + 1]).image)
    np.testing.assert_array_equal(by_slabs.image, pf.fuse(by_slabs.slabs).image)


def test_frames_and_slabs_on_disk_give_the_same_bits(stack):
    expected = pf.fuse(stack, slabs=(4, 2))
    with ExitStack() as scratch:
        allocate = scratch_allocator(scratch)
        on_disk = allocate(stack.shape, stack.dtype)
        for k, frame in enumerate(stack):
            on_disk[k] = frame
        frames = Stack(on_disk, tuple(f"frame {k}" for k in range(N)))
        found = process_stack(frames, get_method("panfocus"), slabs=(4, 2), allocate=allocate, threads=1)
        np.testing.assert_array_equal(found.result.image, expected.image)
        np.testing.assert_array_equal(found.result.labels, expected.labels)
        np.testing.assert_array_equal(found.result.depth, expected.depth)
        np.testing.assert_array_equal(found.result.slabs[:], expected.slabs)


def test_method_without_labels_can_be_fused_in_slabs(stack):
    found = pf.fuse(stack, "dwt", slabs=(5, 1))
    assert (found.labels, found.depth) == (None, None)
    np.testing.assert_array_equal(found.slabs[1], pf.fuse(stack[4:], "dwt").image)


def test_selected_frames_are_indexed_like_an_array(rng):
    frames = rng.random((7, 5, 6))
    part = Chosen(frames, range(2, 6))
    assert (part.shape, len(part), part.ndim, part.dtype) == ((4, 5, 6), 4, 3, frames.dtype)
    np.testing.assert_array_equal(part[:], frames[2:6])
    np.testing.assert_array_equal(part[1:3], frames[3:5])
    np.testing.assert_array_equal(part[-1], frames[5])
    np.testing.assert_array_equal(part[1, 2:4, 3:5], frames[3, 2:4, 3:5])
    np.testing.assert_array_equal(part[:, 2:4, 3:5], frames[2:6, 2:4, 3:5])
