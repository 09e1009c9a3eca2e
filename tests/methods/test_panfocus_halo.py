"""How far a pixel's result reaches, with stand-ins that hide nothing: the halo is that, and little more."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from panfocus.decide.reblur import LogOdds
from panfocus.methods import Tile, _never_in_focus, get_method, panfocus

CHANGED = 300  # columns from about here on are changed


def odds_of_pixels(frames, *, noise):
    """Log odds that depend on a pixel alone and are nearly even, so that what changes them shows."""
    for a, b in pairwise(frames):
        odds = (b - a)[0] / 1000
        yield LogOdds(odds, odds, np.full_like(odds, 0.5))


def any_bit(gray, rows, cols, dictionary, noise):
    """A number for each patch that is another one if a single bit of it is, but by chance."""
    bits = np.ascontiguousarray(gray).view(np.int32) % 251
    size = dictionary.patch_size
    patches = sliding_window_view(bits, (size, size))[rows[:, None], cols]
    return (patches.sum(axis=(2, 3)) % 251 / 251).astype(np.float32)


@pytest.fixture
def shares(monkeypatch):
    """The stand-ins; returns shares of blurred patches, from before they are compared with the threshold."""
    found = []

    def between(*arguments):
        found.append(interpolated(*arguments))
        return found[-1]

    interpolated = _never_in_focus._between
    monkeypatch.setattr(_never_in_focus, "_between", between)
    monkeypatch.setattr(_never_in_focus, "_blurred_patches", any_bit)
    monkeypatch.setattr(panfocus, "log_odds", odds_of_pixels)
    monkeypatch.setattr(panfocus, "log_odds_reach", lambda noise: 0)
    return found


def farthest(surveyed, frames, shares, offsets):
    """Pixels from a changed column to the farthest one that notices, by what is found there."""

    def results(frames):
        shares.clear()
        result = surveyed.fuse(frames, Tile.whole(frames.shape[1:3]))
        return {"image": result.image, "depth": result.depth, "share": shares[0]}

    before, reached = results(frames), dict.fromkeys(("image", "depth", "share"), 0)
    for column in range(CHANGED, CHANGED + offsets):  # wherever it lies on the grid of patches
        changed = frames.copy()
        changed[1, :, column:] += 100
        for name, after in results(changed).items():
            first = np.flatnonzero((after != before[name]).any(axis=0))[0]
            reached[name] = max(reached[name], column - first)
    return reached


@pytest.mark.parametrize(
    ("quality", "front", "scale", "spare"),
    [
        ("high", "unknown", 1, 9),
        ("exact", "unknown", 1, 8),
        ("high", "last", 1, 12),
        ("high", "unknown", 2, 16),
    ],
)
def test_the_halo_is_as_far_as_anything_reaches_and_little_more(shares, quality, front, scale, spare):
    rng = np.random.default_rng(0)
    frames = rng.normal(0.5, 0.1, (3, 40, CHANGED + 200)).astype(np.float32)
    surveyed = get_method("panfocus", quality=quality, front=front, noise=0.5).survey(frames)
    surveyed = dataclasses.replace(surveyed, scale=scale, dark=0.0, span=1.0)
    reached = farthest(surveyed, frames, shares, 8 * scale)
    assert surveyed.halo - spare <= max(reached.values()) <= surveyed.halo
    # Gathering 6 and 42 pixels, coupling 30.
    assert reached["depth"] == 78
    # Gathering 6 and 15 pixels, seams 10. With the front known 6 and 42, beside it 8: the last bits are lost.
    assert reached["image"] == 31 if front == "unknown" else 60 < reached["image"] <= 66


def test_what_lies_beyond_the_halo_changes_nothing_and_what_lies_within_does():
    """Without stand-ins: faint frames, on which little decides, and the first column of them."""
    rng = np.random.default_rng(1)
    frames = (0.5 + 0.01 * rng.normal(size=(3, 60, 500))).astype(np.float32)
    surveyed = get_method("panfocus", noise=0.5).survey(frames)
    surveyed = dataclasses.replace(surveyed, dark=0.0, span=1.0)

    def found(frames):
        return surveyed.fuse(
            frames, Tile((slice(0, 60), slice(0, 1)), (slice(0, 60), slice(0, 500)), (60, 500))
        )

    before = found(frames)
    for column, same in ((surveyed.halo + 1, True), (surveyed.halo - 40, False)):
        changed = frames.copy()
        changed[:, :, column:] = rng.normal(0.5, 10, changed[:, :, column:].shape)
        after = found(changed)
        equal = [
            np.array_equal(getattr(before, name), getattr(after, name)) for name in ("image", *surveyed.maps)
        ]
        assert all(equal) == same
