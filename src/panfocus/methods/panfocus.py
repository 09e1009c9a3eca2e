"""The default method: re-blur test with per-pixel depth and an out-of-focus mask.

The label of a pixel is decided in `_surroundings.decide_maps`. docs/panfocus-method.md has the model, the
equations and the reason for every constant.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import check_choice, check_number
from panfocus._filters import Filter, filtered, filtered_rows, gaussian, reach
from panfocus._intensity import FloatArray, IntArray, IntensityScale
from panfocus._threads import for_all, map_blocks, thread_count
from panfocus.decide.compose import as_votes, by_labels, by_votes
from panfocus.decide.gray import to_gray
from panfocus.decide.labels import probabilities
from panfocus.decide.phase_contrast import measure_phase_contrast
from panfocus.decide.reblur import estimate_noise, log_odds, log_odds_reach
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.methods._bright_field import (
    COARSE_SEAM,
    FINE_SEAM,
    HIGH_PASS,
    SPLIT,
    compose_bands,
    high_passed,
    prior_of_surroundings,
    prior_reach,
    seam_reach,
    spread_over_planes,
)
from panfocus.methods._method import FusionMethod
from panfocus.methods._never_in_focus import find_scale, largest_scale, never_in_focus, never_in_focus_reach
from panfocus.methods._patchwise import check_dictionary
from panfocus.methods._surroundings import (
    NEARBY,
    OVERCOUNT,
    SURROUNDINGS,
    decide_maps,
    lean_to_front,
    prefer_considered,
)
from panfocus.methods._tile import Tile, row_bands, within
from panfocus.preprocess.clipping import find_clip
from panfocus.result import FusionResult
from panfocus.stack import Frames, colours, part_of, sampled_strips

Composition = Literal["blend", "labels"]
Front = Literal["unknown", "first", "last"]
Quality = Literal["exact", "high", "fast"]
BrightField = Literal["auto", "on", "off"]

LEVELS = 255  # grey levels from dark to bright: the unit in which frames are compared
DARK, BRIGHT = 0.1, 99.9  # percentiles of the grey values that set the range, so that outliers do not
LEAST_STEPS = 64  # smallest range of integer frames, in their steps: rounding must not look like detail
MOST_LEVELS = np.float32(1e6)  # clip float frames here: squares must not overflow
LARGEST_NOISE = 25.0  # levels: the window for stronger noise would be wider than the details

# Weights of the frames are their probabilities, smoothed over about a pixel (SEAM). A tenth of the weight is
# smoothed more (WIDE_SEAM), which hides seams and limits the error at wrong borders.
SEAM, WIDE_SEAM, WIDE_SHARE = gaussian(0.5), gaussian(5.0, cut=2), np.float32(0.1)

# Regional evidence is the sum over three windows, with these standard deviations in pixels. The narrow one
# follows the borders of objects, the wider ones decide where there is little detail. The wider ones are
# applied to the result of the narrow one, and skip pixels.
NARROW, WIDER, WIDEST = 3.0, 8.0, 20.0
GATHER = gaussian(NARROW, cut=2)
GATHER_MORE = gaussian(float(np.sqrt(WIDER**2 - NARROW**2)), cut=2, step=3)
GATHER_MOST = gaussian(float(np.sqrt(WIDEST**2 - NARROW**2)), cut=2, step=6)
MOST_LOG_ODDS = np.float32(8.0)  # limit for a single pixel, so that none outweighs its neighbours
# Labels use all regional evidence. The image follows finer details: its log odds take this share of the
# narrow and wider windows, and more where the pixel itself is in doubt.
SHARE, SHARE_IN_DOUBT = np.float32(0.1), np.float32(0.5)
# Share of inverted detail above which a stack has phase contrast. Measured: at most 0.04 in photographs,
# light fields, fluorescence and confocal sections; from 0.11 in real slides whose detail inverts.
MOST_INVERSION = 0.055
# Work of one thread: a block of frames with its halo.
BLOCK_SIDE = 900
BLOCK_PIXELS = 1_000_000  # largest block with its halo
USUAL_NOISE = 1.0  # levels: assumed in plans


@dataclass(frozen=True, kw_only=True)
class PanFocus(FusionMethod):
    """Re-blur test with per-pixel depth and an out-of-focus mask (default).

    Each frame is weighted by the probability that it is the sharpest at a pixel. Labels use the evidence of
    a larger area; confidence is the probability that they are right. Frames must be in the order of depth.
    `survey` measures range and noise of the whole frames; the method that it returns can fuse tiles.
    """

    maps: ClassVar[tuple[str, ...]] = ("labels", "confidence", "depth", "never_in_focus")
    layers: ClassVar[tuple[str, ...]] = ("votes", "log_odds")
    uses_all_threads: ClassVar[bool] = True
    survey_bytes: ClassVar[int] = 8

    composition: Composition = field(
        default="blend",
        metadata={
            "help": "blend (default): average the frames, weighted by probability. labels: copy each pixel "
            "from one frame."
        },
    )
    quality: Quality = field(
        default="high",
        metadata={
            "help": "exact: finest out-of-focus map. high (default): nearly the same, faster. fast: ignores "
            "colour."
        },
    )
    front: Front = field(
        default="unknown",
        metadata={
            "help": "Frame focused nearest to the camera: first, last or unknown (default). If known, it is "
            "preferred next to foreground objects."
        },
    )
    bright_field: BrightField = field(
        default="auto",
        metadata={
            "help": "Suppress phase contrast, as of transparent objects in a light microscope: on, off or "
            "auto (default: if detail inverts through focus)."
        },
    )
    noise: float = field(
        default=0.0,
        metadata={
            "help": "Noise level (standard deviation) on a 0 to 255 scale, at most 25. "
            "Default: 0, estimated from the frames."
        },
    )
    dictionary: CoupledDictionary = field(
        default_factory=CoupledDictionary.default,
        metadata={
            "help": "Coupled dictionary that finds out-of-focus areas: a .npz file or the name of a shipped "
            "one. Default: levels2."
        },
    )

    def __post_init__(self) -> None:
        check_choice("composition", self.composition, get_args(Composition))
        check_choice("quality", self.quality, get_args(Quality))
        check_choice("front", self.front, get_args(Front))
        check_choice("bright_field", self.bright_field, get_args(BrightField))
        check_number("noise", self.noise)
        if not 0 <= self.noise <= LARGEST_NOISE:
            raise InputError(
                f"`noise` must be from 0 to {LARGEST_NOISE:g}, got {self.noise}.",
                setting="noise",
                got=self.noise,
                limit=LARGEST_NOISE,
            )
        check_dictionary("panfocus", self.dictionary, coupled=True)

    @property
    def patch_stride(self) -> int:
        """Distance in pixels between the patches of the out-of-focus test."""
        size = self.dictionary.patch_size
        # Not a whole patch: patches of 8 pixels would all align with the blocks of JPEG files.
        return max(1, size // 2 if self.quality == "exact" else size - 1)

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Return the bytes for a tile of typical frames."""
        usual, _ = self.plan_surveys(tile.shape)
        return usual.working_bytes(n_frames, n_channels, tile)

    def plan_surveys(self, shape: tuple[int, int]) -> "tuple[_Surveyed, _Surveyed]":
        """Return the results of `survey` for typical frames (h, w), and for the noisiest and softest."""
        usual = _Surveyed(self, dark=0.0, span=1.0, noise=self.noise or USUAL_NOISE, scale=1)
        scale = largest_scale(shape, self.dictionary)
        worst = replace(
            usual, noise=self.noise or LARGEST_NOISE, scale=scale, clip=float(LEVELS), inversion=1.0
        )
        return usual, worst

    def survey(self, frames: Frames) -> "_Surveyed":
        """Measure the whole frames; return a method that can fuse them in tiles."""
        measured = map_blocks(partial(_measure_frame, frames), range(len(frames)))
        limits, noises = zip(*measured, strict=True)
        dark, bright = float(np.min(limits)), float(np.max(limits))
        span = max(bright - dark, IntensityScale.of(frames.dtype).step * LEAST_STEPS) or 1.0
        noise = self.noise or np.mean(noises) * LEVELS / span
        noise = min(LARGEST_NOISE, float(noise))
        scale = find_scale(frames, self.dictionary, dark=dark, span=span, noise=noise / LEVELS)
        clip = find_clip(frames)
        clip = None if clip is None else (clip - dark) * LEVELS / float(span)
        surveyed = _Surveyed(self, dark, float(span), noise, scale, clip)
        if len(frames) <= 2 or self.bright_field == "off":
            return surveyed
        found = measure_phase_contrast(frames, surveyed.to_levels, noise=noise, clip=clip)
        return replace(surveyed, inversion=found.inversion, depth_of_field=found.depth_of_field)

    def from_measurements(self, measured: dict[str, Any]) -> "_Surveyed":
        """Return the method that `survey` returned with these measurements."""
        return _Surveyed(self, **measured)

    def fuse(self, frames: NDArray[Any], tile: Tile, layers: Collection[str] = ()) -> FusionResult:
        """Fuse the whole image."""
        return self.survey(frames).fuse(frames, tile, layers)


