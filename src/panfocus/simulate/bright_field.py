"""Focal stacks of transparent specimens in a bright-field microscope, and their ground truth.

The specimen is a series of thin slices. Each absorbs light and delays it. Images are partially coherent:

- The condenser lights the specimen from several directions, evenly spread over its aperture. The light of
  each direction is a plane wave. It passes the slices from the lowest to the highest: a slice multiplies the
  wave by its transmission, and between slices the wave propagates exactly (angular spectrum).
- The objective transmits the directions within its aperture and focuses on one height after another. The
  intensities of all directions add up, for each wavelength.
- Absorption darkens in focus, and its contrast is even in defocus. Delay is invisible in focus, and its
  contrast changes sign with defocus.

Waves wrap around at the borders: draw specimens with a margin and crop it. Heights are in micrometres, and
the objective is above the specimen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from panfocus._checks import check_integer
from panfocus._intensity import FloatArray
from panfocus.errors import InputError
from panfocus.simulate.defocus import check_positive
from panfocus.simulate.detail import find_strongest, local_detail
from panfocus.simulate.waves import advance, frequencies, phasor, pupil_of

GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))  # turn between the points of a spiral that fills a disk evenly


@dataclass(frozen=True, eq=False)
class Specimen:
    """Thin slices of a transparent specimen, the lowest first.

    Attributes
    ----------
    heights : ndarray (k,)
        Heights of the slices in micrometres, ascending.
    absorbance : ndarray (k, h, w, c)
        Negative decadic logarithm of the transmission of each slice, for each wavelength.
    delay : ndarray (k, h, w)
        Optical path difference of each slice in micrometres.
    """

    heights: FloatArray
    absorbance: FloatArray
    delay: FloatArray

    def __post_init__(self) -> None:
        if self.absorbance.ndim != 4 or self.absorbance.shape[:3] != self.delay.shape:
            raise InputError(
                "`absorbance` must have shape (k, h, w, c) and `delay` (k, h, w), got "
                f"{self.absorbance.shape} and {self.delay.shape}.",
                setting="delay",
                got=self.delay.shape,
            )
        if np.shape(self.heights) != self.delay.shape[:1] or not (np.diff(self.heights) > 0).all():
            raise InputError("`heights` must ascend, one per slice.", setting="heights", got=self.heights)


@dataclass(frozen=True, kw_only=True)
class Microscope:
    """Optics of a microscope.

    Attributes
    ----------
    pixel : float
        Size of a pixel on the specimen in micrometres.
    aperture : float
        Numerical aperture of the objective.
    condenser : float
        Aperture of the condenser as a share of the aperture of the objective. Small values give strong phase
        contrast out of focus, large values little.
    index : float
        Refractive index of the medium around the specimen.
    wavelengths : tuple of float
        Wavelengths of the colour channels in micrometres.
    n_directions : int
        Number of directions of illumination.
    """

    pixel: float = 0.2
    aperture: float = 0.65
    condenser: float = 0.6
    index: float = 1.5
    wavelengths: tuple[float, ...] = (0.61, 0.54, 0.46)
    n_directions: int = 20

    def __post_init__(self) -> None:
        for name in ("pixel", "aperture", "index"):
            check_positive(name, getattr(self, name))
        for wavelength in self.wavelengths:
            check_positive("wavelengths", wavelength)
        if not 0 <= self.condenser * self.aperture < self.index > self.aperture:
            raise InputError(
                f"Apertures must be below the refractive index {self.index:g}.", setting="aperture"
            )
        check_integer("n_directions", self.n_directions, at_least=1)

    @property
    def depth_of_field(self) -> float:
        """Depth of field in micrometres, of the middle wavelength."""
        return self.index * float(np.median(self.wavelengths)) / self.aperture**2


def image_specimen(
    specimen: Specimen,
    focus: Sequence[float],
    microscope: Microscope,
    *,
    shifts: FloatArray | None = None,
) -> NDArray[np.float32]:
    """Return the light of a specimen at each focus; without a specimen it is 1.

    Parameters
    ----------
    specimen : Specimen
        The slices.
    focus : sequence of float
        Heights in micrometres on which the frames are focused.
    microscope : Microscope
        The optics. Its wavelengths belong to the channels of the specimen.
    shifts : ndarray (n, 2), optional
        Shift of each frame in pixels, down and to the right.

    Returns
    -------
    ndarray of float32 (n, h, w, c)
    """
    _, height, width, n_channels = specimen.absorbance.shape
    if n_channels != len(microscope.wavelengths):
        raise InputError(
            f"The specimen has {n_channels} channels and the microscope {len(microscope.wavelengths)} "
            "wavelengths.",
            setting="wavelengths",
        )
    light = np.zeros((len(focus), height, width, n_channels), np.float32)
    for channel in range(n_channels):
        light[..., channel] = _image_channel(specimen, channel, focus, microscope, shifts)
    return light


def image_sharp(specimen: Specimen, microscope: Microscope) -> NDArray[np.float32]:
    """Return the light (h, w, c) of a specimen whose slices are all in focus and delay nothing.

    This is the image that the microscope forms of one slice with all the absorbance. It is sharper than the
    incoherent image; against that one, a frame in perfect focus has a quarter too much detail.
    """
    absorbance = specimen.absorbance.sum(axis=0, keepdims=True)
    flat = Specimen(np.zeros(1), absorbance, np.zeros_like(specimen.delay[:1]))
    return np.squeeze(image_specimen(flat, [0.0], microscope), axis=0)


def find_depth(specimen: Specimen, microscope: Microscope) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the height of the detail at each pixel, its strength and its concentration.

    The detail of a slice is the local contrast of its absorbance, averaged over the channels. Slices within
    the depth of field count as one: the height is the mean of the strongest group.

    Returns
    -------
    height : ndarray (h, w)
        Height in micrometres.
    strength : ndarray (h, w)
        Detail around that height, as absorbance.
    share : ndarray (h, w)
        Share of this detail in the detail of all heights, 0 to 1.
    """
    details = np.stack([local_detail(slice_.mean(axis=2)) for slice_ in specimen.absorbance])
    return find_strongest(details, specimen.heights, microscope.depth_of_field / 2)


