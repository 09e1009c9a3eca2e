"""Coding: all patches of a 520 x 520 frame, 64 x 512, eps = 0.1, beside SPAMS and bare BLAS correlations."""

import numpy as np
import spams
from threadpoolctl import threadpool_limits

from benchmarks._data import best_time, need_data
from panfocus._threads import available_cores, limit_threads, map_blocks
from panfocus.dictionary import CoupledDictionary
from panfocus.gray import to_gray
from panfocus.io.read import read_image
from panfocus.patches import centred_patches, patch_origins
from panfocus.sparse import Pursuit

EPS = 0.1
BLOCK = 8192


def run() -> dict[str, float]:
    """Measure in turns, so that a noisy machine is noisy for all."""
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
        coded = map_blocks(lambda block: pursuit.summaries(patches[:, block], segments=2), blocks)
        return [summary.counts.sum() for summary in coded]

    # SPAMS stops at an absolute error: patches of norm one make it the same bound.
    unit = np.asfortranarray(patches / np.sqrt(np.maximum(energies, 1e-12)), np.float32)
    columns = np.asfortranarray(dictionary)
    rate_ours = rate_spams = rate_blas = 0.0
    for _ in range(3):
        with limit_threads(threads), threadpool_limits(1):
            rate_ours = max(rate_ours, n / best_time(ours, repeats=2))
        with threadpool_limits(1):  # SPAMS calls BLAS from its own threads
            spams_time = best_time(lambda: spams.omp(unit, columns, eps=EPS, numThreads=threads), repeats=2)
        rate_spams = max(rate_spams, n / spams_time)
        with threadpool_limits(threads):
            rate_blas = max(rate_blas, n / best_time(lambda: columns.T @ unit, repeats=2))
    return {
        "omp_patches_per_second_rate": rate_ours,
        "omp_atoms_per_patch": float(sum(ours()) / n),
        "omp_spams_rate": rate_ours / rate_spams,
        "omp_blas_correlations_rate": rate_ours / rate_blas,
    }
