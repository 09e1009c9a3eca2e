"""Reach of a pixel's result, measured with stand-ins that respond to any change, compared with the halo."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from panfocus.decide.reblur import LogOdds
from panfocus.methods import Tile, _bright_field, _never_in_focus, get_method, panfocus

CHANGED = 300  # columns from about here on are modified


def odds_of_pixels(frames, **settings):
    """Yield log odds that depend on one pixel and are nearly even, so that every change shows."""
    for a, b in pairwise(frames):
        odds = (b - a)[0] / 1000
        yield LogOdds(odds, odds, np.full_like(odds, 0.5))


def any_bit(gray, rows, cols, dictionary, noise):
    """Return a number for each patch that changes with any bit of it."""
    bits = np.ascontiguousarray(gray).view(np.int32) % 251
    size = dictionary.patch_size
    patches = sliding_window_view(bits, (size, size))[rows[:, None], cols]
    return (patches.sum(axis=(2, 3)) % 251 / 251).astype(np.float32)


def any_plane(chances):
    """Return a frame for each pixel that changes with any bit of the probabilities."""
    bits = np.ascontiguousarray(chances).view(np.int32) % 251
    return bits.sum(axis=0) % len(chances), chances[0]


@pytest.fixture
def shares(monkeypatch):
    """Install the stand-ins; return the shares of blurred patches before they are thresholded."""
    recorded = []

    def record(*arguments):
        recorded.append(interpolate(*arguments))
        return recorded[-1]

    interpolate = _never_in_focus._interpolate
    monkeypatch.setattr(_never_in_focus, "_interpolate", record)
    monkeypatch.setattr(_never_in_focus, "_blurred_patches", any_bit)
    monkeypatch.setattr(panfocus, "log_odds", odds_of_pixels)
    monkeypatch.setattr(panfocus, "log_odds_reach", lambda noise, clipping: 0)
    monkeypatch.setattr(_bright_field, "most_probable", any_plane)
    return recorded


def farthest(surveyed, frames, shares, offsets):
    """Return the distance from a changed column to the farthest affected one, for each result."""

    def results(frames):
        shares.clear()
        result = surveyed.fuse(frames, Tile.whole(frames.shape[1:3]))
        return {"image": result.image, "depth": result.depth, "share": shares[0]}

    before, reached = results(frames), dict.fromkeys(("image", "depth", "share"), 0)
    for column in range(CHANGED, CHANGED + offsets):  # at every offset from the grid of patches
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
def test_halo_is_the_reach_and_little_more(shares, quality, front, scale, spare):
    rng = np.random.default_rng(0)
    frames = rng.normal(0.5, 0.1, (3, 40, CHANGED + 200)).astype(np.float32)
    surveyed = get_method("panfocus", quality=quality, front=front, noise=0.5).survey(frames)
    surveyed = dataclasses.replace(surveyed, scale=scale, dark=0.0, span=1.0)
    reached = farthest(surveyed, frames, shares, 8 * scale)
    assert surveyed.halo - spare <= max(reached.values()) <= surveyed.halo
    # Gathering 6 and 42 pixels, coupling 30.
    assert reached["depth"] == 78
    # Gathering 6 and 15 pixels, seams 10, minus rounding. With a known front 6 + 42 + 8 and seams.
    assert 30 <= reached["image"] <= 31 if front == "unknown" else 60 < reached["image"] <= 66


@pytest.mark.parametrize("front", ["unknown", "first"])
def test_halo_of_bright_field_is_the_reach_and_little_more(shares, front):
    rng = np.random.default_rng(0)
    frames = rng.normal(0.5, 0.1, (3, 20, CHANGED + 400)).astype(np.float32)
    surveyed = get_method("panfocus", front=front, noise=0.5, bright_field="on").survey(frames)
    surveyed = dataclasses.replace(surveyed, scale=1, dark=0.0, span=1.0, depth_of_field=1.0)
    reached = farthest(surveyed, frames, shares, 8)
    assert surveyed.halo - 9 <= max(reached.values()) <= surveyed.halo
    # High pass 3, gathering 6, the prior 198, coupling 30.
    assert reached["depth"] == 237
    # High pass 3, gathering 6, the prior 198, seams 10; with a known front 8 more.
    assert reached["image"] == (217 if front == "unknown" else 225)


@pytest.mark.parametrize(("bright_field", "spare"), [("off", 40), ("on", 120)])
def test_only_pixels_within_the_halo_change_the_result(bright_field, spare):
    # Without stand-ins: faint frames, where small changes matter, and a tile of one column.
    rng = np.random.default_rng(1)
    frames = (0.5 + 0.01 * rng.normal(size=(3, 60, 500))).astype(np.float32)
    surveyed = get_method("panfocus", noise=0.5, bright_field=bright_field).survey(frames)
    surveyed = dataclasses.replace(surveyed, dark=0.0, span=1.0)

    def fuse(frames):
        return surveyed.fuse(
            frames, Tile((slice(0, 60), slice(0, 1)), (slice(0, 60), slice(0, 500)), (60, 500))
        )

    before = fuse(frames)
    for column, same in ((surveyed.halo + 1, True), (surveyed.halo - spare, False)):
        changed = frames.copy()
        changed[:, :, column:] = rng.normal(0.5, 10, changed[:, :, column:].shape)
        after = fuse(changed)
        equal = [
            np.array_equal(getattr(before, name), getattr(after, name)) for name in ("image", *surveyed.maps)
        ]
        assert all(equal) == same
