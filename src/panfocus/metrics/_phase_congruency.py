"""Phase congruency after Kovesi: where the waves of an image, at all scales, are in step.

A step, a line or a corner is where they are, whatever its contrast. The form is that of 1999 with the noise
estimate by the median, as the fusion metric Q_P takes it; Kovesi's later programs differ in several points.

References
----------
P. Kovesi, "Image features from phase congruency", Videre 1(3), 1999; "Phase congruency detects corners and
edges", Digital Image Computing: Techniques and Applications, 2003.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from panfocus.metrics._inputs import Plane

_SCALES, _ORIENTATIONS = 4, 6
_SHORTEST_WAVE, _STEP = 3, 2.1  # wavelength of the finest scale in pixels, and from scale to scale
_BANDWIDTH = 0.55  # deviation of the log-Gabor filters over their centre
_ANGULAR_DEVIATION = np.pi / _ORIENTATIONS / 1.2
_LOW_PASS, _LOW_PASS_ORDER = 0.45, 15  # takes off the corners of the spectrum, which no full circle reaches
_NOISE_DEVIATIONS, _NOISE_SCALE = 2.0, 1.7
_CUT_OFF, _GAIN = 0.5, 10  # of the weight that asks for many scales
_EPS = 1e-4  # on 0..255

_Filter = NDArray[np.float64]
_Response = NDArray[np.complex128]


class Congruency(NamedTuple):
    """Phase congruency of an image over all orientations, and its moments across them."""

    overall: Plane
    largest_moment: Plane  # of an edge
    smallest_moment: Plane  # of a corner


def phase_congruency(plane: Plane) -> Congruency:
    """Return the phase congruency of a plane on 0..255.

    The moments divide the mixed term by the number of orientations, half of what would make them the
    eigenvalues they are named after: the metric Q_P is defined and published with this division.
    """
    spectrum = fft.fft2(plane)
    radius, angle = _frequencies(plane.shape)
    radial = [_log_gabor(radius, _SHORTEST_WAVE * _STEP**s) for s in range(_SCALES)]
    energy, amplitude, xx, yy, xy = (np.zeros(plane.shape) for _ in range(5))
    for direction in np.arange(_ORIENTATIONS) * np.pi / _ORIENTATIONS:
        angular = _towards(angle, direction)
        filters = [r * angular for r in radial]
        responses = [fft.ifft2(spectrum * f) for f in filters]
        weighted, total = _in_step(responses, _noise_threshold(responses[0], filters))
        energy += weighted
        amplitude += total
        congruent = np.divide(weighted, total, out=np.zeros_like(total), where=total > 0)
        across, down = congruent * np.cos(direction), congruent * np.sin(direction)
        xx += across**2
        yy += down**2
        xy += across * down
    xx, yy, xy = xx / (_ORIENTATIONS / 2), yy / (_ORIENTATIONS / 2), xy / _ORIENTATIONS
    spread = np.hypot(xy, xx - yy) + _EPS
    return Congruency(energy / (amplitude + _EPS), (xx + yy + spread) / 2, (xx + yy - spread) / 2)


def _in_step(responses: list[_Response], threshold: float) -> tuple[Plane, Plane]:
    """Energy of the scales that are in step, above the noise and weighted by their spread; and amplitudes."""
    amplitudes = [np.abs(r) for r in responses]
    total = np.sum(amplitudes, axis=0)
    mean = np.sum(responses, axis=0)
    mean /= np.abs(mean) + _EPS
    energy = np.zeros(total.shape)
    for r in responses:
        turned = r * mean.conj()  # along the mean phase and across it
        energy += turned.real - np.abs(turned.imag)
    width = total / (np.max(amplitudes, axis=0) + _EPS) / _SCALES
    return np.maximum(energy - threshold, 0) / (1 + np.exp(_GAIN * (_CUT_OFF - width))), total


def _noise_threshold(finest: _Response, filters: list[_Filter]) -> float:
    """Energy that noise alone would give: a Rayleigh law whose scale the finest responses tell.

    Half of their squared amplitudes lie below the median, as an exponential law has it.
    """
    mean_square = np.median(finest.real**2 + finest.imag**2) / np.log(2)
    filter_power = np.sum(filters[0] ** 2)
    if filter_power == 0:  # a single pixel has no waves
        return 0.0
    power = mean_square / filter_power
    # Parseval: sums over pixels of the even filters' products, taken in the spectrum.
    even = [(f + _mirrored(f)) / 2 for f in filters]
    squares = sum(np.vdot(f, f) for f in even)
    products = sum(np.vdot(f, g) for f, g in combinations(even, 2))
    tau = np.sqrt(power * (squares + 2 * products))
    mean, deviation = tau * np.sqrt(np.pi / 2), tau * np.sqrt(2 - np.pi / 2)
    return float((mean + _NOISE_DEVIATIONS * deviation) / _NOISE_SCALE)


def _mirrored(f: _Filter) -> _Filter:
    """Take the filter at the negative frequencies."""
    return np.roll(f[::-1, ::-1], 1, axis=(0, 1))


def _frequencies(shape: tuple[int, ...]) -> tuple[_Filter, _Filter]:
    """Radius and angle of all frequencies; those of an odd side are stretched to reach 1/2 exactly."""
    down, across = (fft.fftfreq(n) * (n / (n - 1) if n % 2 and n > 1 else 1) for n in shape)
    return np.hypot(down[:, None], across), np.arctan2(-down[:, None], across)


def _log_gabor(radius: _Filter, wavelength: float) -> _Filter:
    low_pass = 1 / (1 + (radius / _LOW_PASS) ** (2 * _LOW_PASS_ORDER))
    octaves = np.log(np.where(radius > 0, radius, 1) * wavelength)
    band = np.exp(-(octaves**2) / (2 * np.log(_BANDWIDTH) ** 2)) * low_pass
    return np.where(radius > 0, band, 0)


def _towards(angle: _Filter, direction: float) -> _Filter:
    """Gaussian of the angle to one direction, so that each filter keeps one half of the spectrum."""
    away = np.abs(np.angle(np.exp(1j * (angle - direction))))
    return np.asarray(np.exp(-(away**2) / (2 * _ANGULAR_DEVIATION**2)))
