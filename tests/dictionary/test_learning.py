"""Coupled learning: each step, and recovery of known dictionaries."""

import numpy as np
import pytest

from panfocus._threads import limit_threads
from panfocus.dictionary import Learning, _update_numba, learn_coupled, learning
from panfocus.errors import InputError
from panfocus.sparse import omp
from plain_omp import batch_omp, dense

SMALL = Learning(n_atoms=30, max_atoms=3, rounds=4)


def learn(levels, settings=SMALL, seed=0, **more):
    return learn_coupled(levels, settings, rng=np.random.default_rng(seed), **more)


def stacked(parts, weights, dtype=np.float64):
    """Return signals or atoms of all levels as rows, scaled by the roots of the weights."""
    scaled = [np.sqrt(w) * np.asarray(part).T for w, part in zip(weights, parts, strict=True)]
    return np.ascontiguousarray(np.hstack(scaled), dtype)


def objectives_fall(history):
    for one in history:
        course = np.array([one.objective_coded, *one.objectives])
        assert (np.diff(course) <= 1e-12 * course[:-1]).all()


@pytest.mark.parametrize("start", ["samples", "dct"])
@pytest.mark.parametrize("update_cycles", [1, 5])
def test_objective_never_rises_in_an_update_cycle(noisy, start, update_cycles):
    settings = Learning(n_atoms=30, max_atoms=3, rounds=6, update_cycles=update_cycles, start=start)
    history = learn(noisy, settings)[1]
    assert len(history) == 6
    assert all(len(one.objectives) == update_cycles for one in history)
    objectives_fall(history)
    assert history[0].objective < history[0].objective_coded


def test_objective_falls_over_rounds(noisy):
    history = learn(noisy, Learning(n_atoms=30, max_atoms=3, rounds=8))[1]
    assert history[-1].objective < 0.9 * history[0].objective_coded


def test_objective_is_the_weighted_error_of_the_levels(known):
    # sum_l mu_l ||X_l - D_l A||^2 per sample, computed independently.
    levels, _ = known
    weights = [0.7, 0.3]
    atoms, _ = learn(levels, SMALL, level_shares=weights)
    X, D = stacked(levels, weights, np.float32), stacked(atoms, weights)
    again = learning._round(X, D.copy(), np.sqrt(weights), SMALL)
    A = dense(batch_omp(D.T, X.T, max_atoms=SMALL.max_atoms), 30)
    error = sum(w * ((X - D @ A) ** 2).sum() for w, X, D in zip(weights, levels, atoms, strict=True))
    assert np.isclose(again.objective_coded, error / levels[0].shape[1], rtol=1e-5)


def naive_update_cycle(levels, dictionaries, A, weights):
    """Update atom by atom, with full residuals."""
    D, A = [level.copy() for level in dictionaries], A.copy()
    for i in range(A.shape[0]):
        mine = np.flatnonzero(A[i])
        if not mine.size:
            continue
        E = [
            X[:, mine] - D_l @ A[:, mine] + np.outer(D_l[:, i], A[i, mine])
            for X, D_l in zip(levels, D, strict=True)
        ]
        for D_l, E_l in zip(D, E, strict=True):
            D_l[:, i] = E_l @ A[i, mine]
            D_l[:, i] /= np.linalg.norm(D_l[:, i])
        A[i, mine] = sum(w * D_l[:, i] @ E_l for w, D_l, E_l in zip(weights, D, E, strict=True))
    return D, A


