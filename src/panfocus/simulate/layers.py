"""Focal stacks of layered scenes, rendered as a thin lens would photograph them, and what is true of them.

A scene is a list of layers, the farthest first. Each has a picture, a matte (how much of each pixel it
covers) and a depth, and goes on behind those in front of it. Depths are counted in frames: frame i is focused
on depth i, and a point at depth d is spread there over a disk of radius `strength` |d - i| pixels, as by a
thin lens whose steps of focus are even in dioptres.

- Light adds up, values coded for a screen do not: pictures are decoded (sRGB), blurred, composed and coded
  again. Noise and rounding to 8 bit come last.
- A layer's matte is blurred as its light is, and the layers are laid over each other, back to front. This is
  exact wherever all layers but one are in focus; where two are blurred, what the front one lets through is
  taken to be an even sample of what is behind it.
- A layer whose depth varies is blurred by the disk of each of its points. The light is divided by what a
  white layer without a rim receives from the same disks: a surface without holes stays without holes.
- Beyond its borders a scene is mirrored.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt, uniform_filter
from scipy.signal import oaconvolve

from panfocus import _checks
from panfocus._intensity import FloatArray, IntArray
from panfocus.errors import InputError
from panfocus.simulate.defocus import WHITE, WITHIN_A_PIXEL, defocused, disk

NEVER_IN_FOCUS = 2.0  # pixels: a disk this wide in the best of the frames is plain to see
BAND = 16  # pixels to both sides of a depth edge that count as its surroundings
EDGE_STEP = 0.5  # pixels: layers whose disks never differ by more are at one depth, for the eye
DETAIL = 4.0 / WHITE  # a surface has texture where a blur of 2 pixels takes this much away, root mean square
DETAIL_WINDOW = 9  # pixels, over which that mean is taken
RADIUS_STEP = 0.25  # pixels between the disks of a surface whose depth varies; others are mixed of two
RADIUS_RATIO = 1.1  # of larger disks: a tenth of a radius more or less does not show


@dataclass(frozen=True, eq=False)
class Layer:
    """One surface of a scene.

    Attributes
    ----------
    picture : ndarray (h, w, c)
        What is painted on it, unit range, as coded for a screen (sRGB); everywhere, also where it is hidden.
    matte : ndarray (h, w)
        The share of each pixel that it covers, 0 to 1.
    depth : float or ndarray (h, w)
        Where it is in focus, in frames. It should vary slowly: by far less than a pixel of radius per pixel.
    """

    picture: FloatArray
    matte: FloatArray
    depth: float | FloatArray

    def __post_init__(self) -> None:
        if self.picture.ndim != 3 or self.picture.size == 0:
            raise InputError(f"a layer's picture has shape {self.picture.shape}; needed: (h, w, c)")
        if self.matte.shape != self.picture.shape[:2]:
            raise InputError(
                f"a layer's matte has shape {self.matte.shape}; its picture needs {self.picture.shape[:2]}"
            )
        if np.shape(self.depth) not in ((), self.matte.shape):
            raise InputError(
                f"a layer's depth has shape {np.shape(self.depth)}; needed: a number or {self.matte.shape}"
            )
        if not np.isfinite(self.depth).all():
            raise InputError("a layer's depth holds NaN or infinite values")
        for name, values in (("picture", self.picture), ("matte", self.matte)):
            if not (values.min() >= 0 and values.max() <= 1):
                raise InputError(f"a layer's {name} must lie between 0 and 1")


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known of a rendered stack.

    Attributes
    ----------
    image : ndarray of uint8 (h, w, c)
        The picture that a pinhole would take: every layer sharp, no noise.
    depth : ndarray of float32 (h, w)
        Depth, in frames, of the layer that most of each pixel shows; also beyond the first or the last frame.
    least_radius : ndarray of float32 (h, w)
        Radius, in pixels, of that layer's disk in the frame that has it sharpest.
    textured : ndarray of bool (h, w)
        Whether that layer has texture here that a blur of 2 pixels visibly takes away.
    near_edge : ndarray of bool (h, w)
        Whether a depth edge, a border between two layers at different depths, is within 16 pixels.
    """

    image: NDArray[np.uint8]
    depth: FloatArray
    least_radius: FloatArray
    textured: NDArray[np.bool_]
    near_edge: NDArray[np.bool_]

    @cached_property
    def never_in_focus(self) -> NDArray[np.bool_]:
        """Places whose disk has a radius of 2 pixels or more in every frame."""
        return self.least_radius >= NEVER_IN_FOCUS


