"""The compiled kernel, the plain one and scikit-learn's agree; its bits depend on the signal alone."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.ndimage import maximum_filter
from sklearn.linear_model import orthogonal_mp_gram

from panfocus._threads import limit_threads
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.sparse import Pursuit, Stop, omp
from plain_omp import batch_omp, batch_omp_plain, dense

EPS = 0.1
# Coefficients come back as float32: the error measured from them can differ from the kernel's by that much.
BOUND_TOLERANCE = 1 + 1e-6
KERNELS = [batch_omp, batch_omp_plain]


def unit_columns(matrix):
    return (matrix / np.linalg.norm(matrix, axis=0)).astype(np.float32)


def random_dictionary(rng, m=64, n_atoms=200):
    return unit_columns(rng.standard_normal((m, n_atoms)))


def residual_energies(D, X, codes):
    """Return ||x - D a||^2 in float64, computed from the codes."""
    A = dense(codes, D.shape[1]).astype(np.float64)
    return ((X.astype(np.float64) - D.astype(np.float64) @ A) ** 2).sum(axis=0)


def energies(X):
    return (X.astype(np.float64) ** 2).sum(axis=0)


def assert_agree(A, B, *, share, tolerance):
    """Check that codes have equal supports in a share of the columns, with similar values there."""
    same = ((A != 0) == (B != 0)).all(axis=0)
    assert same.mean() >= share
    assert np.abs(A.astype(np.float64) - B)[:, same].max() <= tolerance


def assert_same_bits(a, b):
    for name in a.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def agreement(X):
    """Return the share of supports that must agree: noise in the drawing takes 40 atoms, many nearly tied."""
    return 0.999 if X.shape[1] == 2000 else 0.99


@pytest.fixture(scope="module", params=["lytro", "synthetic"])
def real_case(request):
    """Return the shipped dictionary, patches of Lytro frames or a drawing, and both kernels' codes."""
    if request.param == "lytro":
        folder = request.getfixturevalue("data_dir") / "lytro"
        images = []
        for name in [f"lytro-{i:02}-{'AB'[i % 2]}.jpg" for i in range(1, 20, 2)]:
            with Image.open(folder / name) as picture:
                images.append(np.asarray(picture.convert("L")) / 255)
        n = 200
    else:
        row, column = np.indices((60, 70))
        rings = np.sin(np.hypot(row - 20, column - 30) ** 1.5 / 8)
        images = [rings * (column > 25) + 0.05 * np.random.default_rng(3).standard_normal((60, 70))]
        n = 200
    rng = np.random.default_rng(4)
    patches = []
    for image in images:
        windows = np.lib.stride_tricks.sliding_window_view(image, (8, 8))
        X = windows[rng.integers(0, windows.shape[0], 2 * n), rng.integers(0, windows.shape[1], 2 * n)]
        X = X.reshape(2 * n, 64).T
        X = X - X.mean(axis=0)
        norms = np.linalg.norm(X, axis=0)
        patches.append((X[:, norms > 1e-3] / norms[norms > 1e-3])[:, :n])
    X = np.concatenate(patches, axis=1).astype(np.float32)
    assert X.shape[1] == n * len(images)
    D = CoupledDictionary.default().matrix
    assert D.shape == (64, 512)
    codes, plain = (kernel(D, X, max_atoms=64, max_sq_error=EPS) for kernel in KERNELS)
    return D, X, codes, plain


def test_codes_agree_with_scikit_learn(real_case):
    D, X, codes, _ = real_case
    D64, X64 = D.astype(np.float64), X.astype(np.float64)
    oracle = orthogonal_mp_gram(D64.T @ D64, D64.T @ X64, tol=EPS, norms_squared=energies(X))
    assert_agree(dense(codes, D.shape[1]), oracle, share=agreement(X), tolerance=1e-4)


def test_compiled_and_plain_kernel_agree_on_patches(real_case):
    D, X, codes, plain = real_case
    assert_agree(dense(codes, D.shape[1]), dense(plain, D.shape[1]), share=agreement(X), tolerance=1e-4)
    assert (codes.stops == plain.stops).mean() >= 0.999


