"""Sparse coding: few atoms of a dictionary that explain a patch."""

from panfocus.sparse.omp import CodeSummaries, Pursuit, SparseCodes, Stop, batch_omp, batch_omp_plain

__all__ = ["CodeSummaries", "Pursuit", "SparseCodes", "Stop", "batch_omp", "batch_omp_plain"]
