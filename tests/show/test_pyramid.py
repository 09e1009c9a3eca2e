"""Levels of a pyramid, compared with blocks combined one by one."""

import numpy as np
import pytest

from panfocus.show.pyramid import (
    TILE,
    halve,
    halved_length,
    n_levels,
    strips,
    update_smaller_levels,
    write_smaller_levels,
)


def block_by_block(values, how):
    """Halve values in plain Python; integers exactly."""
    height, width = values.shape[:2]
    out = np.empty((-(-height // 2), -(-width // 2), *values.shape[2:]), values.dtype)
    for y, x, *channel in np.ndindex(out.shape):
        block = [
            values[v, u, *channel]
            for v in range(2 * y, min(2 * y + 2, height))
            for u in range(2 * x, min(2 * x + 2, width))
        ]
        if how == "nearest":
            out[y, x, *channel] = block[0]
        elif how == "any":
            out[y, x, *channel] = any(block)
        elif values.dtype.kind == "u":
            total, n = sum(map(int, block)), len(block)
            out[y, x, *channel] = (2 * total + n) // (2 * n)
        else:
            known = [float(value) for value in block if not np.isnan(value)]
            out[y, x, *channel] = sum(known) / len(known) if known else np.nan
    return out


SIZES = [(1, 1), (2, 2), (1, 7), (5, 4), (6, 9)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("channels", [(), (1,), (3,), (4,)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_integer_means_are_rounded_half_up(rng, size, channels, dtype):
    values = rng.integers(0, np.iinfo(dtype).max + 1, (*size, *channels)).astype(dtype)
    np.testing.assert_array_equal(halve(values, "mean"), block_by_block(values, "mean"))
    white = np.full_like(values, np.iinfo(dtype).max)  # nothing overflows
    np.testing.assert_array_equal(halve(white, "mean"), block_by_block(white, "mean"))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_means_ignore_nan(rng, size, dtype):
    values = rng.random(size).astype(dtype)
    values[rng.random(size) < 0.5] = np.nan
    np.testing.assert_allclose(halve(values, "mean"), block_by_block(values, "mean"), rtol=1e-6)
    assert np.isnan(halve(np.full(size, np.nan, dtype), "mean")).all()


@pytest.mark.parametrize("size", SIZES)
def test_labels_are_sampled_and_masks_keep_every_mark(rng, size):
    labels = rng.integers(0, 300, size)
    np.testing.assert_array_equal(halve(labels, "nearest"), block_by_block(labels, "nearest"))
    mask = rng.random(size) < 0.2
    np.testing.assert_array_equal(halve(mask, "any"), block_by_block(mask, "any"))


@pytest.mark.parametrize(
    ("size", "expected"),
    [((1, 1), 1), ((512, 512), 1), ((513, 10), 2), ((10, 1025), 3), ((4000, 6000), 5), ((4096, 8192), 5)],
)
def test_last_level_is_the_first_that_fits_a_tile(size, expected):
    """6000 is halve to 3000, 1500, 750, 375; 8192 to 4096, 2048, 1024, 512."""
    assert n_levels(*size) == expected
    assert max(halved_length(side, expected - 1) for side in size) <= TILE


def whole_pyramid(image, how, n):
    levels = [image]
    for _ in range(n - 1):
        levels.append(halve(levels[-1], how))
    return levels


@pytest.mark.parametrize("size", [(1300, 700), (1025, 1026), (515, 2050)])
def test_levels_written_in_strips_equal_those_of_the_whole(rng, size):
    image = rng.integers(0, 256, (*size, 3)).astype(np.uint8)
    n = n_levels(*size)
    expected = whole_pyramid(image, "mean", n)
    levels = [np.zeros((2, *level.shape), np.uint8) for level in expected]
    columns = slice(0, size[1])
    for rows in reversed(list(strips(size[0], n))):
        levels[0][1, rows] = image[rows]
        write_smaller_levels(levels, rows, columns, image[rows], "mean", frame=(1,))
    for level, right in zip(levels, expected, strict=True):
        np.testing.assert_array_equal(level[1], right)
        assert not level[0].any()


@pytest.mark.parametrize(
    ("rows", "cols"),
    [
        (slice(0, 1), slice(0, 1)),
        (slice(1024, 1025), slice(700, 701)),
        (slice(3, 900), slice(5, 6)),
        (slice(0, 1025), slice(0, 701)),
    ],
)
def test_smaller_levels_are_updated_for_a_changed_rectangle(rng, rows, cols):
    image = rng.random((1025, 701)).astype(np.float32)
    levels = [level.copy() for level in whole_pyramid(image, "mean", 3)]
    levels[0][rows, cols] = 7
    update_smaller_levels(levels, rows, cols, "mean")
    for level, right in zip(levels, whole_pyramid(levels[0].copy(), "mean", 3), strict=True):
        np.testing.assert_array_equal(level, right)
