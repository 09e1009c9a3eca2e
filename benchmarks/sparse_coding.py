"""Sparse coding of all patches of a 520 x 520 frame (64 x 512, eps = 0.1), compared with SPAMS."""

from typing import Any

import numba
import numpy as np
import spams
from llvmlite import ir
from numba import types
from threadpoolctl import threadpool_limits

from benchmarks._data import best_time, need_data
from panfocus._threads import available_cores, limit_threads, map_blocks
from panfocus.decide.gray import to_gray
from panfocus.decide.patches import centred_patches, patch_origins
from panfocus.dictionary import CoupledDictionary
from panfocus.io.read_stack import read_image
from panfocus.sparse import Pursuit
from panfocus.sparse._kernel_vectors import _inner_loop, _Vectors

EPS = 0.1
BLOCK = 8192
CHAINS = 12  # independent chains of fused operations, more than any machine runs at once
ROUNDS = 64_000_000  # operations per chain


def run() -> dict[str, float]:
    """Measure in turns, so that other load affects all."""
    gray = to_gray(read_image(need_data() / "lytro" / "lytro-01-A.jpg"))
    dictionary = CoupledDictionary.default().matrix
    size = 8
    origins = patch_origins(len(gray), size, 1)
    patches, energies = centred_patches(gray, origins, origins, size)
    n = patches.shape[1]
    threads = available_cores()

    pursuit = Pursuit(dictionary, max_atoms=size**2, max_sq_error=EPS)
    blocks = [slice(start, start + BLOCK) for start in range(0, n, BLOCK)]

    def ours() -> list[float]:
        coded = map_blocks(lambda block: pursuit.l1_norms(patches[:, block], segments=2), blocks)
        return [norms.sum() for norms in coded]

    # SPAMS stops at an absolute error, which is the same bound for patches of norm one.
    unit = np.asfortranarray(patches / np.sqrt(np.maximum(energies, 1e-12)), np.float32)
    columns = np.asfortranarray(dictionary)
    rate_ours = rate_spams = rate_blas = peak = bandwidth = 0.0
    for _ in range(3):
        with limit_threads(threads):
            peak = max(peak, _peak(threads))
            bandwidth = max(bandwidth, _bandwidth(threads))
        with limit_threads(threads), threadpool_limits(1):
            rate_ours = max(rate_ours, n / best_time(ours, repeats=2))
        with threadpool_limits(1):  # SPAMS calls BLAS from its own threads
            spams_time = best_time(lambda: spams.omp(unit, columns, eps=EPS, numThreads=threads), repeats=2)
        rate_spams = max(rate_spams, n / spams_time)
        with threadpool_limits(threads):
            rate_blas = max(rate_blas, n / best_time(lambda: columns.T @ unit, repeats=2))
    counts = pursuit.codes(patches).counts
    operations = _operations(counts, *dictionary.shape) / n
    return {
        "omp_patches_per_second_rate": rate_ours,
        "omp_atoms_per_patch": float(counts.mean()),
        "omp_peak_share_rate": rate_ours * operations / peak,
        "omp_bytes_share_rate": rate_ours * patches.itemsize * len(patches) / bandwidth,
        "omp_spams_rate": rate_ours / rate_spams,
        "omp_blas_correlations_rate": rate_ours / rate_blas,
    }


def _operations(counts, m: int, n_atoms: int) -> float:
    """Return the float32 operations: D'x, then p + 2 rows of atoms in each step p but the last."""
    steps = np.maximum(counts.astype(np.float64) - 1, 0)
    in_steps = steps * (steps - 1) + 3 * steps  # the sum of 2 p + 3 over p < steps
    return float(len(counts) * 2 * m * n_atoms + n_atoms * in_steps.sum())


@_inner_loop(types.float32)
def _fused_operations(v: _Vectors, n: Any, factor: Any) -> Any:
    """Multiply and add n times in each chain, without memory access."""
    b = v.builder
    sums, factors = v.variables(CHAINS, v.floats, 1), v.splat(factor)
    with v.steps(n, v.lanes):
        for total in sums:
            b.store(v.add_product(factors, b.load(total), factors), total)
    result = b.load(sums[0])
    for total in sums[1:]:
        result = b.fadd(result, b.load(total))
    first, *others = (b.extract_element(result, ir.IntType(32)(lane)) for lane in range(v.lanes))
    for lane in others:
        first = b.fadd(first, lane)
    return first


@numba.njit(nogil=True)
def _run_chains(n, factor):
    return _fused_operations(n, factor)


def _peak(threads: int) -> float:
    """Return the peak operations per second of all threads with fused multiply-add."""
    half = np.float32(0.5)
    seconds = best_time(lambda: list(map_blocks(lambda _: _run_chains(ROUNDS, half), range(threads))))
    return threads * ROUNDS * CHAINS * 2 / seconds


def _bandwidth(threads: int) -> float:
    """Return the bytes per second that all threads read from memory, beyond the caches."""
    large = np.ones((threads, 1 << 26), np.float32)
    return large.nbytes / best_time(lambda: list(map_blocks(np.max, large)), repeats=3)
