"""Q_P: preservation of the sources' edges and corners, by phase congruency."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from panfocus.metrics._images import Plane, check_fusion
from panfocus.metrics._windows import gaussian, zero_padded_filter

_THRESHOLD = 0.1  # phase congruency above this is a feature
_C = 1e-4
_TAPS = gaussian(11, 1.5)

# Phase congruency.
_SCALES, _ORIENTATIONS = 4, 6
_SHORTEST_WAVE, _STEP = 3, 2.1  # wavelength of the finest scale in pixels, and factor between scales
_BANDWIDTH = 0.55  # deviation of the log-Gabor filters, relative to their centre
_ANGULAR_DEVIATION = np.pi / _ORIENTATIONS / 1.2
_LOW_PASS, _LOW_PASS_ORDER = 0.45, 15  # removes the corners of the spectrum, where circles are incomplete
_NOISE_DEVIATIONS, _NOISE_SCALE = 2.0, 1.7
_CUT_OFF, _GAIN = 0.5, 10  # weight that favours responses at many scales
_EPS = 1e-4  # on 0..255

_Filter = NDArray[np.float64]
_Response = NDArray[np.complex128]


def qp(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the local correlation of the sources' features with the fused image's features.

    After Zhao et al. Three maps of each image are compared: its phase congruency P and the largest and the
    smallest moment of P over six directions, which indicate edges and corners. X combines the sources: at
    each pixel it has the three maps of the source with the largest P. In a Gaussian window (11 x 11 pixels,
    standard deviation 1.5), the correlation of a map of source i with the same map of the fused image F is

        (cov(i, F) + C) / (sqrt(|var(i) var(F)|) + C),  C = 1e-4,

    where P_i > 0.1, and 0 elsewhere. The largest value of all sources and X counts. Its sum over all pixels,
    divided by the number of pixels with P_X > 0.1, is one term for each map. Q_P is the product of the three.
    Arguments: see `panfocus.metrics`.

    *Range.* About 0 to 1. Larger is better. Equal images stay below 1 (0.96 to 0.97 for photographs, 0.8 for
    noise), because the maps of the sources are set to 0 outside features and the fused image's maps are not.
    If no source has a feature, as in constant images, the value is 1.

    *Details.* Phase congruency uses log-Gabor filters of 4 scales, from a wavelength of 3 pixels with a
    factor of 2.1, and 6 directions. Outside the image, windows see zeros.

    *What it rewards wrongly.* Empty images: where the fused image has no feature, covariance and variance
    vanish and C / C = 1, so that a constant image scores nearly 1, better than any real fusion. Phase
    congruency does not depend on contrast: a faded feature, or noise that happens to be in phase, counts like
    a strong edge. The largest of several correlations counts, so that any one source is enough.

    *Variants in use.* Kovesi's later programs estimate noise and spread differently and use another factor
    for the moments; ports of Q_P that use them, or images on 0..1, give other values. For images with an odd
    side, one family of scripts shifts a low-pass filter by one frequency, which changes Q_P by up to 4e-3 in
    small images. The definition above extends to more than two sources.

    References
    ----------
    J. Zhao, R. Laganiere, Z. Liu, "Performance assessment of combinative pixel-level image fusion based on an
    absolute feature measurement", International Journal of Innovative Computing, Information and Control
    3(6), 2007. P. Kovesi, "Image features from phase congruency", Videre 1(3), 1999; "Phase congruency
    detects corners and edges", Digital Image Computing: Techniques and Applications, 2003.
    """
    images, result = check_fusion(sources, fused, data_range)
    of_fused = phase_congruency(result.plane())
    of_sources = [phase_congruency(image.plane()) for image in images]
    best = of_sources[0]
    for other in of_sources[1:]:
        stays = best.overall > other.overall
        best = type(best)(*(np.where(stays, a, b) for a, b in zip(best, other, strict=True)))
    candidates = [*of_sources, best]
    features = [candidate.overall > _THRESHOLD for candidate in candidates]
    if not features[-1].any():
        return 1.0
    terms = [
        np.max([_correlation(*pair, of_fused[k]) for pair in zip(maps, features, strict=True)], axis=0).sum()
        / features[-1].sum()
        for k, maps in enumerate(zip(*candidates, strict=True))
    ]
    return float(np.prod(terms))


def _correlation(source: Plane, feature: NDArray[np.bool_], fused: Plane) -> Plane:
    x = np.where(feature, source, 0)
    mean_x, mean_y = _windowed(x), _windowed(fused)
    var_x, var_y = _windowed(x * x) - mean_x**2, _windowed(fused * fused) - mean_y**2
    cov = _windowed(x * fused) - mean_x * mean_y
    return np.where(feature, (cov + _C) / (np.sqrt(np.abs(var_x * var_y)) + _C), 0)


def _windowed(plane: Plane) -> Plane:
    return zero_padded_filter(plane, _TAPS)


