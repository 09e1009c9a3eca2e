"""Focal stacks of fluorescent specimens, in a wide-field or a confocal microscope, and their ground truth.

Each slice of the specimen emits light, and the light of all slices adds up. A slice is blurred by the point
spread at its distance from the focus: the squared amplitude of a wave that passes a round pupil with defocus.

- Wide field: all light reaches the camera, so slices out of focus become haze.
- Confocal: a focused spot excites the specimen, and a pinhole stops most light from other heights. Slices out
  of focus vanish.

Images wrap around at the borders: draw specimens with a margin and crop it. Heights are in micrometres.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.special import j1

from panfocus._checks import check_number
from panfocus._intensity import FloatArray
from panfocus.errors import InputError
from panfocus.simulate.defocus import check_positive
from panfocus.simulate.detail import find_strongest, local_detail
from panfocus.simulate.waves import advance, frequencies, phasor, pupil_of

AIRY = 0.61  # radius of the first dark ring of a point in focus, in wavelengths / aperture
TWELVE_BITS = 4095


@dataclass(frozen=True, kw_only=True)
class FluorescenceMicroscope:
    """Optics of a fluorescence microscope.

    Attributes
    ----------
    pixel : float
        Size of a pixel on the specimen in micrometres.
    aperture : float
        Numerical aperture of the objective.
    index : float
        Refractive index of the medium around the specimen.
    wavelength : float
        Wavelength of the emitted light in micrometres.
    excitation : float, optional
        Wavelength of the exciting light of a confocal microscope, in micrometres; None for wide field.
    pinhole : float
        Diameter of the pinhole of a confocal microscope in Airy units.
    """

    pixel: float = 0.2
    aperture: float = 0.8
    index: float = 1.33
    wavelength: float = 0.52
    excitation: float | None = None
    pinhole: float = 1.0

    def __post_init__(self) -> None:
        for name in ("pixel", "aperture", "index", "wavelength", "pinhole"):
            check_positive(name, getattr(self, name))
        if self.excitation is not None:
            check_positive("excitation", self.excitation)
        if self.aperture >= self.index:
            raise InputError(
                f"`aperture` must be below the refractive index {self.index:g}, got {self.aperture:g}.",
                setting="aperture",
                got=self.aperture,
            )

    @property
    def depth_of_field(self) -> float:
        """Depth of field in micrometres."""
        return self.index * self.wavelength / self.aperture**2


class _Transfer:
    """Transfer of light from one height to the image, on a grid of frequencies."""

    def __init__(self, microscope: FluorescenceMicroscope, shape: tuple[int, int]) -> None:
        down, right = frequencies(*shape, microscope.pixel)
        squares = down**2 + right**2
        cutoff = microscope.aperture / microscope.wavelength
        self.emitted = _Wave(microscope, squares, microscope.wavelength)
        self.excited = microscope.excitation and _Wave(microscope, squares, microscope.excitation)
        radius = microscope.pinhole * AIRY / cutoff
        reach = np.maximum(2 * np.pi * radius * np.sqrt(squares), np.float32(1e-3))
        self.hole = 2 * j1(reach) / reach  # transform of an even disk
        self.in_focus = self.spread(0.0).sum()

    def spread(self, defocus: float) -> NDArray[np.float32]:
        """Return the point spread around pixel (0, 0)."""
        emitted = self.emitted.intensity(defocus)
        if not self.excited:
            return emitted
        passed = fft.ifft2(fft.fft2(emitted, workers=1) * self.hole, workers=1).real
        return np.asarray(passed * self.excited.intensity(defocus))

    def at(self, defocus: float) -> NDArray[np.float32]:
        """Return the transfer (h, w // 2 + 1); at frequency 0 it is the share of light, relative to focus."""
        return np.asarray(fft.rfft2(self.spread(defocus) / self.in_focus, workers=1).real)


class _Wave:
    """Light of one point, through the pupil of the objective."""

    def __init__(
        self, microscope: FluorescenceMicroscope, squares: NDArray[np.float32], wavelength: float
    ) -> None:
        self.pupil = pupil_of(squares, microscope.aperture / wavelength, microscope.pixel)
        self.advance = advance(squares, microscope.index / wavelength)

    def intensity(self, defocus: float) -> NDArray[np.float32]:
        """Return the intensity at a distance from the focus, with sum 1."""
        wave = fft.ifft2(phasor(np.float32(defocus) * self.advance, self.pupil), workers=1)
        intensity = wave.real**2 + wave.imag**2
        return np.asarray(intensity / intensity.sum())


def image_emitters(
    emission: FloatArray,
    heights: Sequence[float],
    focus: Sequence[float],
    microscope: FluorescenceMicroscope,
) -> NDArray[np.float32]:
    """Return the light of slices at each focus.

    Parameters
    ----------
    emission : ndarray (k, h, w)
        Light that each slice emits.
    heights, focus : sequence of float
        Heights of the slices, and heights on which the frames are focused, in micrometres.
    microscope : FluorescenceMicroscope
        The optics.

    Returns
    -------
    ndarray of float32 (n, h, w)
    """
    if len(emission) != len(heights):
        raise InputError(
            f"There are {len(emission)} slices and {len(heights)} heights.",
            setting="heights",
            got=len(heights),
        )
    shape = emission.shape[1:]
    spectra = fft.rfft2(emission.astype(np.float32), workers=1)
    transfer = cache(_Transfer(microscope, (shape[0], shape[1])).at)
    light = np.empty((len(focus), *shape), np.float32)
    for frame, plane in zip(light, focus, strict=True):
        seen = np.zeros_like(spectra[0])
        for spectrum, height in zip(spectra, heights, strict=True):
            seen += spectrum * transfer(round(abs(plane - height), 6))  # even in defocus; to 1 pm
        frame[:] = np.maximum(fft.irfft2(seen, shape, workers=1), 0)  # rounding errors
    return light


def image_emitters_sharp(emission: FloatArray, microscope: FluorescenceMicroscope) -> NDArray[np.float32]:
    """Return the light (h, w) of slices (k, h, w) that are all in focus."""
    return np.squeeze(image_emitters(emission.sum(axis=0, keepdims=True), [0], [0], microscope), axis=0)


def find_emitter_depth(
    emission: FloatArray, heights: FloatArray, microscope: FluorescenceMicroscope
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the height (h, w) of the strongest detail, its strength and its share of all detail.

    The detail of a slice is its local contrast in focus. Slices within the depth of field count as one.
    """
    in_focus = [image_emitters_sharp(slice_[None], microscope) for slice_ in emission]
    return find_strongest(
        np.stack([local_detail(image) for image in in_focus]), heights, microscope.depth_of_field / 2
    )


def count_photons(
    light: FloatArray,
    *,
    photons: float,
    gain: float,
    offset: float,
    read_noise: float,
    rng: np.random.Generator | None,
) -> NDArray[np.uint16]:
    """Return the counts of a 12-bit camera.

    Parameters
    ----------
    light : ndarray
        Light of each pixel.
    photons : float
        Mean number of photons for light 1.
    gain : float
        Counts per photon.
    offset : float
        Counts without light.
    read_noise : float
        Standard deviation of the normal noise of the electronics in counts.
    rng : Generator or None
        Random generator; None gives the mean counts, without noise.
    """
    for name, value in (("photons", photons), ("gain", gain)):
        check_positive(name, value)
    check_number("offset", offset)
    expected = photons * light.astype(np.float64)
    if rng is None:
        counts = offset + gain * expected
    else:
        counts = offset + gain * rng.poisson(expected) + rng.normal(0.0, read_noise, light.shape)
    return np.clip(np.rint(counts), 0, TWELVE_BITS).astype(np.uint16)