@pytest.mark.parametrize("weights", [(1.0,), (0.5, 0.5), (0.8, 0.2), (0.5, 0.3, 0.2)])
def test_update_cycle_agrees_with_a_naive_one(rng, weights):
    m, n_atoms, n = 9, 23, 200
    levels = [rng.standard_normal((m, n)).astype(np.float32) for _ in weights]
    atoms = rng.standard_normal((len(weights), m, n_atoms))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    part_norms = np.sqrt(weights)
    signals, rows = stacked(levels, weights, np.float32), stacked(atoms, weights)
    codes = batch_omp(rows.T, signals.T, max_atoms=3)
    chosen, coefficients = codes.atoms.T.copy(), codes.coefficients.T.astype(np.float64)
    exact_levels = [signals[:, i * m : (i + 1) * m].T / s for i, s in enumerate(part_norms)]
    D, A = naive_update_cycle(exact_levels, atoms, dense(codes, n_atoms).astype(np.float64), weights)

    users, first_user = learning._users(chosen, n_atoms)
    _update_numba.update_cycle(
        signals, rows, part_norms, chosen, coefficients, codes.counts, users, first_user
    )
    updated = rows.reshape(n_atoms, len(weights), m).transpose(1, 2, 0) / part_norms[:, None, None]
    np.testing.assert_allclose(updated, np.stack(D), atol=1e-6)
    renewed = np.zeros((n_atoms, n))
    for s in range(n):
        renewed[chosen[s, : codes.counts[s]], s] = coefficients[s, : codes.counts[s]]
    np.testing.assert_allclose(renewed, A, atol=1e-6)
    assert ((renewed != 0) <= (dense(codes, n_atoms) != 0)).all()


def test_users_are_the_samples_that_use_an_atom(rng):
    chosen = np.array([[3, 1, -1], [1, -1, -1], [-1, -1, -1], [0, 3, 1]], np.int32)
    users, first_user = learning._users(chosen, 5)
    by_atom = [users[first_user[i] : first_user[i + 1]].tolist() for i in range(5)]
    assert by_atom == [[3], [0, 1, 3], [], [0, 3], []]


def test_unused_atom_is_replaced_by_the_worst_sample(known):
    levels, true = known
    m, n_atoms = true.shape[1:]
    outlier = np.random.default_rng(5).standard_normal((2, m))
    outlier -= outlier.mean(axis=1, keepdims=True)
    levels = [np.column_stack([X, 5 * o]) for X, o in zip(levels, outlier, strict=True)]
    signals, atoms = stacked(levels, [0.5, 0.5], np.float32), stacked(true, [0.5, 0.5])
    atoms[7] = atoms[3]  # a duplicate: the first is chosen, this one is not
    done = learning._round(signals, atoms, np.sqrt([0.5, 0.5]), Learning(n_atoms=n_atoms, max_atoms=2))
    assert done.replaced == 1
    halves = atoms[7].reshape(2, m) / np.sqrt(0.5)
    np.testing.assert_allclose(halves, outlier / np.linalg.norm(outlier, axis=1, keepdims=True), atol=1e-6)


def test_replacements_differ_and_are_counted(known):
    levels, _ = known
    few = [X[:, :60] for X in levels]
    atoms, history = learn(few, Learning(n_atoms=50, max_atoms=1, rounds=3, start="dct"))
    assert history[0].replaced > 0
    overlaps = np.abs(np.einsum("mi,mj->ij", atoms[0], atoms[0])) - np.eye(50)
    assert overlaps.max() < 1 - 1e-6


@pytest.mark.parametrize("start", ["samples", "dct"])
def test_atoms_are_unit_columns_at_every_level(noisy, start):
    atoms, _ = learn(noisy, Learning(n_atoms=30, max_atoms=3, rounds=2, start=start), level_shares=[0.9, 0.1])
    assert atoms.shape == (2, 16, 30)
    assert atoms.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(atoms, axis=1), 1, atol=1e-6)


def test_threads_change_no_bit(noisy, monkeypatch):
    monkeypatch.setattr(omp, "BLOCK", 100)
    learned = []
    for threads in (1, 1, 2, 3):
        with limit_threads(threads):
            learned.append(learn(noisy)[0])
    for other in learned[1:]:
        np.testing.assert_array_equal(other, learned[0])