def _image_channel(
    specimen: Specimen,
    channel: int,
    focus: Sequence[float],
    microscope: Microscope,
    shifts: FloatArray | None,
) -> NDArray[np.float32]:
    wavelength = microscope.wavelengths[channel]
    # the amplitude is the root of the transmitted intensity
    slices = phasor(
        (2 * np.pi / wavelength) * specimen.delay,
        10.0 ** (-0.5 * specimen.absorbance[..., channel]),
    )
    down, right = frequencies(slices.shape[1], slices.shape[2], microscope.pixel)
    gaps = np.diff(specimen.heights)
    cutoff = microscope.aperture / wavelength
    directions = (microscope.condenser * cutoff * _spiral(microscope.n_directions)).astype(np.float32)
    light = np.zeros((len(focus), *slices.shape[1:]), np.float32)
    empty = 0.0  # light without a specimen
    for tilt_down, tilt_right in directions:
        # The carrier of the tilted wave is left out; frequencies count from it.
        squares = (down + tilt_down) ** 2 + (right + tilt_right) ** 2
        along = advance(squares, microscope.index / wavelength)
        passes = (squares < (microscope.index / wavelength) ** 2).astype(np.float32)
        pupil = pupil_of(squares, cutoff, microscope.pixel)
        empty += float(pupil[0, 0]) ** 2
        wave = slices[0]
        last_gap, step = np.nan, passes
        for slice_, gap in zip(slices[1:], gaps, strict=True):
            if not np.isclose(gap, last_gap):
                last_gap, step = gap, phasor(np.float32(gap) * along, passes)
            wave = _apply(wave, step) * slice_
        spectrum = fft.fft2(wave, workers=1) * pupil
        for i, height in enumerate(focus):
            phase = np.float32(height - specimen.heights[-1]) * along
            if shifts is not None:
                phase = phase - (2 * np.pi * microscope.pixel) * (shifts[i, 0] * down + shifts[i, 1] * right)
            seen = fft.ifft2(spectrum * phasor(phase, 1.0), workers=1, overwrite_x=True)
            light[i] += seen.real**2 + seen.imag**2
    light /= empty
    return light


def _apply(wave: NDArray[np.complex64], transfer: NDArray[np.complex64]) -> NDArray[np.complex64]:
    return fft.ifft2(fft.fft2(wave, workers=1) * transfer, workers=1, overwrite_x=True)


def _spiral(n_points: int) -> FloatArray:
    """Return points (n, 2) spread evenly over a disk of radius 1."""
    order = np.arange(n_points)
    radius, turn = np.sqrt((order + 0.5) / n_points), GOLDEN_ANGLE * order
    return np.stack([radius * np.sin(turn), radius * np.cos(turn)], axis=1)