class Congruency(NamedTuple):
    """Phase congruency of an image over all orientations, and its moments."""

    overall: Plane
    largest_moment: Plane  # of an edge
    smallest_moment: Plane  # of a corner


def phase_congruency(plane: Plane) -> Congruency:
    """Return the phase congruency of a plane on 0..255, after Kovesi (1999).

    Phase congruency is high where the waves of all scales are in phase: at a step, a line or a corner of any
    contrast. Noise is estimated by the median. Kovesi's later programs differ in several points.

    The moments divide the mixed term by the number of orientations. Half that number would make them
    eigenvalues, but Q_P is defined and published with this division.
    """
    spectrum = fft.fft2(plane)
    radius, angle = _frequencies(plane.shape)
    radial = [_log_gabor(radius, _SHORTEST_WAVE * _STEP**s) for s in range(_SCALES)]
    energy, amplitude, xx, yy, xy = (np.zeros(plane.shape) for _ in range(5))
    for direction in np.arange(_ORIENTATIONS) * np.pi / _ORIENTATIONS:
        angular = _angular_filter(angle, direction)
        filters = [r * angular for r in radial]
        responses = [fft.ifft2(spectrum * f) for f in filters]
        weighted, summed = _congruent_energy(responses, _noise_threshold(responses[0], filters))
        energy += weighted
        amplitude += summed
        congruent = np.divide(weighted, summed, out=np.zeros_like(summed), where=summed > 0)
        across, down = congruent * np.cos(direction), congruent * np.sin(direction)
        xx += across**2
        yy += down**2
        xy += across * down
    xx, yy, xy = xx / (_ORIENTATIONS / 2), yy / (_ORIENTATIONS / 2), xy / _ORIENTATIONS
    spread = np.hypot(xy, xx - yy) + _EPS
    return Congruency(energy / (amplitude + _EPS), (xx + yy + spread) / 2, (xx + yy - spread) / 2)


def _congruent_energy(responses: list[_Response], threshold: float) -> tuple[Plane, Plane]:
    """Return the energy in phase above the noise, weighted by its spread over scales, and the amplitude."""
    amplitudes = [np.abs(r) for r in responses]
    total = np.sum(amplitudes, axis=0)
    mean = np.sum(responses, axis=0)
    mean /= np.abs(mean) + _EPS
    energy = np.zeros(total.shape)
    for r in responses:
        turned = r * mean.conj()  # real along the mean phase, imaginary across it
        energy += turned.real - np.abs(turned.imag)
    width = total / (np.max(amplitudes, axis=0) + _EPS) / _SCALES
    return np.maximum(energy - threshold, 0) / (1 + np.exp(_GAIN * (_CUT_OFF - width))), total


def _noise_threshold(finest: _Response, filters: list[_Filter]) -> float:
    """Return the energy that noise alone would have.

    Its amplitude follows a Rayleigh distribution; its scale comes from the median of the finest responses.
    """
    mean_square = np.median(finest.real**2 + finest.imag**2) / np.log(2)
    filter_power = np.sum(filters[0] ** 2)
    if filter_power == 0:  # a single pixel has no frequencies
        return 0.0
    power = mean_square / filter_power
    # Parseval: sums over pixels of products of the even filters, computed in the spectrum.
    even = [(f + _mirrored(f)) / 2 for f in filters]
    squares = sum(np.vdot(f, f) for f in even)
    products = sum(np.vdot(f, g) for f, g in combinations(even, 2))
    tau = np.sqrt(power * (squares + 2 * products))
    mean, deviation = tau * np.sqrt(np.pi / 2), tau * np.sqrt(2 - np.pi / 2)
    return float((mean + _NOISE_DEVIATIONS * deviation) / _NOISE_SCALE)


def _mirrored(f: _Filter) -> _Filter:
    """Return the filter at the negative frequencies."""
    return np.roll(f[::-1, ::-1], 1, axis=(0, 1))


def _frequencies(shape: tuple[int, ...]) -> tuple[_Filter, _Filter]:
    """Return radius and angle of all frequencies; for an odd side they are stretched to reach 1/2."""
    down, across = (fft.fftfreq(n) * (n / (n - 1) if n % 2 and n > 1 else 1) for n in shape)
    return np.hypot(down[:, None], across), np.arctan2(-down[:, None], across)


def _log_gabor(radius: _Filter, wavelength: float) -> _Filter:
    low_pass = 1 / (1 + (radius / _LOW_PASS) ** (2 * _LOW_PASS_ORDER))
    octaves = np.log(np.where(radius > 0, radius, 1) * wavelength)
    band = np.exp(-(octaves**2) / (2 * np.log(_BANDWIDTH) ** 2)) * low_pass
    return np.where(radius > 0, band, 0)


def _angular_filter(angle: _Filter, direction: float) -> _Filter:
    """Return a Gaussian of the angle to a direction. Each filter passes half of the spectrum."""
    away = np.abs(np.angle(np.exp(1j * (angle - direction))))
    return np.asarray(np.exp(-(away**2) / (2 * _ANGULAR_DEVIATION**2)))