@dataclass(frozen=True)
class _Surveyed(FusionMethod):
    """The method with the measurements of the whole frames."""

    maps: ClassVar[tuple[str, ...]] = PanFocus.maps
    layers: ClassVar[tuple[str, ...]] = PanFocus.layers
    uses_all_threads: ClassVar[bool] = PanFocus.uses_all_threads

    settings: PanFocus
    dark: float  # unit range
    span: float  # from dark to bright, unit range
    noise: float  # levels
    scale: int  # factor by which frames must be reduced for their sharpest areas to look sharp
    clip: float | None = None  # level from which pixels are clipped; None if none are
    inversion: float = 0.0  # share of the detail that inverts through focus
    depth_of_field: float = 1.0  # frames, see PhaseContrast

    @property
    def measured(self) -> dict[str, Any]:
        """The measurements, as plain numbers."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "settings"}

    @property
    def bright_field(self) -> bool:
        """Whether phase contrast is suppressed."""
        setting = self.settings.bright_field
        return self.inversion > MOST_INVERSION if setting == "auto" else setting == "on"

    @property
    def halo(self) -> int:
        """Reach of the label and of the out-of-focus test, in pixels."""
        surroundings = self._odds_reach + reach(GATHER_MOST)
        pixels = self._odds_reach + reach(GATHER_MORE)
        if self.bright_field:
            pixels = self._odds_reach + prior_reach()
            surroundings = max(surroundings, pixels)
        if self.settings.front != "unknown":
            pixels = surroundings + reach(NEARBY)
        seams = seam_reach() if self.bright_field else max(reach(SEAM), reach(WIDE_SEAM))
        image = pixels + seams
        mask = image + never_in_focus_reach(
            self.settings.dictionary.patch_size, self.settings.patch_stride, self.scale
        )
        return max(mask, surroundings + reach(SURROUNDINGS))

    @property
    def _odds_reach(self) -> int:
        """Reach of the narrowest regional log odds, in pixels."""
        high_pass = reach(HIGH_PASS) if self.bright_field else 0
        return high_pass + log_odds_reach(self.noise, clipping=self.clip is not None) + reach(GATHER)

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Return the bytes of log odds and probabilities, and of one block of frames per thread."""
        compared = 90 + 32 * n_channels if n_frames > 2 else 64 + 24 * n_channels
        with_halos = tile.pixels + int(100 * thread_count() * math.sqrt(tile.pixels))  # for flat blocks
        in_blocks = compared * min(thread_count() * BLOCK_PIXELS, with_halos)
        decided = tile.trimmed(self.halo - self._odds_reach).pixels
        composing = (36 + n_channels) * decided
        prior = (24 + 4 * n_frames) * decided if self.bright_field else 0
        return (4 + 9 * n_frames) * decided + max(in_blocks, composing, prior)

    def fuse(self, frames: Frames, tile: Tile, layers: Collection[str] = ()) -> FusionResult:
        """Fuse a tile, on all threads."""
        # The part where log odds are known; the outer part is larger by their reach.
        around = tile.trimmed(self.halo - self._odds_reach)
        frames_around = part_of(frames, *within(tile.outer, around.outer))
        shape = frames_around.shape[:3]
        chances, of_surroundings = (np.empty((n, *shape[1:]), np.float32) for n in (shape[0], shape[0] - 1))
        self._gather_odds(frames, Tile(around.outer, tile.outer, tile.shape), chances, of_surroundings)
        of_pixels = chances[1:]  # log odds share the memory of the probabilities
        if self.settings.front != "unknown":
            lean_to_front(of_pixels, of_surroundings, first=self.settings.front == "first")
        core = around.core
        votes: IntArray | None = None
        if "votes" in layers:
            votes = np.empty((shape[0], *(span.stop - span.start for span in core)), np.uint16)
        image, unfocused = self._compose(frames_around, around, chances, votes)
        labels, confidence, depth = decide_maps(of_surroundings, core[0], chances)
        if self.settings.composition == "labels":
            image[core] = by_labels(frames_around[:, *core], labels[:, core[1]])
            if votes is not None:
                votes[...] = np.arange(len(votes))[:, None, None] == labels[:, core[1]]
        return FusionResult(
            votes=votes,
            log_odds=of_surroundings[:, *core].astype(np.float16) if "log_odds" in layers else None,
            image=image[core],
            labels=labels[:, core[1]],
            confidence=confidence[:, core[1]],
            depth=depth[:, core[1]],
            never_in_focus=unfocused[core],
            report={
                "noise": round(self.noise, 3),
                "scale": self.scale,
                "inversion": round(self.inversion, 4),
                "bright_field": self.bright_field,
            },
        )

    def _gather_odds(
        self, frames: Frames, tile: Tile, chances: FloatArray, of_surroundings: FloatArray
    ) -> None:
        """Compute the log odds (n - 1, h, w) of each frame against the one before it, inside a tile.

        Those of pixels are stored in `chances[1:]`.
        """
        of_pixels = chances[1:]
        doubt = np.empty(of_pixels.shape, np.uint8)  # in 255ths, accurate enough for a weight
        narrow = of_surroundings  # shares memory until the wider windows are added
        several = len(frames) > 2

        def in_block(block: Tile) -> None:
            outer = within(tile.outer, block.outer)
            parts = (self.to_levels(frames[k, *outer]) for k in range(len(frames)))
            place = within(tile.inner, block.inner)
            if self.bright_field:
                found = log_odds(map(high_passed, parts), noise=self.noise, sections=several)
            else:
                found = log_odds(parts, noise=self.noise, clip=self.clip, sections=several)
            for k, odds in enumerate(found):
                of_pixels[k][place] = odds.single[block.core]
                gathered = filtered(np.clip(odds.regional, -MOST_LOG_ODDS, MOST_LOG_ODDS), GATHER)
                narrow[k][place] = gathered[block.core]
                doubt[k][place] = np.rint(255 * odds.doubt[block.core])

        for_all(in_block, _blocks(tile, self._odds_reach))
        prior: FloatArray | None = None
        if self.bright_field:
            prior = prior_of_surroundings(narrow, chances)
        elif several:
            prefer_considered(of_pixels, narrow)
        for k, before in enumerate(narrow):
            narrow_k = before.copy()

            def in_rows(rows: slice, k: int = k, narrow_k: FloatArray = narrow_k) -> None:
                near = narrow_k[rows] + filtered_rows(narrow_k, GATHER_MORE, rows)
                of_surroundings[k, rows] = near + filtered_rows(narrow_k, GATHER_MOST, rows)
                if prior is None:
                    of_pixels[k, rows] += (SHARE + SHARE_IN_DOUBT / 255 * doubt[k, rows]) * near
                else:
                    of_pixels[k, rows] = narrow_k[rows] / OVERCOUNT + prior[k, rows]
                    of_surroundings[k, rows] += OVERCOUNT * prior[k, rows]

            for_all(in_rows, row_bands(narrow_k.shape))

    def _compose(
        self, frames: Frames, tile: Tile, chances: FloatArray, inner_votes: IntArray | None
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Compose frames by the log odds in `chances[1:]`; return the image and its out-of-focus mask.

        The votes of the tile's inner part are stored in `inner_votes`.
        """
        image = np.empty(frames.shape[1:], frames.dtype)
        gray = np.empty(frames.shape[1:3], np.float32)
        all_columns = slice(0, frames.shape[2])

        def normalise(rows: slice) -> None:
            probabilities(chances[1:, rows], out=chances[:, rows])

        def compose(rows: slice) -> None:
            if planes is None:
                votes = as_votes(_smooth_weights(chances, rows, SEAM, WIDE_SEAM))
                image[rows] = by_votes(frames[:, rows, all_columns], votes)
            else:
                votes = as_votes(_smooth_weights(chances, rows, FINE_SEAM, COARSE_SEAM))
                margin = min(reach(SPLIT), rows.start)
                more = slice(rows.start - margin, min(rows.stop + reach(SPLIT), len(image)))
                image[rows] = compose_bands(
                    frames[:, more, all_columns],
                    votes,
                    planes,
                    rows,
                    above=margin,
                    depth_of_field=self.depth_of_field,
                )
            if inner_votes is not None:
                _copy_inner(votes, rows, tile, inner_votes)
            gray[rows] = (to_gray(image[rows]) - self.dark) / self.span

        for_all(normalise, row_bands(chances.shape))
        planes = spread_over_planes(chances, self.depth_of_field) if self.bright_field else None
        for_all(compose, row_bands(chances.shape))
        unfocused = never_in_focus(
            gray,
            chances,
            tile,
            self.settings.dictionary,
            stride=self.settings.patch_stride,
            noise=self.noise / LEVELS,
            scale=self.scale,
        )
        return image, unfocused

    def to_levels(self, frame: NDArray[Any]) -> FloatArray:
        """Return the colours (c, h, w) of a frame (h, w) or (h, w, c) in levels, without alpha."""
        grey = self.settings.quality == "fast"
        planes = to_gray(frame)[None] if grey else np.moveaxis(colours(frame), 2, 0)
        scale = IntensityScale.of(planes.dtype)
        levels = np.empty(planes.shape, np.float32)
        # Subtract in the precision of the frames: contrast may be small compared to the values.
        working = np.float64 if planes.dtype == np.float64 else np.float32
        np.subtract(planes, self.dark * scale.white, out=levels, dtype=working, casting="same_kind")
        levels *= np.float32(LEVELS / (self.span * scale.white))
        return np.clip(levels, -MOST_LEVELS, MOST_LEVELS, out=levels) if scale.step == 0 else levels


def _smooth_weights(chances: FloatArray, rows: slice, seam: Filter, wide_seam: Filter) -> FloatArray:
    """Return the weights (n, rows, w) of frames from their probabilities (n, h, w)."""
    weights = np.empty((len(chances), rows.stop - rows.start, chances.shape[2]), np.float32)
    for k, chance in enumerate(chances):
        np.multiply(filtered_rows(chance, seam, rows), 1 - WIDE_SHARE, out=weights[k])
        weights[k] += WIDE_SHARE * filtered_rows(chance, wide_seam, rows)
    return weights


def _copy_inner(votes: IntArray, rows: slice, tile: Tile, inner_votes: IntArray) -> None:
    """Copy the part of votes (n, rows, w) of some outer rows that is in the tile's inner part (n, h, w)."""
    inside, cols = tile.core
    start, stop = max(rows.start, inside.start), min(rows.stop, inside.stop)
    if start < stop:
        inner_votes[:, start - inside.start : stop - inside.start] = votes[
            :, start - rows.start : stop - rows.start, cols
        ]


def _measure_frame(frames: Frames, k: int) -> tuple[FloatArray, float]:
    """Return the dark and bright percentiles of frame k and its noise, in unit range."""
    strips = [to_gray(strip) for strip in sampled_strips(frames, k)]
    return np.percentile(np.concatenate(strips), (DARK, BRIGHT)), estimate_noise(strips)


def _blocks(tile: Tile, halo: int) -> list[Tile]:
    """Split the inner part of a tile into large blocks, at least one per thread unless they get small."""
    height = BLOCK_SIDE
    while len(blocks := tile.blocks(height, BLOCK_SIDE, halo)) < thread_count() and height > 2 * halo:
        height = 3 * height // 4
    return blocks
