import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panfocus.decide.patches import (
    add_patches,
    centred_patches,
    extract_patches,
    patch_means,
    patch_origins,
    spread_each,
)
from panfocus.errors import InputError

SHAPE = (13, 17)


@st.composite
def grids(draw):
    """Draw a length, a patch size and a stride that fit together."""
    length = draw(st.integers(1, 60))
    size = draw(st.integers(1, length))
    return length, size, draw(st.integers(1, size))


def origins(size, stride, shape=SHAPE):
    return patch_origins(shape[0], size, stride), patch_origins(shape[1], size, stride)


def cut_out(image, rows, cols, size):
    """Return patches as columns, one slice at a time."""
    return np.stack([image[r : r + size, c : c + size].ravel() for r in rows for c in cols], axis=1)


@given(grids())
def test_patches_cover_every_pixel_and_stay_inside(grid):
    length, size, stride = grid
    starts = patch_origins(length, size, stride)
    covered = np.zeros(length, int)
    for start in starts:
        covered[start : start + size] += 1
    assert covered.min() >= 1
    assert starts[0] == 0
    assert starts[-1] == length - size


@given(grids())
def test_origins_are_a_stride_apart_but_for_the_last(grid):
    length, size, stride = grid
    steps = np.diff(patch_origins(length, size, stride))
    assert (steps[:-1] == stride).all()
    assert ((steps >= 1) & (steps <= stride)).all()


def test_stride_one_visits_every_position():
    np.testing.assert_array_equal(patch_origins(13, 8, 1), np.arange(6))


def test_patch_larger_than_the_image_is_rejected():
    with pytest.raises(InputError) as caught:
        patch_origins(7, 8, 1)
    assert caught.value.facts == {"got": 7, "needed": 8}


@pytest.mark.parametrize("stride", [-1, 0, 9])
def test_stride_that_leaves_gaps_is_rejected(stride):
    with pytest.raises(InputError) as caught:
        patch_origins(20, 8, stride)
    assert caught.value.facts == {"setting": "stride", "got": stride, "limit": 8}


@pytest.mark.parametrize(("size", "stride"), [(1, 1), (3, 1), (4, 3), (8, 5), (13, 2)])
def test_patches_are_extracted_row_by_row(rng, size, stride):
    image = rng.random(SHAPE)
    rows, cols = origins(size, stride)
    patches = extract_patches(image, rows, cols, size)
    np.testing.assert_array_equal(patches, cut_out(image, rows, cols, size))
    assert patches.T.flags.c_contiguous


def added(patches, rows, cols, size):
    image = np.zeros(SHAPE)
    add_patches(image, patches, rows, cols, size)
    return image


@pytest.mark.parametrize(("size", "stride"), [(1, 1), (3, 1), (4, 3), (8, 5), (13, 2)])
def test_adding_is_the_adjoint_of_extracting(rng, size, stride):
    rows, cols = origins(size, stride)
    image = rng.standard_normal(SHAPE)
    patches = rng.standard_normal((size**2, len(rows) * len(cols)))
    inner = np.vdot(extract_patches(image, rows, cols, size), patches)
    assert np.isclose(inner, np.vdot(image, added(patches, rows, cols, size)), rtol=1e-12)


@given(st.integers(1, 13).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size))))
def test_mean_of_added_patches_is_the_image(size_and_stride):
    size, stride = size_and_stride
    rows, cols = origins(size, stride)
    image = np.random.default_rng(1).random(SHAPE)
    patches = extract_patches(image, rows, cols, size)
    cover = added(np.ones_like(patches), rows, cols, size)
    np.testing.assert_allclose(added(patches, rows, cols, size) / cover, image, rtol=1e-14)


@pytest.mark.parametrize(("size", "stride"), [(1, 1), (3, 1), (4, 3), (8, 5), (13, 2)])
def test_spread_adds_constant_patches(rng, size, stride):
    rows, cols = origins(size, stride)
    marks = rng.integers(0, 5, (2, len(rows), len(cols)))
    for marks_of_frame, image in zip(marks, spread_each(marks, SHAPE, rows, cols, size), strict=True):
        constant = np.broadcast_to(marks_of_frame.ravel().astype(float), (size**2, marks_of_frame.size))
        np.testing.assert_array_equal(image, added(constant, rows, cols, size))


