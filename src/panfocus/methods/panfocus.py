"""The house method: frames explain each other, places know their depth, and what is never sharp is said.

docs/panfocus-method.md has the model, its equations and the reason of every constant.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import one_of, real_number
from panfocus._filters import filtered, filtered_rows, gaussian, reach
from panfocus._intensity import FloatArray, IntArray, IntensityScale
from panfocus._threads import for_all, map_blocks, thread_count
from panfocus.decide import depth_between, log_odds, log_odds_reach, most_probable, noise_level, probabilities
from panfocus.decide.compose import as_votes, by_labels, by_votes
from panfocus.decide.gray import to_gray
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.methods._never_in_focus import largest_scale, never_in_focus, never_in_focus_reach, own_scale
from panfocus.methods._sparse import check_dictionary
from panfocus.methods._tile import Tile, within
from panfocus.result import FusionResult
from panfocus.stack import Frames, colours, part_of, sampled_strips

Composition = Literal["blend", "labels"]
Front = Literal["unknown", "first", "last"]
Quality = Literal["exact", "high", "fast"]

LEVELS = 255  # from dark to bright: the unit in which frames are compared
DARK, BRIGHT = 0.1, 99.9  # percentiles of the grey values: a few extreme pixels do not set the scale
LEAST_STEPS = 64  # from dark to bright, of whole-numbered frames: their rounding must not look like detail
MOST_LEVELS = np.float32(1e6)  # far outside of what the percentiles leave; squares must not overflow
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
# By how much log odds of the surroundings exceed those by which labels turn out to be right: all three
# windows see the same evidence.
COUNTED = np.float32(3.0)

# Log odds with which a place at the first or the last frame would lose sharpness beyond it: clear, but less
# than most places have between frames, so that depth stays at the end unless the next frame is as sharp.
BEYOND = 3.0
# Labels take all of it; a pixel of the picture, which follows finer things, takes this share of the narrow
# and the wider window, so that it is not left to chance where its own odds say little; and more in doubt.
SHARE, SHARE_IN_DOUBT = np.float32(0.1), np.float32(0.5)
# Of more than two frames, a pixel in graver doubt than this, in 255ths, chooses only among those that its
# surroundings consider: which of two bad explanations is the better one is chance, and it may be one of a
# frame of quite another depth. What two windows gather is at most 2 MOST_LOG_ODDS: it is kept in bytes.
GRAVE_DOUBT, NEAR_STEP = 51, 2 * MOST_LOG_ODDS / np.float32(127)
# Where the front is known, a place beside it leans to the front's frame by so many log odds; how near that
# is, by this width.
LEAN, BESIDE = np.float32(0.5), gaussian(4.0, cut=2)

# What a thread works on at once: a block of frames with its halo, or rows of maps with so many values.
BLOCK_SIDE, BAND_VALUES, LEAST_ROWS = 900, 1 << 19, 32
BLOCK_PIXELS = 1_000_000  # of a block with its halo, at most
USUAL_NOISE = 1.0  # levels


@dataclass(frozen=True, kw_only=True)
class PanFocus:
    """Weigh each frame by the probability that it is the sharpest here, from frames that explain each other.

    Labels are the frames that are sharpest in the surroundings as a whole; confidence is how probable it is
    that they are right, depth where the odds between frames change sign. Neighbours in the stack must be
    neighbours in depth.
    """

    maps: ClassVar[tuple[str, ...]] = ("labels", "confidence", "depth", "never_in_focus")
    layers: ClassVar[tuple[str, ...]] = ("votes", "log_odds")
    halo: ClassVar[None] = None  # range and noise are those of the whole frames; see `survey`
    uses_all_threads: ClassVar[bool] = True
    survey_bytes: ClassVar[int] = 8

    composition: Composition = field(
        default="blend",
        metadata={"help": "blend: mean of the frames by their probabilities; labels: one frame per pixel"},
    )
    quality: Quality = field(
        default="high",
        metadata={
            "help": "exact: patches overlap by half where it is told what is never in focus; high: hardly; "
            "fast: and frames are compared in grey"
        },
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
        one_of("quality", self.quality, get_args(Quality))
        one_of("front", self.front, get_args(Front))
        real_number("noise", self.noise)
        if not 0 <= self.noise <= LARGEST_NOISE:
            raise InputError(f"noise must be from 0 to {LARGEST_NOISE:g} levels, got {self.noise}")
        check_dictionary("panfocus", self.dictionary, coupled=True)

    @property
    def patch_stride(self) -> int:
        """Pixels from patch to patch where it is told what is never in focus."""
        size = self.dictionary.patch_size
        # Nearly a patch, but not a whole one: in JPEG files all would lie on blocks, with no border inside.
        return max(1, size // 2 if self.quality == "exact" else size - 1)

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Those of a tile, for most frames."""
        usual, _ = self.foreseen(tile.shape)
        return usual.working_bytes(n_frames, n_channels, tile)

    def foreseen(self, shape: tuple[int, int]) -> "tuple[_Surveyed, _Surveyed]":
        """Return what `survey` does for most frames (h, w), and for the noisiest and softest."""
        usual = _Surveyed(self, dark=0.0, span=1.0, noise=self.noise or USUAL_NOISE, scale=1)
        worst = replace(usual, noise=self.noise or LARGEST_NOISE, scale=largest_scale(shape, self.dictionary))
        return usual, worst

    def survey(self, frames: Frames) -> "_Surveyed":
        """Measure the whole frames; what is returned can fuse them in tiles."""
        measured = map_blocks(partial(_measured, frames), range(len(frames)))
        limits, noises = zip(*measured, strict=True)
        dark, bright = float(np.min(limits)), float(np.max(limits))
        span = max(bright - dark, IntensityScale.of(frames.dtype).step * LEAST_STEPS) or 1.0
        noise = self.noise or np.mean(noises) * LEVELS / span
        noise = min(LARGEST_NOISE, float(noise))
        scale = own_scale(frames, self.dictionary, dark=dark, span=span, noise=noise / LEVELS)
        return _Surveyed(self, dark, float(span), noise, scale)

    def surveyed(self, measured: dict[str, Any]) -> "_Surveyed":
        """Return what `survey` returned when it measured this."""
        return _Surveyed(self, **measured)

    def fuse(self, frames: NDArray[Any], tile: Tile, layers: Collection[str] = ()) -> FusionResult:
        """Fuse a whole image."""
        return self.survey(frames).fuse(frames, tile, layers)


