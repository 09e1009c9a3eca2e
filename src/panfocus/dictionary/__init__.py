"""Dictionaries for sparse coding: files, learning, and pictures of their atoms."""

from panfocus.dictionary.coupled import DEFAULT_NAMES, CoupledDictionary
from panfocus.dictionary.learning import Learning, Round, learn_coupled, overcomplete_dct
from panfocus.dictionary.picture import atoms_picture

__all__ = [
    "DEFAULT_NAMES",
    "CoupledDictionary",
    "Learning",
    "Round",
    "atoms_picture",
    "learn_coupled",
    "overcomplete_dct",
]