def render_stack(
    layers: Sequence[Layer],
    *,
    n_frames: int,
    strength: float,
    noise: float = 0.0,
    rng: np.random.Generator | None = None,
) -> NDArray[np.uint8]:
    """Photograph layers, the farthest first, once for each focus.

    Parameters
    ----------
    layers : sequence of Layer
        All of one size; the first must cover the whole picture.
    n_frames : int
        Number of frames, two or more; frame i is focused on depth i.
    strength : float
        By how many pixels the disk of a point grows in radius from frame to frame. Larger blurs more.
    noise : float
        Standard deviation of the sensor noise in levels of 255, normal, another one in each frame.
    rng : Generator, optional
        Where the noise comes from; needed with noise.

    Returns
    -------
    ndarray of uint8 (n, h, w, c)
    """
    _check_scene(layers, n_frames, strength)
    _checks.real_number("noise", noise)
    if not 0 <= noise < WHITE:
        raise InputError(f"noise must be from 0 to {WHITE}, got {noise}")
    if noise > 0 and rng is None:
        raise InputError("noise needs a generator of random numbers (rng)")
    light = [_decoded(layer.picture) for layer in layers]
    frames = []
    for focus in range(n_frames):
        seen = np.zeros_like(light[0])
        for layer, colour in zip(layers, light, strict=True):
            radius = strength * np.abs(np.asarray(layer.depth, dtype=np.float64) - focus)
            shown, covered = _blurred(colour, layer.matte, radius)
            seen = shown + (1 - covered[..., None]) * seen
        exposed = WHITE * _coded(seen)
        if rng is not None and noise > 0:
            exposed += rng.normal(0.0, noise, exposed.shape)
        frames.append(_to_bytes(exposed))
    return np.stack(frames)


def find_truth(layers: Sequence[Layer], *, n_frames: int, strength: float) -> Truth:
    """Say what is true of the stack that `render_stack` makes of these layers."""
    _check_scene(layers, n_frames, strength)
    seen = np.zeros_like(layers[0].picture, dtype=np.float64)
    shares: list[FloatArray] = []  # of each pixel, by layer
    for layer in layers:
        shares = [(1 - layer.matte) * share for share in shares] + [layer.matte]
        seen = layer.matte[..., None] * _decoded(layer.picture) + (1 - layer.matte[..., None]) * seen
    front = np.argmax(shares, axis=0)
    is_front = [front == i for i in range(len(layers))]
    depth = np.select(is_front, [np.broadcast_to(layer.depth, front.shape) for layer in layers])
    textured = np.select(is_front, [_has_texture(layer.picture) for layer in layers], default=False)
    nearest = np.clip(np.rint(depth), 0, n_frames - 1)
    return Truth(
        image=_to_bytes(WHITE * _coded(seen)),
        depth=depth.astype(np.float32),
        least_radius=(strength * np.abs(depth - nearest)).astype(np.float32),
        textured=textured,
        near_edge=_near_edge(front, strength * depth),
    )


def _check_scene(layers: Sequence[Layer], n_frames: int, strength: float) -> None:
    _checks.whole_number("n_frames", n_frames, at_least=2)
    _checks.real_number("strength", strength)
    if not 0 < strength < np.inf:
        raise InputError(f"strength must be positive and finite, got {strength}")
    if not layers:
        raise InputError("a scene needs at least one layer")
    for layer in layers:
        if layer.picture.shape != layers[0].picture.shape:
            raise InputError(
                f"layers have shapes {layers[0].picture.shape} and {layer.picture.shape}; needed: one shape"
            )
    if layers[0].matte.min() < 1:
        raise InputError("the first layer must cover the whole picture: its matte must be 1 everywhere")