@pytest.mark.parametrize("step", [1, 3, 100])
def test_splitting_rows_into_blocks_changes_no_bit(rng, step):
    rows, cols = origins(4, 1)
    patches = rng.random((16, len(rows), len(cols)))
    image = np.zeros(SHAPE)
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        add_patches(image, patches[:, block].reshape(16, -1), rows[block], cols, 4)
    np.testing.assert_array_equal(image, added(patches.reshape(16, -1), rows, cols, 4))


def test_means_are_those_that_centring_subtracts(rng):
    image = rng.random(SHAPE)
    rows, cols = origins(5, 2)
    means = patch_means(image, rows, cols, 5)
    patches = extract_patches(image, rows, cols, 5)
    np.testing.assert_allclose(means, patches.mean(axis=0), rtol=1e-14)
    centred, _ = centred_patches(image, rows, cols, 5)
    np.testing.assert_allclose(centred + means, patches, atol=1e-7)


def test_sums_of_marks_do_not_overflow():
    rows, cols = origins(8, 1)
    marks = np.ones((2, len(rows), len(cols)), np.uint16)
    marks[0] = 65535
    votes, cover = spread_each(marks, SHAPE, rows, cols, 8)
    np.testing.assert_array_equal(votes, 65535 * cover)
    assert cover.max() == 6 * 8  # a patch fits at 6 positions in 13 rows, all over the middle row


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("brightness", [0.0, 0.5, 100.0])
def test_centred_patches_match_float64(rng, dtype, brightness):
    image = (brightness + rng.random(SHAPE)).astype(dtype)
    rows, cols = origins(5, 2)
    patches, energies = centred_patches(image, rows, cols, 5)
    exact = cut_out(image.astype(np.float64), rows, cols, 5)
    exact -= exact.mean(axis=0)
    assert patches.dtype == np.float32
    np.testing.assert_allclose(patches, exact, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(energies, (exact**2).sum(axis=0), rtol=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, 0.7, 1.0])
def test_flat_patches_become_zeros_with_energy_zero(value):
    rows, cols = origins(8, 1)
    patches, energies = centred_patches(np.full(SHAPE, value, np.float32), rows, cols, 8)
    assert not patches.any()
    assert not energies.any()


def test_contrast_below_rounding_counts_as_flat(rng):
    faint = 0.9 + 1e-7 * rng.standard_normal(SHAPE)
    rows, cols = origins(8, 1)
    assert not centred_patches(faint.astype(np.float32), rows, cols, 8)[1].any()
    assert centred_patches(faint, rows, cols, 8)[1].all()


@pytest.mark.parametrize(("dtype", "white"), [(np.uint8, 255), (np.uint16, 65535)])
def test_one_level_below_white_is_contrast(dtype, white):
    image = np.full((8, 8), white, dtype)
    image[3, 4] -= 1
    patches, energies = centred_patches((image / white).astype(np.float32), *origins(8, 1, (8, 8)), 8)
    assert energies[0] > 0
    assert np.argmin(patches[:, 0]) == 3 * 8 + 4


def test_flat_and_textured_patches_of_one_image_are_separated(rng):
    image = np.full(SHAPE, 0.3)
    image[:, 9:] += rng.random((13, 8)) / 10
    rows, cols = origins(4, 1)
    energies = centred_patches(image, rows, cols, 4)[1].reshape(len(rows), len(cols))
    np.testing.assert_array_equal(energies > 0, np.broadcast_to(cols + 4 > 9, energies.shape))


def test_non_contiguous_images_are_supported(rng):
    image = rng.random((17, 26)).astype(np.float32)
    view = image.T[::2]
    rows, cols = origins(3, 1)
    np.testing.assert_array_equal(
        centred_patches(view, rows, cols, 3)[0], centred_patches(view.copy(), rows, cols, 3)[0]
    )
