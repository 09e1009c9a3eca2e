"""The house method: frames explain each other, places know their depth, and what is never sharp is said.

docs/panfocus-method.md has the model, its equations and the reason of every constant.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import one_of, real_number
from panfocus._filters import filtered, gaussian, reach
from panfocus._float import FloatArray, IntensityScale
from panfocus.compose import as_votes, by_labels, by_votes
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.gray import colours, to_gray
from panfocus.methods._method import FusionMethod, FusionResult
from panfocus.methods._never_in_focus import never_in_focus, never_in_focus_reach, own_scale
from panfocus.methods._sparse import check_dictionary
from panfocus.methods._tile import Tile
from panfocus.select import depth_between, log_odds, log_odds_reach, most_probable, noise_level, probabilities

Composition = Literal["blend", "labels"]
Front = Literal["unknown", "first", "last"]

LEVELS = 255  # from dark to bright: the unit in which frames are compared
DARK, BRIGHT = 0.1, 99.9  # percentiles of the grey values: a few extreme pixels do not set the scale
LARGEST_NOISE = 25.0  # levels; a window for more would cover what it is to tell apart

# Weights of the frames are their probabilities, averaged over hardly more than a pixel; a tenth of them over
# more, so that no seam shows and a wrong border costs less.
SEAM, WIDE_SEAM, WIDE_SHARE = gaussian(0.5), gaussian(5.0, cut=2), np.float32(0.1)

# Evidence is gathered over windows of these standard deviations, in pixels, together. The narrow one follows
# the borders of things, the wider ones decide for places that have too little to show; they are made of the
# narrow one, in steps.
NARROW, WIDER, WIDEST = 3.0, 8.0, 20.0
GATHER = gaussian(NARROW, cut=2)
GATHER_MORE = gaussian(float(np.sqrt(WIDER**2 - NARROW**2)), cut=2, step=3)
GATHER_MOST = gaussian(float(np.sqrt(WIDEST**2 - NARROW**2)), cut=2, step=6)
MOST_LOG_ODDS = np.float32(8.0)  # that a single pixel may bring in: a vote among many, not a veto
# And labels agree with those around them: log odds that unanimous surroundings are worth, and their width.
COUPLING, SURROUNDINGS = np.float32(4.0), gaussian(15.0, cut=2, step=3)

# Log odds with which a place at the first or the last frame would lose sharpness beyond it: clear, but less
# than most places have between frames, so that depth stays at the end unless the next frame is as sharp.
BEYOND = 3.0
# Labels take all of it; a pixel of the picture, which follows finer things, takes this share of the narrow
# and the wider window, so that it is not left to chance where its own odds say little; and more in doubt.
SHARE, SHARE_IN_DOUBT = np.float32(0.1), np.float32(0.5)
# Where the front is known, a place beside it leans to the front's frame by so many log odds; how near that
# is, by this width.
LEAN, BESIDE = np.float32(0.5), gaussian(4.0, cut=2)


@dataclass(frozen=True, kw_only=True)
class PanFocus:
    """Weigh each frame by the probability that it is the sharpest here, from frames that explain each other.

    Labels are those of the surroundings as a whole; confidence is how probable they are, depth where the
    odds between frames change sign. Neighbours in the stack must be neighbours in depth.
    """

    maps: ClassVar[tuple[str, ...]] = ("labels", "confidence", "depth", "never_in_focus")
    halo: ClassVar[None] = None  # range and noise are those of the whole frames; see `survey`

    composition: Composition = field(
        default="blend",
        metadata={"help": "blend: mean of the frames by their probabilities; labels: one frame per pixel"},
    )
    front: Front = field(
        default="unknown",
        metadata={
            "help": "the frame focused nearest, first or last: beside what is in front, it is preferred"
        },
    )
    noise: float = field(
        default=0.0,
        metadata={"help": "deviation of the noise, in 255ths of the frames' range; 0: it is measured"},
    )
    dictionary: CoupledDictionary = field(
        default_factory=CoupledDictionary.default,
        metadata={"help": "coupled dictionary that tells what is never in focus; the shipped one by default"},
    )

    def __post_init__(self) -> None:
        one_of("composition", self.composition, get_args(Composition))
        one_of("front", self.front, get_args(Front))
        real_number("noise", self.noise)
        if not 0 <= self.noise <= LARGEST_NOISE:
            raise InputError(f"noise must be from 0 to {LARGEST_NOISE:g} levels, got {self.noise}")
        check_dictionary("panfocus", self.dictionary, coupled=True)

    def survey(self, frames: NDArray[Any]) -> FusionMethod:
        """Measure the whole frames; what is returned can fuse them in tiles."""
        limits, noises = [], []
        for gray in map(to_gray, frames):  # one at a time
            limits.append(np.percentile(gray, (DARK, BRIGHT)))
            noises.append(noise_level(gray))
        dark, bright = float(np.min(limits)), float(np.max(limits))
        span = bright - dark or 1.0
        noise = self.noise or np.mean(noises) * LEVELS / span
        noise = min(LARGEST_NOISE, float(noise))
        scale = own_scale(frames, self.dictionary, dark=dark, span=span, noise=noise / LEVELS)
        return _Surveyed(self, dark, span, noise, scale)

    def fuse(self, frames: NDArray[Any], tile: Tile) -> FusionResult:
        """Fuse a whole image."""
        return self.survey(frames).fuse(frames, tile)


@dataclass(frozen=True)
class _Surveyed:
    """The method, with what it must know of the whole frames: their range, in unit range, noise and scale."""

    maps: ClassVar[tuple[str, ...]] = PanFocus.maps

    settings: PanFocus
    dark: float
    span: float
    noise: float  # in levels
    scale: int  # by which frames must be reduced for their sharpest places to look sharp

    @property
    def halo(self) -> int:
        """Pixels around one that its label depends on, or the verdict on the picture around it."""
        narrow = log_odds_reach(self.noise) + reach(GATHER)
        surroundings = narrow + reach(GATHER_MOST)
        pixels = narrow + reach(GATHER_MORE)
        if self.settings.front != "unknown":
            pixels = surroundings + reach(BESIDE)
        picture = pixels + max(reach(SEAM), reach(WIDE_SEAM))
        verdict = picture + never_in_focus_reach(self.settings.dictionary.patch_size, self.scale)
        return max(verdict, surroundings + reach(SURROUNDINGS))

    def fuse(self, frames: NDArray[Any], tile: Tile) -> FusionResult:
        """Fuse a tile."""
        of_pixels, of_surroundings = self._odds(frames)
        if self.settings.front != "unknown":
            _lean_to_front(of_pixels, of_surroundings, first=self.settings.front == "first")
        chances = probabilities(of_pixels)
        picture = by_votes(frames, as_votes(_softened(chances)))
        relative = (to_gray(picture) - self.dark) / self.span
        unfocused = never_in_focus(
            relative.astype(np.float32),
            chances,
            tile,
            self.settings.dictionary,
            noise=self.noise / LEVELS,
            scale=self.scale,
        )
        coherent = _coupled(of_surroundings)
        labels, confidence = most_probable(probabilities(coherent))
        if self.settings.composition == "labels":
            picture = by_labels(frames, labels)
        core = tile.core
        return FusionResult(
            image=picture[core],
            labels=labels[core],
            confidence=confidence[core],
            depth=depth_between(labels, coherent, beyond=BEYOND)[core],
            never_in_focus=unfocused[core],
            report={"noise": round(self.noise, 3), "scale": self.scale},
        )

    def _odds(self, frames: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
        """Log odds (n - 1, h, w) of each next frame against the one before: of pixels and surroundings."""
        of_pixels = np.empty((len(frames) - 1, *frames.shape[1:3]), np.float32)
        of_surroundings = np.empty_like(of_pixels)
        before = self._levels(frames[0])
        for k, frame in enumerate(frames[1:]):
            after = self._levels(frame)
            odds = log_odds(before, after, noise=self.noise)
            narrow = filtered(np.clip(odds.witness, -MOST_LOG_ODDS, MOST_LOG_ODDS), GATHER)
            near = narrow + filtered(narrow, GATHER_MORE)
            of_pixels[k] = odds.alone + (SHARE + SHARE_IN_DOUBT * odds.doubt) * near
            of_surroundings[k] = near + filtered(narrow, GATHER_MOST)
            before = after
        return of_pixels, of_surroundings

    def _levels(self, frame: NDArray[Any]) -> FloatArray:
        """Colours of a frame (h, w, c) in levels, without alpha."""
        unit = IntensityScale.of(frame.dtype).to_unit(colours(frame))
        return ((unit - self.dark) * (LEVELS / self.span)).astype(np.float32)


def _coupled(of_surroundings: FloatArray) -> FloatArray:
    """Add to log odds (n - 1, h, w) what is decided around each pixel: a mean-field step of a Potts model."""
    around = [filtered(chance, SURROUNDINGS) for chance in probabilities(of_surroundings)]
    return np.stack(
        [
            odds + COUPLING * (after - before)
            for odds, before, after in zip(of_surroundings, around[:-1], around[1:], strict=True)
        ]
    )


def _lean_to_front(of_pixels: FloatArray, of_surroundings: FloatArray, *, first: bool) -> None:
    """Change log odds (n - 1, h, w) of pixels in favour of the front's frames, beside what is in front.

    There the blurred front lies over the background in the background's own frame, which is sharp, but wrong.
    """
    for k, up_to_k in enumerate(_not_beyond(of_surroundings)):
        beside = filtered(up_to_k if first else 1 - up_to_k, BESIDE)
        of_pixels[k] += (-LEAN if first else LEAN) * np.minimum(2 * beside, 1)


def _not_beyond(of_surroundings: FloatArray) -> FloatArray:
    """Probability (n - 1, h, w) that a pixel is sharpest in frame k or one before it."""
    return np.asarray(np.cumsum(probabilities(of_surroundings)[:-1], axis=0))


def _softened(chances: FloatArray) -> FloatArray:
    """Weights (n, h, w) of frames with these probabilities."""
    weights = np.empty_like(chances)
    for weight, chance in zip(weights, chances, strict=True):
        weight[:] = (1 - WIDE_SHARE) * filtered(chance, SEAM) + WIDE_SHARE * filtered(chance, WIDE_SEAM)
    return weights