def _blurred(light: FloatArray, matte: FloatArray, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the light that a layer sends to each pixel (h, w, c), and the share (h, w) that it blocks."""
    planes = np.concatenate([light * matte[..., None], matte[..., None]], axis=2)
    if radius.ndim == 0:
        spread = np.stack([defocused(planes[..., i], float(radius)) for i in range(planes.shape[2])], axis=2)
        return spread[..., :-1], spread[..., -1]
    planes = np.concatenate([planes, np.ones((*matte.shape, 1))], axis=2)  # the last: white without a rim
    reach = int(np.ceil(radius.max()))
    wide, wide_radius = (
        np.pad(a, [(reach, reach)] * 2 + [(0, 0)] * (a.ndim - 2), mode="symmetric") for a in (planes, radius)
    )
    sums = np.zeros_like(wide)
    for level, weights in _by_radius(wide_radius):
        rows, columns = _box(weights > 0)
        part = wide[rows, columns] * weights[rows, columns, None]
        if level <= WITHIN_A_PIXEL:
            sums[rows, columns] += part
            continue
        kernel = disk(level)
        _add_at(
            sums,
            oaconvolve(part, kernel[..., None], axes=(0, 1)),
            rows.start - len(kernel) // 2,
            columns.start - len(kernel) // 2,
        )
    inner = sums[reach : reach + matte.shape[0], reach : reach + matte.shape[1]]
    inner = inner[..., :-1] / inner[..., -1:]
    return inner[..., :-1], inner[..., -1]


def _by_radius(radius: FloatArray) -> Iterator[tuple[float, FloatArray]]:
    """Share out the pixels among disks: yield a radius and the weight of each pixel, which add up to one."""
    levels = [0.0, WITHIN_A_PIXEL]
    while levels[-1] < radius.max():
        levels.append(max(levels[-1] + RADIUS_STEP, levels[-1] * RADIUS_RATIO))
    for i, level in enumerate(levels):
        hat = np.zeros(len(levels))
        hat[i] = 1.0
        weights = np.interp(radius, levels, hat)
        if weights.any():
            yield level, weights


def _box(mask: NDArray[np.bool_]) -> tuple[slice, slice]:
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    return slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)


def _add_at(sums: FloatArray, part: FloatArray, row: int, column: int) -> None:
    """Add a part whose upper left corner is at (row, column); what lies outside is dropped."""
    top, left = max(0, -row), max(0, -column)
    bottom, right = min(len(part), len(sums) - row), min(part.shape[1], sums.shape[1] - column)
    sums[row + top : row + bottom, column + left : column + right] += part[top:bottom, left:right]


def _has_texture(picture: FloatArray) -> NDArray[np.bool_]:
    grey = picture.mean(axis=2, dtype=np.float64)
    detail = grey - defocused(grey, NEVER_IN_FOCUS)
    return np.asarray(uniform_filter(detail**2, DETAIL_WINDOW, mode="reflect") >= DETAIL**2)


def _near_edge(front: IntArray, depth: FloatArray) -> NDArray[np.bool_]:
    """Find the surroundings of the places where another layer begins, from depths in pixels of radius."""
    edge = np.zeros(front.shape, dtype=bool)
    for axis in (0, 1):
        one, other = (
            tuple(part if a == axis else slice(None) for a in (0, 1))
            for part in (slice(None, -1), slice(1, None))
        )
        jump = (front[one] != front[other]) & (np.abs(depth[one] - depth[other]) >= EDGE_STEP)
        edge[one] |= jump
        edge[other] |= jump
    if not edge.any():
        return edge
    return np.asarray(distance_transform_edt(~edge) < BAND)


def _decoded(picture: FloatArray) -> FloatArray:
    """Light of values coded as sRGB (IEC 61966-2-1)."""
    values = picture.astype(np.float64)
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _coded(light: FloatArray) -> FloatArray:
    light = np.clip(light, 0, 1)  # rounding errors of the blur
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)


def _to_bytes(values: FloatArray) -> NDArray[np.uint8]:
    return np.clip(np.rint(values), 0, WHITE).astype(np.uint8)
