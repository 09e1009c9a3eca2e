"""Sparse coding: represent a patch by few atoms of a dictionary."""

from panfocus.sparse.omp import Pursuit, SparseCodes, Stop

__all__ = ["Pursuit", "SparseCodes", "Stop"]