def test_another_seed_gives_another_dictionary(noisy):
    assert not np.array_equal(learn(noisy, seed=0)[0], learn(noisy, seed=1)[0])


def test_start_from_cosines_ignores_the_seed(noisy):
    settings = Learning(n_atoms=30, max_atoms=3, rounds=2, start="dct")
    np.testing.assert_array_equal(learn(noisy, settings, seed=0)[0], learn(noisy, settings, seed=1)[0])


def test_samples_are_not_modified(noisy):
    before = [X.copy() for X in noisy]
    learn(noisy)
    np.testing.assert_array_equal(noisy, before)


@pytest.mark.parametrize("n_levels", [1, 2, 3])  # one level is K-SVD
def test_known_dictionary_is_recovered(known, known_three, share_recovered, n_levels):
    levels, true = known_three if n_levels == 3 else known
    atoms, history = learn(levels[:n_levels], Learning(n_atoms=24, max_atoms=2, rounds=30))
    assert atoms.shape == (n_levels, 16, 24)
    assert share_recovered(atoms, true[:n_levels]) >= 0.8
    assert history[-1].objective < 0.2 * history[0].objective_coded
    objectives_fall(history)


def test_many_cycles_converge_to_the_singular_vector(rng):
    # With one atom, the exact K-SVD step is the first left singular vector.
    samples = rng.standard_normal((9, 1)) @ rng.standard_normal((1, 80)) + 0.3 * rng.standard_normal((9, 80))
    atoms, _ = learn([samples], Learning(n_atoms=1, max_atoms=1, rounds=1, update_cycles=60))
    first = np.linalg.svd(samples)[0][:, 0]
    assert abs(first @ atoms[0, :, 0]) > 1 - 1e-6


def test_larger_weight_improves_a_level(noisy):
    def error_of_first(weight):
        atoms, _ = learn(noisy, level_shares=[weight, 1 - weight])
        weights = [weight, 1 - weight]
        A = dense(batch_omp(stacked(atoms, weights).T, stacked(noisy, weights).T, max_atoms=3), 30)
        return ((noisy[0] - atoms[0] @ A) ** 2).sum()

    assert error_of_first(0.9) < error_of_first(0.5) < error_of_first(0.1)


def test_every_round_is_reported_with_its_atoms(noisy):
    seen = []
    atoms, history = learn(noisy, watch=lambda done, atoms: seen.append((done, atoms)))
    assert [done for done, _ in seen] == list(history)
    np.testing.assert_array_equal(seen[-1][1], atoms)
    assert not np.array_equal(seen[0][1], atoms)


def test_progress_rises_to_one(noisy):
    seen = []
    learn(noisy, progress=lambda stage, done: seen.append((stage, done)))
    assert seen == [("learn", (i + 1) / 4) for i in range(4)]


def test_times_of_both_steps_are_recorded(noisy):
    for one in learn(noisy)[1]:
        assert one.coding_seconds > 0
        assert one.update_seconds > 0


@pytest.mark.parametrize("weights", [[0.5], [0.5, 0.6], [1.0, 0.0], [1.5, -0.5], [0.2, 0.3, 0.5]])
def test_invalid_level_shares_are_rejected(noisy, weights):
    with pytest.raises(InputError) as caught:
        learn(noisy, level_shares=weights)
    assert caught.value.facts == {"setting": "level_shares", "got": weights}


def test_too_few_samples_are_rejected(noisy):
    with pytest.raises(InputError, check=lambda error: error.facts["got"] == 29):
        learn([X[:, :29] for X in noisy])


@pytest.mark.parametrize(
    ("setting", "value"),
    [("n_atoms", 0), ("max_atoms", 0), ("rounds", 0), ("update_cycles", 0), ("start", "noise")],
)
def test_invalid_setting_of_learning_is_rejected(setting, value):
    with pytest.raises(InputError) as caught:
        Learning(**{setting: value})
    assert caught.value.facts == {"setting": setting, "got": value}
