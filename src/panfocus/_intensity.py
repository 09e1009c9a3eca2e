"""Intensity scale: conversion between the values of a file and the unit range."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.errors import InputError

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]

SUPPORTED_DTYPES = ("uint8", "uint16", "float32", "float64")


@dataclass(frozen=True)
class IntensityScale:
    """Black, white and dtype of frames. Float frames are in unit range already."""

    black: float
    white: float
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, dtype: np.dtype[Any]) -> "IntensityScale":
        """Return the full scale of a dtype: 0..255, 0..65535, or 0..1 for floats."""
        if dtype.name not in SUPPORTED_DTYPES:
            raise InputError(
                f"Frames have dtype {dtype.name}, supported are {', '.join(SUPPORTED_DTYPES)}.",
                got=dtype.name,
            )
        white = float(np.iinfo(dtype).max) if np.issubdtype(dtype, np.integer) else 1.0
        return cls(black=0.0, white=white, dtype=dtype)

    @property
    def step(self) -> float:
        """Smallest difference of two integer values, in unit range; 0 for floats."""
        return 1 / (self.white - self.black) if np.issubdtype(self.dtype, np.integer) else 0.0

    def to_unit(self, values: NDArray[Any]) -> FloatArray:
        """Scale values to 0..1: float64 stays float64, everything else becomes float32."""
        working = np.float64 if values.dtype == np.float64 else np.float32
        unit: FloatArray = values.astype(working)
        if (self.black, self.white) != (0.0, 1.0):
            unit = (unit - working(self.black)) / working(self.white - self.black)
        return unit

    def from_unit(self, unit: FloatArray) -> NDArray[Any]:
        """Scale 0..1 back to the dtype of the frames; integers are rounded and clipped, floats are not."""
        values = unit * (self.white - self.black) + self.black
        if np.issubdtype(self.dtype, np.integer):
            limits = np.iinfo(self.dtype)
            values = np.clip(np.rint(values), limits.min, limits.max)
        return values.astype(self.dtype)
