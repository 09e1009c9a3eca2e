"""A ramp of colours for values that have an order: equal steps look equally large, in grey too."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Lightness, hue in degrees, and chroma as far as a screen has it, in Ottosson's Oklab: from violet by blue
# and green to yellow, all the time brighter.
LIGHTNESS, HUE, CHROMA = (0.22, 0.94), (300.0, 105.0), 0.13

# Of Oklab: to the roots of cone responses, and from those responses to linear sRGB.
_TO_ROOTS = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
_TO_LINEAR = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


@cache
def ramp() -> NDArray[np.uint8]:
    """Return its 256 colours (256, 3), dark to bright."""
    share = np.linspace(0, 1, 256)
    lightness = LIGHTNESS[0] + share * (LIGHTNESS[1] - LIGHTNESS[0])
    hue = np.deg2rad(HUE[0] + share * (HUE[1] - HUE[0]))
    # The largest chroma that can be shown, up to the one that is wanted: halved towards it.
    low, high = np.zeros(256), np.full(256, 2 * CHROMA)
    for _ in range(30):
        chroma = np.minimum((low + high) / 2, CHROMA)
        linear = _linear(lightness, hue, chroma)
        fits = (linear.min(axis=1) >= 0) & (linear.max(axis=1) <= 1)
        low, high = np.where(fits, (low + high) / 2, low), np.where(fits, high, (low + high) / 2)
    linear = np.clip(_linear(lightness, hue, np.minimum(low, CHROMA)), 0, 1)
    srgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.asarray(np.rint(255 * srgb), np.uint8)


def coloured(unit: NDArray[Any]) -> NDArray[np.uint8]:
    """Give values of 0 to 1 the colours of the ramp; what is outside has those of its ends."""
    return np.asarray(ramp()[np.rint(255 * np.clip(unit, 0, 1)).astype(np.uint8)])


def _linear(lightness: NDArray[Any], hue: NDArray[Any], chroma: NDArray[Any]) -> NDArray[Any]:
    lab = np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], axis=1)
    return np.asarray((lab @ _TO_ROOTS.T) ** 3 @ _TO_LINEAR.T)