@dataclass(frozen=True)
class _Surveyed:
    """The method, with what it must know of the whole frames: their range, in unit range, noise and scale."""

    maps: ClassVar[tuple[str, ...]] = PanFocus.maps
    layers: ClassVar[tuple[str, ...]] = PanFocus.layers
    uses_all_threads: ClassVar[bool] = PanFocus.uses_all_threads

    settings: PanFocus
    dark: float
    span: float
    noise: float  # in levels
    scale: int  # by which frames must be reduced for their sharpest places to look sharp

    @property
    def measured(self) -> dict[str, Any]:
        """What it knows, as plain numbers."""
        return {"dark": self.dark, "span": self.span, "noise": self.noise, "scale": self.scale}

    @property
    def halo(self) -> int:
        """Pixels around one that its label depends on, or the verdict on the picture around it."""
        surroundings = self._odds_reach + reach(GATHER_MOST)
        pixels = self._odds_reach + reach(GATHER_MORE)
        if self.settings.front != "unknown":
            pixels = surroundings + reach(BESIDE)
        picture = pixels + max(reach(SEAM), reach(WIDE_SEAM))
        verdict = picture + never_in_focus_reach(
            self.settings.dictionary.patch_size, self.settings.patch_stride, self.scale
        )
        return max(verdict, surroundings + reach(SURROUNDINGS))

    @property
    def _odds_reach(self) -> int:
        """Pixels around one that decide on what it tells its surroundings."""
        return log_odds_reach(self.noise) + reach(GATHER)

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Odds of neighbours and probabilities of every frame; on each thread, a block of frames."""
        compared = 60 + 32 * n_channels if n_frames > 2 else 42 + 24 * n_channels
        with_their_halos = tile.pixels + int(100 * thread_count() * math.sqrt(tile.pixels))  # of flat blocks
        in_blocks = compared * min(thread_count() * BLOCK_PIXELS, with_their_halos)
        decided = tile.trimmed(self.halo - self._odds_reach).pixels
        made_of_them = (36 + n_channels) * decided
        return (4 + 9 * n_frames) * decided + max(in_blocks, made_of_them)

    def fuse(self, frames: Frames, tile: Tile, layers: Collection[str] = ()) -> FusionResult:
        """Fuse a tile, on all threads."""
        # Odds are found in less than the outer part, which has what they depend on.
        around = tile.trimmed(self.halo - self._odds_reach)
        frames_around = part_of(frames, *within(tile.outer, around.outer))
        shape = frames_around.shape[:3]
        chances, of_surroundings = (np.empty((n, *shape[1:]), np.float32) for n in (shape[0], shape[0] - 1))
        of_pixels = chances[1:]  # until they are probabilities
        self._gather_odds(frames, Tile(around.outer, tile.outer, tile.shape), of_pixels, of_surroundings)
        if self.settings.front != "unknown":
            _lean_to_front(of_pixels, of_surroundings, first=self.settings.front == "first")
        core = around.core
        votes: IntArray | None = None
        if "votes" in layers:
            votes = np.empty((shape[0], *(span.stop - span.start for span in core)), np.uint16)
        picture, unfocused = self._picture(frames_around, around, chances, votes)
        labels, confidence, depth = _decided(of_surroundings, core[0], chances)
        if self.settings.composition == "labels":
            picture[core] = by_labels(frames_around[:, *core], labels[:, core[1]])
            if votes is not None:
                votes[...] = np.arange(len(votes))[:, None, None] == labels[:, core[1]]
        return FusionResult(
            votes=votes,
            log_odds=of_surroundings[:, *core].astype(np.float16) if "log_odds" in layers else None,
            image=picture[core],
            labels=labels[:, core[1]],
            confidence=confidence[:, core[1]],
            depth=depth[:, core[1]],
            never_in_focus=unfocused[core],
            report={"noise": round(self.noise, 3), "scale": self.scale},
        )

    def _gather_odds(
        self, frames: Frames, tile: Tile, of_pixels: FloatArray, of_surroundings: FloatArray
    ) -> None:
        """Find the log odds (n - 1, h, w), inside a tile, of each next frame against the one before."""
        doubt = np.empty(of_pixels.shape, np.uint8)  # in 255ths: it is there to weigh with, roughly
        narrow = of_surroundings  # first

        def in_block(block: Tile) -> None:
            outer = within(tile.outer, block.outer)
            parts = (self._levels(frames[k, *outer]) for k in range(len(frames)))
            place = within(tile.inner, block.inner)
            for k, odds in enumerate(log_odds(parts, noise=self.noise)):
                of_pixels[k][place] = odds.alone[block.core]
                gathered = filtered(np.clip(odds.witness, -MOST_LOG_ODDS, MOST_LOG_ODDS), GATHER)
                narrow[k][place] = gathered[block.core]
                doubt[k][place] = np.rint(255 * odds.doubt[block.core])

        for_all(in_block, _blocks(tile, self._odds_reach))
        several = len(frames) > 2
        if several:
            grave = np.max(doubt, axis=0) > GRAVE_DOUBT
            nears = doubt.view(np.int8)  # in its place, where it has been used
        for k, before in enumerate(narrow):
            narrow_k = before.copy()

            def in_rows(rows: slice, k: int = k, narrow_k: FloatArray = narrow_k) -> None:
                near = narrow_k[rows] + filtered_rows(narrow_k, GATHER_MORE, rows)
                of_pixels[k, rows] += (SHARE + SHARE_IN_DOUBT / 255 * doubt[k, rows]) * near
                of_surroundings[k, rows] = near + filtered_rows(narrow_k, GATHER_MOST, rows)
                if several:
                    nears[k, rows] = np.rint(near / NEAR_STEP)

            for_all(in_rows, _bands(narrow_k.shape))
        if several:

            def restrain(rows: slice) -> None:
                _restrain(of_pixels[:, rows], nears[:, rows], grave[rows])

            for_all(restrain, _bands(of_pixels.shape))

    def _picture(
        self, frames: Frames, tile: Tile, chances: FloatArray, kept_votes: IntArray | None
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Compose frames by log odds that lie in `chances[1:]`, and say where the picture is not in focus.

        The votes of the tile's inner part are kept where there is room for them.
        """
        picture = np.empty(frames.shape[1:], frames.dtype)
        gray = np.empty(frames.shape[1:3], np.float32)
        all_columns = slice(0, frames.shape[2])

        def normalise(rows: slice) -> None:
            probabilities(chances[1:, rows], out=chances[:, rows])

        def compose(rows: slice) -> None:
            votes = as_votes(_softened(chances, rows))
            picture[rows] = by_votes(frames[:, rows, all_columns], votes)
            if kept_votes is not None:
                _keep_inner(votes, rows, tile, kept_votes)
            gray[rows] = (to_gray(picture[rows]) - self.dark) / self.span

        for work in (normalise, compose):
            for_all(work, _bands(chances.shape))
        unfocused = never_in_focus(
            gray,
            chances,
            tile,
            self.settings.dictionary,
            stride=self.settings.patch_stride,
            noise=self.noise / LEVELS,
            scale=self.scale,
        )
        return picture, unfocused

    def _levels(self, frame: NDArray[Any]) -> FloatArray:
        """Colours (c, h, w) of a frame (h, w) or (h, w, c) in levels, without alpha."""
        grey = self.settings.quality == "fast"
        planes = to_gray(frame)[None] if grey else np.moveaxis(colours(frame), 2, 0)
        scale = IntensityScale.of(planes.dtype)
        levels = np.empty(planes.shape, np.float32)
        # First the difference, in double precision if frames have it: contrast may be small beside values.
        working = np.float64 if planes.dtype == np.float64 else np.float32
        np.subtract(planes, self.dark * scale.white, out=levels, dtype=working, casting="same_kind")
        levels *= np.float32(LEVELS / (self.span * scale.white))
        return np.clip(levels, -MOST_LEVELS, MOST_LEVELS, out=levels) if scale.step == 0 else levels


