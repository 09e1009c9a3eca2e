"""Channels without RGB meaning: fuse each one as a grey stack, and merge the results."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import check_choice
from panfocus._filters import filtered, gaussian
from panfocus._intensity import FloatArray, IntensityScale
from panfocus._progress import Progress
from panfocus._threads import for_all
from panfocus.decide.focus_measure import REACH, laplacian_energy
from panfocus.decide.reblur import estimate_noise
from panfocus.errors import InputError
from panfocus.preprocess.corrections import Corrections
from panfocus.result import LAYERS, MAPS, FusionResult
from panfocus.stack import (
    Acquisition,
    Allocate,
    Frames,
    ReplacedChannels,
    are_colours,
    channel_of,
    last_is_alpha,
    sampled_strips,
)
from panfocus.tiling.tiled import Shares

CHOICES = ("auto", "together", "separate")
COLOURS = 4  # channels: arrays with more have no RGB meaning
ROUNDING = 12**-0.5  # standard deviation of rounding, in steps of an integer type
LEAST_NOISE = 1e-7  # unit range: rounding of float32
AROUND = gaussian(5.0, cut=2)  # pixels: wider than the plain places inside a structure
BAND = 256  # rows of the detail that a thread computes at once

FuseChannel = Callable[[Frames, Progress], FusionResult]  # from the grey frames of a channel


def separate_channels(
    decide_channels: str, shape: tuple[int, ...], acquisition: Acquisition | None = None
) -> tuple[str, ...]:
    """Return the names of the channels of frames (n, h, w[, c]) to fuse separately; none to fuse together.

    "auto" separates the channels of microscopy files, unless their names are those of a colour image or the
    last one is alpha, and the channels of arrays that have more than four. A blank channel that follows those
    of a microscopy file is not included. Unknown names are empty.
    """
    check_choice("decide_channels", decide_channels, CHOICES)
    n_channels = shape[3] if len(shape) == 4 else 1
    named = acquisition.channels if acquisition and 1 < len(acquisition.channels) <= n_channels else ()
    if n_channels == 1 or decide_channels == "together":
        return ()
    names = named or ("",) * n_channels
    has_colours = are_colours(named) or last_is_alpha(named) if named else n_channels <= COLOURS
    return names if decide_channels == "separate" or not has_colours else ()


def check_layers(maps: Collection[str] | None, separate: Sequence[str]) -> None:
    """Refuse votes and log odds for separate channels: each channel has its own."""
    if separate and (layers := [name for name in maps or () if name in LAYERS]):
        raise InputError(
            f"`maps` cannot include {layers[0]} if channels are fused separately. Set `decide_channels` to "
            "together, or fuse one channel.",
            setting="maps",
            got=layers[0],
        )


def correct(frames: Frames, n_separate: int, **settings: str) -> tuple[Frames, list[dict[str, Any]]]:
    """Repair or equalise frames, each of the separate channels by itself.

    `settings` are those of `Corrections.measure`. Returned are the frames, corrected when they are read, and
    the report of each separate channel, or one report.
    """
    if not n_separate:
        corrections = Corrections.measure(frames, **settings)
        return corrections.of(frames), [corrections.report()]
    changed, reports = {}, []
    for c in range(n_separate):
        channel = channel_of(frames, c)
        corrections = Corrections.measure(channel, **settings)
        if (corrected := corrections.of(channel)) is not channel:
            changed[c] = corrected
        reports.append(corrections.report())
    return ReplacedChannels(frames, changed) if changed else frames, reports


def fuse_separately(
    frames: Frames,
    names: Sequence[str],
    fuse_channel: FuseChannel,
    *,
    reports: Sequence[dict[str, Any]],
    allocate: Allocate,
    progress: Progress,
) -> FusionResult:
    """Fuse each of the first channels of frames (n, h, w, c) as a grey stack; return all maps.

    `names` has one name for each channel to fuse, which may be empty; further channels are blank. `reports`
    are what is known of each channel already. The maps at a pixel are those of one channel, the first of
    equals: the one with the highest confidence, or, for methods without, with the most detail.
    """
    image = np.zeros(frames.shape[1:], frames.dtype)
    maps: dict[str, Any] = {}  # by their names
    slabs, of_channels = [], []
    best: FloatArray | None = None
    for c, (name, known) in enumerate(zip(names, reports, strict=True)):

        def channel_progress(stage: str, done: float, number: int = c + 1) -> None:
            progress(f"{stage} channel {number} of {len(names)}", done)

        part = fuse_channel(channel_of(frames, c), channel_progress)
        image[..., c] = part.image
        of_channels.append({"name": name, **known, **part.report})
        if part.slabs is not None:
            slabs.append(part.slabs)
        planes = {kind: plane for kind in MAPS if (plane := getattr(part, kind)) is not None}
        if not planes:
            continue
        certainty = part.confidence if part.confidence is not None else relative_detail(part.image)
        if best is None:
            best, maps = certainty.copy(), planes
            continue
        better = certainty > best
        for kind, plane in planes.items():
            np.copyto(maps[kind], plane, where=better)
        np.copyto(best, certainty, where=better)
    shares = Shares(len(frames))
    shares.add(FusionResult(image, **maps))
    report = {"decide_channels": "separate", "separate_channels": of_channels, **shares.report()}
    return FusionResult(image, **maps, slabs=_join_slabs(slabs, image, allocate), report=report)


def keep_maps(result: FusionResult, maps: Collection[str] | None) -> FusionResult:
    """Return a result without the maps that are not wanted; None keeps all."""
    unwanted: dict[str, Any] = {name: None for name in MAPS if maps is not None and name not in maps}
    return replace(result, **unwanted)


def relative_detail(image: NDArray[Any]) -> FloatArray:
    """Return the Laplacian energy of a grey image around each pixel, relative to the variance of its noise.

    It is alike in the noise of a channel without light and in the dark of a bright one, and larger in
    structure.
    """
    scale = IntensityScale.of(image.dtype)
    strips = [scale.to_unit(strip) for strip in sampled_strips(image[None], 0)]
    noise = max(estimate_noise(strips), ROUNDING * scale.step, LEAST_NOISE)
    detail: FloatArray = np.empty(image.shape, np.float32)

    def measure(top: int) -> None:
        first, end = max(0, top - REACH), min(top + BAND + REACH, len(image))
        energy = laplacian_energy(scale.to_unit(image[first:end]))
        detail[top : top + BAND] = energy[top - first :][:BAND] / noise**2

    for_all(measure, range(0, len(image), BAND))
    return filtered(detail, AROUND)


def _join_slabs(slabs: Sequence[Frames], image: NDArray[Any], allocate: Allocate) -> Any:
    """Return the slab images (m, h, w, c) of all channels; None without slabs."""
    if not slabs:
        return None
    joined = allocate((len(slabs[0]), *image.shape), image.dtype)
    for s in range(len(slabs[0])):
        plane = np.zeros_like(image)
        for c, channel in enumerate(slabs):
            plane[..., c] = channel[s]
        joined[s] = plane
    return joined
