"""How values follow the light: what becomes of them when there is more of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Curve:
    """More light multiplies what values are above `black`; below `toe` they run straight to 0.

    Values that are light, or a power of it, count from 0. Those of sRGB count from below 0 (IEC 61966-2-1).
    """

    white: float
    black: float = 0.0
    toe: float = 0.0

    @classmethod
    def srgb(cls, white: float) -> "Curve":
        """Return that of sRGB: values + 0.055 are a power of the light, from 0.04045 on."""
        return cls(white, -0.055 * white, 0.04045 * white)

    def multiplied(self, values: NDArray[Any], gains: NDArray[np.floating[Any]]) -> NDArray[Any]:
        """Multiply values (..., c) by gains (c,), in the precision of these."""
        if self.black == 0:
            return np.asarray(values * gains)
        black, toe = gains.dtype.type(self.black), gains.dtype.type(self.toe)
        near_black = np.maximum((toe - black) * gains + black, 0) / toe
        return np.asarray(np.where(values < toe, values * near_black, (values - black) * gains + black))
