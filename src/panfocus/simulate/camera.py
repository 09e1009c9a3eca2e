"""Faults of hand-held cameras and simple rigs: frames that move, breathe and flicker.

Faults apply to the linear light of frames, as `render_light` and `light_through_aperture` return it; `expose`
comes last. They are centred on zero: on average, frames have the geometry and the exposure of the truth.
"""

from dataclasses import dataclass, fields

import numpy as np
from scipy.ndimage import map_coordinates

from panfocus._checks import check_number
from panfocus._intensity import FloatArray
from panfocus.errors import InputError

TURN = 0.5  # movement of a corner by rotation, and by scale, relative to the shift of the frame


@dataclass(frozen=True, kw_only=True)
class CameraFaults:
    """Faults of a stack of frames.

    Attributes
    ----------
    misalignment : float
        Standard deviation of the shift in pixels, down and right. Rotation and scale vary too: each moves the
        corners half as far.
    breathing : float
        Change of scale from the first to the last frame, as a share: 0.002 is 0.2 %.
    flicker : float
        Standard deviation of the exposure of a frame, as a share.
    tint : float
        Standard deviation of the exposure of each channel of a frame, as a share, beyond the flicker.
    """

    misalignment: float = 0.0
    breathing: float = 0.0
    flicker: float = 0.0
    tint: float = 0.0

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            check_number(name, value)
            if not (np.isfinite(value) and (value >= 0 or name == "breathing")):
                raise InputError(f"`{name}` must be at least 0, got {value}.", setting=name, got=value)


def apply_faults(light: FloatArray, faults: CameraFaults, rng: np.random.Generator) -> FloatArray:
    """Return frames (n, h, w, c) of linear light, moved and with varying exposure."""
    n, height, width, channels = light.shape
    at_corner = TURN * faults.misalignment / (np.hypot(height, width) / 2)
    shifts = faults.misalignment * _draw(rng, n, 2)
    angles = at_corner * _draw(rng, n, 1)
    scales = 1 + at_corner * _draw(rng, n, 1) + faults.breathing * np.linspace(-0.5, 0.5, n)[:, None]
    gains = np.exp(faults.flicker * _draw(rng, n, 1) + faults.tint * _draw(rng, n, channels))
    moved = [
        move_frame(frame, shift=shift, angle=float(angle), scale=float(scale))
        for frame, shift, (angle,), (scale,) in zip(light, shifts, angles, scales, strict=True)
    ]
    return np.stack(moved) * gains[:, None, None, :]


def move_frame(
    frame: FloatArray,
    *,
    shift: FloatArray | tuple[float, float] = (0.0, 0.0),
    angle: float = 0.0,
    scale: float = 1.0,
) -> FloatArray:
    """Scale and rotate a frame (h, w, c) around its centre, then shift it; borders are mirrored.

    `shift` is in pixels, down and right; `angle` is in radians, from down to right. Values between pixels are
    those of cubic splines.
    """
    height, width = frame.shape[:2]
    middle = (height - 1) / 2, (width - 1) / 2
    down = np.arange(height)[:, None] - middle[0] - shift[0]
    right = np.arange(width) - middle[1] - shift[1]
    cosine, sine = np.cos(angle) / scale, np.sin(angle) / scale
    places = middle[0] + cosine * down + sine * right, middle[1] - sine * down + cosine * right
    planes = [map_coordinates(frame[..., c], places, order=3, mode="reflect") for c in range(frame.shape[2])]
    return np.stack(planes, axis=2)


def _draw(rng: np.random.Generator, n: int, columns: int) -> FloatArray:
    """Return normal draws (n, columns) with standard deviation 1, and mean 0 in each column."""
    draws = rng.normal(size=(n, columns))
    draws -= draws.mean(axis=0)
    return np.asarray(draws / draws.std())