def _decided(
    of_surroundings: FloatArray, inside: slice, chances: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Labels, confidence and depth of rows inside, by log odds (n - 1, h, w).

    What is decided around each pixel adds to its odds: a mean-field step of a Potts model. Both the odds and
    `chances` (n, h, w) are overwritten.
    """
    n, shape = len(chances), (inside.stop - inside.start, chances.shape[2])
    labels: IntArray = np.empty(shape, np.uint8 if n <= 256 else np.uint16)
    confidence, depth = np.empty(shape, np.float32), np.empty(shape, np.float32)

    def normalise(rows: slice) -> None:
        probabilities(of_surroundings[:, rows], out=chances[:, rows])

    def couple(found: slice) -> None:
        rows = slice(inside.start + found.start, inside.start + found.stop)
        before = filtered_rows(chances[0], SURROUNDINGS, rows)
        for k in range(n - 1):
            after = filtered_rows(chances[k + 1], SURROUNDINGS, rows)
            np.subtract(after, before, out=before)
            before *= COUPLING
            of_surroundings[k, rows] += before
            before = after

    def decide(found: slice) -> None:
        rows = slice(inside.start + found.start, inside.start + found.stop)
        odds, counted = of_surroundings[:, rows], chances[1:, rows]
        np.divide(odds, COUNTED, out=counted)
        labels[found], confidence[found] = most_probable(probabilities(counted, out=chances[:, rows]))
        depth[found] = depth_between(labels[found], odds, beyond=BEYOND)

    for_all(normalise, _bands(chances.shape))
    for_all(couple, _bands(shape))
    for_all(decide, _bands((n, *shape)))
    return labels, confidence, depth


def _restrain(of_pixels: FloatArray, nears: IntArray, grave: NDArray[np.bool_]) -> None:
    """Change log odds (n - 1, h, w) of pixels in grave doubt: between frames that are none here, as nearby.

    `nears` are log odds of the places around, in steps.
    """
    odds = nears[:, grave] * NEAR_STEP
    chances = probabilities(odds[:, None] / 2)[:, 0]  # two windows see the same evidence
    others = 1 - (chances[:-1] + chances[1:])  # probability of a third frame, for every two neighbours
    of_pixels[:, grave] += others * (odds - of_pixels[:, grave])


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


def _softened(chances: FloatArray, rows: slice) -> FloatArray:
    """Weights (n, rows, w) of frames with these probabilities (n, h, w)."""
    weights = np.empty((len(chances), rows.stop - rows.start, chances.shape[2]), np.float32)
    for k, chance in enumerate(chances):
        np.multiply(filtered_rows(chance, SEAM, rows), 1 - WIDE_SHARE, out=weights[k])
        weights[k] += WIDE_SHARE * filtered_rows(chance, WIDE_SEAM, rows)
    return weights


def _keep_inner(votes: IntArray, rows: slice, tile: Tile, kept: IntArray) -> None:
    """Copy what rows (n, rows, w) of a tile's outer part have of its inner part (n, h, w)."""
    inside, cols = tile.core
    start, stop = max(rows.start, inside.start), min(rows.stop, inside.stop)
    if start < stop:
        kept[:, start - inside.start : stop - inside.start] = votes[
            :, start - rows.start : stop - rows.start, cols
        ]


def _measured(frames: Frames, k: int) -> tuple[FloatArray, float]:
    """Dark and bright of frame k, and its noise, in unit range."""
    strips = [to_gray(strip) for strip in sampled_strips(frames, k)]
    return np.percentile(np.concatenate(strips), (DARK, BRIGHT)), noise_level(strips)


def _blocks(tile: Tile, halo: int) -> list[Tile]:
    """Cut the inner part of a tile into large blocks, but one for every thread unless they get small."""
    height = BLOCK_SIDE
    while len(blocks := tile.blocks(height, BLOCK_SIDE, halo)) < thread_count() and height > 2 * halo:
        height = 3 * height // 4
    return blocks


def _bands(shape: tuple[int, ...]) -> list[slice]:
    """Rows of maps (h, w) or (n, h, w): some for every thread, few enough to take little memory at once."""
    height = shape[-2]
    n_bands = max(1, min(max(math.prod(shape) // BAND_VALUES, thread_count()), height // LEAST_ROWS))
    return [slice(*span) for span in pairwise(height * i // n_bands for i in range(n_bands + 1))]
