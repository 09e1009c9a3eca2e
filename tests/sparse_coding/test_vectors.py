"""The kernel's own vectors: narrower ones, as other machines have them, give the same codes."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from panfocus.sparse import Pursuit, _kernel_numba

GUARD = 4096

PROGRAM = """
import sys
import numpy as np
from panfocus.sparse import Pursuit, _kernel_numba
case = np.load(sys.argv[1])
codes = Pursuit(case["D"], max_atoms=30, max_sq_error=0.05).codes(case["X"])
np.savez(sys.argv[2], **vars(codes))
(code,) = _kernel_numba.code_block.inspect_asm().values()
print(*sorted(name for name in ("xmm", "ymm", "zmm") if "%" + name in code))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names processors of this kind")
@pytest.mark.parametrize(
    ("processor", "features", "registers", "fused"),
    [("haswell", "+avx,+avx2,+fma", "xmm ymm", True), ("x86-64", "", "xmm", False)],
)
def test_narrower_vectors_give_the_same_codes(tmp_path, rng, processor, features, registers, fused):
    D = rng.standard_normal((64, 200)).astype(np.float32)
    D /= np.linalg.norm(D, axis=0)
    X = rng.standard_normal((64, 301)).astype(np.float32)
    np.savez(tmp_path / "case.npz", D=D, X=X)
    settings = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "case.npz", tmp_path / "codes.npz"],
        env=os.environ | settings, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == registers.split()
    theirs, ours = np.load(tmp_path / "codes.npz"), Pursuit(D, max_atoms=30, max_sq_error=0.05).codes(X)
    if fused and _machine_fuses():
        for name in theirs.files:
            np.testing.assert_array_equal(theirs[name], getattr(ours, name), err_msg=name)
    else:  # a product that is rounded before it is added may turn a near tie
        same = (theirs["atoms"] == ours.atoms).all(axis=0)
        assert same.mean() > 0.99
        np.testing.assert_allclose(theirs["coefficients"][:, same], ours.coefficients[:, same], atol=1e-4)


def _machine_fuses():
    import llvmlite.binding

    return llvmlite.binding.get_host_cpu_features().get("fma", False)


@pytest.mark.parametrize(("m", "n_atoms", "n"), [(64, 512, 100), (9, 5, 33), (70, 130, 1), (16, 64, 64)])
def test_kernel_writes_only_inside_its_arrays(rng, m, n_atoms, n):
    D = rng.standard_normal((m, n_atoms)).astype(np.float32)
    pursuit = Pursuit(D / np.linalg.norm(D, axis=0), max_atoms=m, max_sq_error=0.001)
    X = rng.standard_normal((n, m)).astype(np.float32)
    guards = []

    def guarded(array):
        """Copy an array to the middle of a longer one, whose ends must not change."""
        room = np.full(array.size + 2 * GUARD, 99, array.dtype)
        guards.append((room[:GUARD], room[-GUARD:]))
        middle = room[GUARD:-GUARD].reshape(array.shape)
        middle[:] = array
        return middle

    work = _kernel_numba.Workspace(*map(guarded, pursuit._workspace()))
    read = map(guarded, (X, pursuit._panels, pursuit._atoms, pursuit._gram))
    k = pursuit.max_atoms
    kinds = [((n, k), np.int32), ((n, k), np.float32), (n, np.int32), (n, np.float64), (n, np.uint8)]
    written = [np.zeros(shape, dtype) for shape, dtype in kinds]
    written[0][:] = -1
    outputs = [guarded(array) for array in written]
    _kernel_numba.code_block(*read, pursuit._bounds, work, *outputs)
    assert all((end == 99).all() for ends in guards for end in ends)
    codes = pursuit.codes(X.T)
    for array, name in zip(outputs, ("atoms", "coefficients", "counts", "sq_errors", "stops"), strict=True):
        np.testing.assert_array_equal(array.T, getattr(codes, name), err_msg=name)
