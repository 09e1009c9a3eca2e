"""Sparse coding: represent a patch by few atoms of a dictionary."""

from panfocus.sparse.omp import CodeSummaries, Pursuit, SparseCodes, Stop, batch_omp, batch_omp_plain

__all__ = ["CodeSummaries", "Pursuit", "SparseCodes", "Stop", "batch_omp", "batch_omp_plain"]