def test_every_residual_is_within_the_bound(real_case):
    D, X, codes, plain = real_case
    for found in (codes, plain):
        assert (residual_energies(D, X, found) <= EPS * energies(X) * BOUND_TOLERANCE).all()
        assert (found.stops == Stop.AT_BOUND).all()


def test_reported_errors_are_correct(real_case):
    D, X, codes, plain = real_case
    for found in (codes, plain):
        np.testing.assert_allclose(found.sq_errors, residual_energies(D, X, found), rtol=1e-6)


def test_last_atom_is_needed(real_case):
    # Without its last atom, and with refitted coefficients, each code misses the bound.
    D, X, codes, _ = real_case
    for i in range(0, X.shape[1], X.shape[1] // 50):
        before_last = D[:, codes.atoms[: codes.counts[i] - 1, i]].astype(np.float64)
        x = X[:, i].astype(np.float64)
        fitted = before_last @ np.linalg.lstsq(before_last, x, rcond=None)[0]
        assert ((x - fitted) ** 2).sum() > EPS * (x @ x) * (1 - 1e-5)


def test_unused_entries_of_codes_are_marked(real_case):
    D, X, codes, _ = real_case
    slots = np.arange(codes.atoms.shape[0])[:, None]
    used = slots < codes.counts
    assert ((codes.atoms >= 0) == used).all()
    assert (codes.coefficients[~used] == 0).all()
    assert codes.atoms.shape == codes.coefficients.shape == (64, X.shape[1])
    A = dense(codes, D.shape[1])
    np.testing.assert_array_equal((A != 0).sum(axis=0), codes.counts)
    i = int(codes.counts.argmax())
    for atom, coefficient in zip(codes.atoms[: codes.counts[i], i], codes.coefficients[:, i], strict=False):
        assert A[atom, i] == coefficient


def naive_omp(D, x, n_atoms):
    """Return the atoms of textbook OMP, with least squares in every step."""
    D, x = D.astype(np.float64), x.astype(np.float64)
    chosen, residual = [], x
    for _ in range(n_atoms):
        chosen.append(int(np.abs(D.T @ residual).argmax()))
        values = np.linalg.lstsq(D[:, chosen], x, rcond=None)[0]
        residual = x - D[:, chosen] @ values
    return chosen, values


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("m", "n_atoms"), [(9, 23), (16, 16), (25, 7), (64, 100), (128, 40)])
def test_order_of_atoms_agrees_with_textbook_omp(rng, kernel, m, n_atoms):
    D = random_dictionary(rng, m, n_atoms)
    X = rng.standard_normal((m, 20))
    codes = kernel(D, X, max_atoms=4)
    for i in range(20):
        chosen, values = naive_omp(D, X[:, i], 4)
        np.testing.assert_array_equal(codes.atoms[:, i], chosen)
        np.testing.assert_allclose(codes.coefficients[:, i], values, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_sparse_signals_are_recovered(rng, kernel):
    D = random_dictionary(rng, 64, 90)
    A = np.zeros((90, 30))
    for i in range(30):
        A[rng.choice(90, 3, replace=False), i] = rng.choice([-1, 1], 3) * rng.uniform(1, 2, 3)
    codes = kernel(D, D @ A, max_atoms=3)
    np.testing.assert_allclose(dense(codes, 90), A, atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_code_of_an_atom_is_the_atom(kernel):
    D = CoupledDictionary.default().matrix
    codes = kernel(D, 3 * D, max_atoms=5, max_sq_error=1e-6)
    np.testing.assert_array_equal(codes.atoms[0], np.arange(D.shape[1]))
    assert (codes.counts == 1).all()
    np.testing.assert_allclose(codes.coefficients[0], 3, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e6])
def test_bound_is_relative_to_the_signal(rng, scale):
    D = random_dictionary(rng)
    X = rng.standard_normal((64, 50))
    one, other = (batch_omp(D, s * X, max_atoms=64, max_sq_error=EPS) for s in (1, scale))
    np.testing.assert_array_equal(one.atoms, other.atoms)
    np.testing.assert_allclose(other.coefficients, scale * one.coefficients, rtol=1e-3, atol=1e-5 * scale)


def twin_dictionary(rng, perturbation):
    """Return 128 random atoms and a slightly perturbed twin of each."""
    half = random_dictionary(rng, 64, 128)
    return np.hstack([half, unit_columns(half + perturbation * random_dictionary(rng, 64, 128))])


def twin_signals(rng, D, n=100):
    """Return random directions and differences of twins, which need both twins."""
    between = D[:, : n // 2] - D[:, 128 : 128 + n // 2]
    noise = 0.1 * np.linalg.norm(between, axis=0) * random_dictionary(rng, 64, n // 2)
    return unit_columns(np.hstack([rng.standard_normal((64, n - n // 2)), between + noise]))


@pytest.mark.parametrize("perturbation", [1e-1, 1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("eps", [0.1, 1e-3])
def test_nearly_parallel_atoms_do_not_break_the_bound(rng, perturbation, eps):
    D = twin_dictionary(rng, perturbation)
    X = twin_signals(rng, D)
    codes = batch_omp(D, X, max_atoms=64, max_sq_error=eps)
    assert np.isfinite(codes.coefficients).all()
    assert (codes.stops == Stop.AT_BOUND).all()
    assert (residual_energies(D, X, codes) <= eps * energies(X) * BOUND_TOLERANCE).all()


@pytest.mark.parametrize("perturbation", [1e-1, 1e-2, 1e-3, 1e-5])
def test_kernels_agree_on_nearly_parallel_atoms(rng, perturbation):
    D = twin_dictionary(rng, perturbation)
    X = twin_signals(rng, D)
    A, B = (dense(kernel(D, X, max_atoms=64, max_sq_error=EPS), 256) for kernel in KERNELS)
    if perturbation < 1e-4:  # which twin is stronger is below float32's rounding: count them as one
        A, B = (np.where(C[:128] != 0, C[:128], C[128:]) for C in (A, B))
    assert_agree(A, B, share=0.98, tolerance=1e-3)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("perturbation", [1e-3, 1e-5])
def test_only_one_of_two_nearly_equal_atoms_is_used(rng, perturbation, kernel):
    D = twin_dictionary(rng, perturbation)
    codes = kernel(D, twin_signals(rng, D), max_atoms=64, max_sq_error=EPS)
    for i, count in enumerate(codes.counts):
        assert len(np.unique(codes.atoms[:count, i] % 128)) == count


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("angle", "count", "stop"), [(1e-2, 2, Stop.AT_BOUND), (1e-3, 1, Stop.STALLED)])
def test_twin_is_skipped_if_its_coefficient_is_rounding(kernel, angle, count, stop):
    D = unit_columns(np.array([[1, 1], [0, angle], [0, 0]]))
    codes = kernel(D, [[2.0], [1.0], [0.0]], max_atoms=2, max_sq_error=1e-6)
    assert codes.counts[0] == count
    assert codes.stops[0] == stop


def test_first_of_duplicates_is_chosen(rng):
    once = random_dictionary(rng, 25, 30)
    codes = batch_omp(np.hstack([once, once, -once]), rng.standard_normal((25, 40)), max_atoms=10)
    assert codes.atoms.max() < 30


@pytest.mark.parametrize("kernel", KERNELS)
def test_duplicates_change_nothing(rng, kernel):
    once = random_dictionary(rng, 25, 30)
    X = rng.standard_normal((25, 40))
    alone, doubled = (kernel(D, X, max_atoms=10, max_sq_error=0.01) for D in (once, np.hstack([once, once])))
    # In the plain kernel the BLAS decides, by the last bit, which of two equal columns is larger.
    np.testing.assert_array_equal(alone.atoms, np.where(doubled.atoms < 0, -1, doubled.atoms % 30))
    np.testing.assert_allclose(alone.coefficients, doubled.coefficients, atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_dependent_atoms_are_skipped(rng, kernel):
    basis = np.linalg.qr(rng.standard_normal((20, 5)))[0]
    D = unit_columns(basis @ rng.standard_normal((5, 40)))  # 40 atoms that span 5 dimensions
    X = basis @ rng.standard_normal((5, 30)) + 0.1 * rng.standard_normal((20, 30))
    codes = kernel(D, X, max_atoms=20)
    assert (codes.stops == Stop.STALLED).all()
    assert codes.counts.max() <= 5
    outside = ((X - basis @ (basis.T @ X)) ** 2).sum(axis=0)
    np.testing.assert_allclose(codes.sq_errors, outside, rtol=1e-3)


@pytest.mark.parametrize("kernel", KERNELS)
def test_zero_atoms_are_never_chosen(rng, kernel):
    D = random_dictionary(rng, 25, 30)
    D[:, [0, 7, 29]] = 0
    codes = kernel(D, rng.standard_normal((25, 40)), max_atoms=25)
    assert not np.isin(codes.atoms, [0, 7, 29]).any()
    assert np.isfinite(codes.coefficients).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_codes_over_zero_atoms_are_empty(rng, kernel):
    X = rng.standard_normal((9, 5))
    codes = kernel(np.zeros((9, 4)), X, max_atoms=4)
    assert (codes.stops == Stop.STALLED).all()
    assert not codes.counts.any()
    np.testing.assert_allclose(codes.sq_errors, (X**2).sum(axis=0), rtol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_code_of_a_zero_signal_is_empty(rng, kernel):
    X = rng.standard_normal((25, 7))
    X[:, [0, 4]] = 0
    codes = kernel(random_dictionary(rng, 25, 30), X, max_atoms=5, max_sq_error=EPS)
    np.testing.assert_array_equal(
        codes.stops == Stop.ZERO_SIGNAL, [True, False, False, False, True, False, False]
    )
    np.testing.assert_array_equal(codes.counts[[0, 4]], 0)
    np.testing.assert_array_equal(codes.sq_errors[[0, 4]], 0)
    assert (codes.atoms[:, [0, 4]] == -1).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_signal_orthogonal_to_all_atoms_stalls(rng, kernel):
    basis = np.linalg.qr(rng.standard_normal((25, 25)))[0]
    D = unit_columns(basis[:, :10] @ rng.standard_normal((10, 30)))
    codes = kernel(D, 5 * basis[:, 10:13], max_atoms=10, max_sq_error=EPS)
    assert (codes.stops == Stop.STALLED).all()
    np.testing.assert_array_equal(codes.counts, 0)
    np.testing.assert_allclose(codes.sq_errors, 25, rtol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_limit_on_atoms_is_respected_and_reported(rng, kernel):
    D, X = random_dictionary(rng, 25, 30), rng.standard_normal((25, 40))
    codes = kernel(D, X, max_atoms=3, max_sq_error=1e-3)
    assert (codes.counts == 3).all()
    assert (codes.stops == Stop.AT_LIMIT).all()
    np.testing.assert_allclose(codes.sq_errors, residual_energies(D, X, codes), rtol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_limit_above_the_dimension_is_reduced(rng, kernel):
    D, X = random_dictionary(rng, 9, 23), rng.standard_normal((9, 40))
    codes = kernel(D, X, max_atoms=1000, max_sq_error=1e-9)
    assert codes.atoms.shape == (9, 40)
    assert (residual_energies(D, X, codes) < 1e-5 * energies(X)).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", [0, 1])
def test_shapes_for_no_signal_and_one_signal(rng, kernel, n):
    codes = kernel(random_dictionary(rng, 9, 23), rng.standard_normal((9, n)), max_atoms=4)
    assert codes.atoms.shape == codes.coefficients.shape == (4, n)
    assert codes.counts.shape == codes.sq_errors.shape == codes.stops.shape == (n,)
    assert dense(codes, 23).shape == (23, n)


def test_memory_layout_of_input_changes_no_bit(rng):
    D, X = random_dictionary(rng, 25, 30), rng.standard_normal((25, 40)).astype(np.float32)
    expected = batch_omp(D, X, max_atoms=6, max_sq_error=EPS)
    strided = np.zeros((50, 80), np.float32)
    strided[::2, ::2] = X
    frozen_D, frozen_X = np.asfortranarray(D), X.copy()
    frozen_D.flags.writeable = frozen_X.flags.writeable = False
    for dictionary, signals in [
        (frozen_D, frozen_X),
        (D, strided[::2, ::2]),
        (D.astype(np.float64), X.astype(np.float64)),
        (D.tolist(), np.asfortranarray(X)),
    ]:
        assert_same_bits(batch_omp(dictionary, signals, max_atoms=6, max_sq_error=EPS), expected)
        np.testing.assert_array_equal(signals, X)
        plain = batch_omp_plain(dictionary, signals, max_atoms=6, max_sq_error=EPS)
        assert_agree(dense(plain, 30), dense(expected, 30), share=1, tolerance=1e-5)


@pytest.fixture(scope="module")
def bits_case():
    """Return a dictionary of unaligned size, signals of several kinds, and their codes from one thread."""
    rng = np.random.default_rng(8)
    half = random_dictionary(rng, 25, 23)
    pursuit = Pursuit(np.hstack([half, unit_columns(half + 0.1 * rng.standard_normal((25, 23)))]),
                      max_atoms=25, max_sq_error=0.01)  # fmt: skip
    X = rng.standard_normal((25, 150)).astype(np.float32)
    X[:, ::17] = 0
    X[:, ::13] *= 1e-4
    with limit_threads(1):
        return pursuit, X, pursuit.codes(X), pursuit.l1_norms(X, segments=2)


def assert_same_codes(bits_case, signals, order):
    """Check the codes and norms of some signals, bit for bit."""
    pursuit, _, codes, norms = bits_case
    again = pursuit.codes(signals)
    for name in codes.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(codes, name)[..., order], getattr(again, name))
    np.testing.assert_array_equal(norms[:, order], pursuit.l1_norms(signals, segments=2))


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_splitting_a_batch_changes_no_bit(bits_case, data):
    X = bits_case[1]
    n = X.shape[1]
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, n), max_size=8))), n]
    for start, stop in pairwise(cuts):
        assert_same_codes(bits_case, X[:, start:stop], slice(start, stop))


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 150))
def test_other_signals_change_no_bit(bits_case, seed, n):
    X = bits_case[1]
    order = np.random.default_rng(seed).choice(X.shape[1], n)  # reordered, some left out, some twice
    assert_same_codes(bits_case, X[:, order], order)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("block", [1, 7, 64, 2048])
def test_threads_and_blocks_change_no_bit(bits_case, monkeypatch, threads, block):
    pursuit, X, codes, _ = bits_case
    monkeypatch.setattr(omp, "BLOCK", block)
    with limit_threads(threads):
        assert_same_bits(pursuit.codes(X), codes)


def test_threads_change_no_bit_for_real_patches(real_case):
    D, X, codes, _ = real_case
    pursuit = Pursuit(D, max_atoms=64, max_sq_error=EPS)
    for threads in (1, 2, 3):
        with limit_threads(threads):
            assert_same_bits(pursuit.codes(X), codes)


@pytest.mark.parametrize("segments", [1, 2, 23, 46])
def test_norms_agree_with_the_codes(bits_case, segments):
    pursuit, X, codes, _ = bits_case
    A = np.abs(dense(codes, 46).astype(np.float64))
    expected = A.reshape(segments, -1, X.shape[1]).sum(axis=1)
    np.testing.assert_allclose(pursuit.l1_norms(X, segments=segments), expected, rtol=1e-6)


@pytest.mark.parametrize(("n_cols", "reach"), [(15, 1), (10, 2), (1, 1), (150, 3), (15, 0)])
def test_pooled_norms_use_the_largest_value_of_each_atom(bits_case, n_cols, reach):
    _, _, codes, _ = bits_case
    pooled = codes.pooled_l1(n_cols=n_cols, reach=reach, n_atoms=46)
    A = np.abs(dense(codes, 46).astype(np.float64)).reshape(46, -1, n_cols)
    size = (1, 2 * reach + 1, 2 * reach + 1)
    expected = maximum_filter(A, size, mode="constant").sum(axis=0)
    assert pooled.shape == expected.shape
    np.testing.assert_allclose(pooled, expected, rtol=1e-12)


def test_approximations_agree_with_the_codes(bits_case):
    pursuit, X, codes, _ = bits_case
    D = pursuit.dictionary.astype(np.float64)
    expected = D @ dense(codes, D.shape[1]).astype(np.float64)
    approximations = pursuit.approximations(X)
    np.testing.assert_allclose(approximations, expected, atol=1e-12)
    np.testing.assert_array_equal(approximations[:, 5:9], pursuit.approximations(X[:, 5:9]))


def test_norms_of_no_signals_are_empty(bits_case):
    assert bits_case[0].l1_norms(np.zeros((25, 0)), segments=2).shape == (2, 0)


@pytest.mark.parametrize("segments", [0, 3, 92])
def test_number_of_segments_must_divide_the_atoms(bits_case, segments):
    with pytest.raises(InputError) as caught:
        bits_case[0].l1_norms(bits_case[1], segments=segments)
    assert caught.value.facts == {"setting": "segments", "got": segments}


@pytest.mark.parametrize("shape", [(24, 3), (25,), (3, 25), (1, 25, 3)])
def test_signals_of_wrong_shape_are_rejected(bits_case, shape):
    with pytest.raises(InputError) as caught:
        bits_case[0].codes(np.zeros(shape))
    assert caught.value.facts == {"got": shape, "needed": 25}


def test_invalid_dictionaries_are_rejected(rng):
    D = random_dictionary(rng, 9, 23)
    longer, broken = D.copy(), D.copy()
    longer[:, 5] *= 2
    broken[2, 3] = np.nan
    for dictionary in (D[0], D[:, :0], longer, broken):
        with pytest.raises(InputError) as caught:
            Pursuit(dictionary, max_atoms=5)
        assert caught.value.facts["setting"] == "dictionary"


@pytest.mark.parametrize(
    ("setting", "values"), [("max_atoms", [0, 2.5]), ("max_sq_error", [-0.1, 1.0, np.nan])]
)
def test_limits_out_of_range_are_rejected(setting, values):
    for value in values:
        with pytest.raises(InputError) as caught:
            Pursuit(np.eye(9), **{"max_atoms": 5, setting: value})
        assert caught.value.facts["setting"] == setting


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_signals_that_are_not_finite_are_rejected(value):
    signals = np.ones((9, 5))
    signals[3, 2] = value
    pursuit = Pursuit(np.eye(9), max_atoms=3)
    for code in (pursuit.codes, pursuit.approximations, lambda X: pursuit.l1_norms(X, segments=3)):
        with pytest.raises(InputError):
            code(signals)


@pytest.mark.parametrize("norm", [0.9992, 1.0008])
def test_atoms_of_inexact_norm_are_accepted(rng, norm):
    D = np.float32(norm) * random_dictionary(rng)
    X = rng.standard_normal((64, 300)).astype(np.float32)
    compiled, plain = (kernel(D, X, max_atoms=20, max_sq_error=0.1) for kernel in KERNELS)
    assert_agree(dense(compiled, 200), dense(plain, 200), share=0.99, tolerance=1e-4)
    identity = batch_omp(np.eye(4) * norm, [[1.0], [1e-4], [0], [0]], max_atoms=4)
    assert identity.atoms[:, 0].tolist() == [0, 1, -1, -1]


def test_errors_are_never_negative(rng):
    codes = batch_omp(random_dictionary(rng), rng.standard_normal((64, 200)), max_atoms=64)
    assert (codes.sq_errors >= 0).all()


def test_complex_signals_are_rejected():
    with pytest.raises(InputError) as caught:
        batch_omp(np.eye(4), np.ones((4, 1), complex), max_atoms=1)
    assert caught.value.facts == {"got": "complex128"}
