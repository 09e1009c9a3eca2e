import numpy as np

from panfocus.dictionary import Learning, learn_ksvd


def test_known_dictionary_is_recovered(known, share_recovered):
    levels, true = known
    settings = Learning(n_atoms=24, max_atoms=2, rounds=30)
    atoms, history = learn_ksvd(levels[0], settings, rng=np.random.default_rng(0))
    assert atoms.shape == (16, 24)
    assert atoms.dtype == np.float32
    assert share_recovered(atoms[None], true[:1]) >= 0.8
    assert history[-1].objective < 0.2 * history[0].objective_coded


def test_errors_fall_in_every_cycle(noisy):
    settings = Learning(n_atoms=30, max_atoms=3, rounds=4, update_cycles=5)
    _, history = learn_ksvd(noisy[0], settings, rng=np.random.default_rng(0))
    for one in history:
        course = np.array([one.objective_coded, *one.objectives])
        assert (np.diff(course) <= 1e-12 * course[:-1]).all()


def test_many_cycles_converge_to_the_singular_vector(rng):
    # With one atom, the exact K-SVD step is the first left singular vector.
    samples = rng.standard_normal((9, 1)) @ rng.standard_normal((1, 80)) + 0.3 * rng.standard_normal((9, 80))
    settings = Learning(n_atoms=1, max_atoms=1, rounds=1, update_cycles=60)
    atoms, _ = learn_ksvd(samples, settings, rng=np.random.default_rng(0))
    first = np.linalg.svd(samples)[0][:, 0]
    assert abs(first @ atoms[:, 0]) > 1 - 1e-6


def test_every_atom_has_unit_norm(noisy):
    atoms, _ = learn_ksvd(noisy[1], Learning(n_atoms=30, rounds=2), rng=np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(atoms, axis=0), 1, atol=1e-6)
