"""Focal stacks of layered scenes, rendered with a thin lens, and their ground truth.

A scene is a list of layers, the farthest first. A layer has an image, a matte (its coverage of each pixel)
and a depth, and continues behind the layers in front of it. Depths are in frames: frame i is focused on depth
i. There, a point at depth d becomes a disk of radius `strength` |d - i| pixels, as with a thin lens whose
focus steps are even in dioptres.

- Light is additive, sRGB values are not: images are decoded, blurred, composed and encoded again. Noise and
  rounding to 8 bits come last.
- A layer may also emit light brighter than white, such as a glint. It is clipped when a frame is exposed,
  after the blur, so a blurred glint covers more saturated pixels than the sharp one.
- The matte of a layer is blurred like its light, and layers are composed from back to front. This is exact
  where at most one layer is out of focus. Where two are blurred, the front layer is assumed to transmit an
  even sample of the light behind it; `render_through_aperture` is exact there.
- A layer of varying depth is blurred by the disk of each of its points. The light is divided by the light of
  a white layer without borders, blurred by the same disks, so that closed surfaces stay closed.
- Scenes are mirrored at the borders.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt, find_objects, uniform_filter
from scipy.signal import oaconvolve

from panfocus._checks import check_integer, check_number
from panfocus._intensity import FloatArray, IntArray
from panfocus.errors import InputError
from panfocus.simulate.defocus import WHITE, WITHIN_A_PIXEL, apply_defocus, check_positive, disk

NEVER_IN_FOCUS = 2.0  # radius in pixels that is clearly visible in the best frame
BAND = 16  # pixels on both sides of a depth edge
EDGE_STEP = 0.5  # difference of disk radii in pixels below which two layers count as one depth
DETAIL = 4.0 / WHITE  # root mean square change by a blur of 2 pixels that counts as texture
DETAIL_WINDOW = 9  # side in pixels of the window of this mean
RADIUS_STEP = 0.25  # pixels between the disks of a surface of varying depth; others are interpolated
RADIUS_RATIO = 1.1  # ratio of larger disks; a difference of 10 % is not visible


@dataclass(frozen=True, eq=False)
class Layer:
    """One surface of a scene.

    Attributes
    ----------
    picture : ndarray (h, w, c)
        Image on the surface, in sRGB and unit range, including hidden parts.
    matte : ndarray (h, w)
        Coverage of each pixel, 0 to 1.
    depth : float or ndarray (h, w)
        Depth in frames. It should vary slowly: by much less than 1 pixel of radius per pixel.
    emission : ndarray (h, w, c), optional
        Linear light added to the light of the picture; 1 is white. The sum is clipped in a sharp frame.
    """

    picture: FloatArray
    matte: FloatArray
    depth: float | FloatArray
    emission: FloatArray | None = None

    def __post_init__(self) -> None:
        size = self.picture.shape[:2]
        for name, is_valid, needed in (
            ("picture", self.picture.ndim == 3 and self.picture.size > 0, "have shape (h, w, c)"),
            ("matte", self.matte.shape == size, f"have shape {size}"),
            ("depth", np.shape(self.depth) in ((), size), f"be a number or have shape {size}"),
            (
                "emission",
                self.emission is None or self.emission.shape == self.picture.shape,
                f"have shape {self.picture.shape}",
            ),
        ):
            if not is_valid:
                got = np.shape(getattr(self, name))
                raise InputError(f"The `{name}` of a layer must {needed}, got {got}.", setting=name, got=got)
        if not np.isfinite(self.depth).all():
            raise InputError("The `depth` of a layer contains NaN or infinite values.", setting="depth")
        for name, values in (("picture", self.picture), ("matte", self.matte)):
            if not (values.min() >= 0 and values.max() <= 1):
                raise InputError(f"The `{name}` of a layer must be between 0 and 1.", setting=name)
        if self.emission is not None and not (self.emission.min() >= 0 and np.isfinite(self.emission).all()):
            raise InputError("The `emission` of a layer must be at least 0 and finite.", setting="emission")

    @property
    def light(self) -> FloatArray:
        """Linear light of the surface, 1 for white, with its emission."""
        light = _decode_srgb(self.picture)
        return light if self.emission is None else light + self.emission


@dataclass(frozen=True, eq=False)
class Truth:
    """Ground truth of a rendered stack.

    Attributes
    ----------
    image : ndarray of uint8 (h, w, c)
        All-in-focus image without noise.
    depth : ndarray of float32 (h, w)
        Depth in frames of the layer with the largest share in each pixel; may be outside the stack.
    least_radius : ndarray of float32 (h, w)
        Radius in pixels of that layer's disk in its sharpest frame.
    textured : ndarray of bool (h, w)
        Whether that layer has texture here that a blur of 2 pixels visibly removes.
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
        """Whether the disk has a radius of 2 pixels or more in every frame."""
        return self.least_radius >= NEVER_IN_FOCUS


def render_stack(
    layers: Sequence[Layer],
    *,
    n_frames: int,
    strength: float,
    noise: float = 0.0,
    rng: np.random.Generator | None = None,
) -> NDArray[np.uint8]:
    """Render layers, the farthest first, once for each focus.

    Parameters
    ----------
    layers : sequence of Layer
        Layers of one size; the first must cover the whole image.
    n_frames : int
        Number of frames, two or more; frame i is focused on depth i.
    strength : float
        Growth of the disk radius in pixels per frame. Larger values blur more.
    noise : float
        Standard deviation of the normal sensor noise in levels of 255, independent in each frame.
    rng : Generator, optional
        Random generator; required with noise.

    Returns
    -------
    ndarray of uint8 (n, h, w, c)
    """
    return expose(render_light(layers, n_frames=n_frames, strength=strength), noise=noise, rng=rng)


def render_light(layers: Sequence[Layer], *, n_frames: int, strength: float) -> FloatArray:
    """Return the linear light (n, h, w, c) of the frames that `render_stack` exposes; 1 is white."""
    check_scene(layers, n_frames, strength)
    light = [layer.light for layer in layers]
    frames = []
    for focus in range(n_frames):
        seen = np.zeros_like(light[0])
        for layer, colour in zip(layers, light, strict=True):
            radius = strength * np.abs(np.asarray(layer.depth, dtype=np.float64) - focus)
            shown, covered = _blur_layer(colour, layer.matte, radius)
            seen = shown + (1 - covered[..., None]) * seen
        frames.append(seen)
    return np.stack(frames)


def expose(
    light: FloatArray, *, noise: float = 0.0, rng: np.random.Generator | None = None
) -> NDArray[np.uint8]:
    """Return frames of linear light (n, h, w, c), clipped at white, in sRGB with noise and 8 bits.

    `noise` is the standard deviation in levels of 255; it needs a random generator.
    """
    check_number("noise", noise)
    if not 0 <= noise < WHITE:
        raise InputError(f"`noise` must be from 0 to {WHITE}, got {noise}.", setting="noise", got=noise)
    if noise > 0 and rng is None:
        raise InputError("`noise` needs a random generator, `rng`.", setting="rng")
    frames = np.empty(light.shape, np.uint8)
    for frame, seen in zip(frames, light, strict=True):
        exposed = WHITE * _encode_srgb(seen)
        if rng is not None and noise > 0:
            exposed += rng.normal(0.0, noise, exposed.shape)
        frame[:] = _to_bytes(exposed)
    return frames


def find_truth(layers: Sequence[Layer], *, n_frames: int, strength: float) -> Truth:
    """Return the ground truth of the stack that `render_stack` renders."""
    check_scene(layers, n_frames, strength)
    seen = np.zeros_like(layers[0].picture, dtype=np.float64)
    shares: list[FloatArray] = []  # share of each layer in each pixel
    for layer in layers:
        shares = [(1 - layer.matte) * share for share in shares] + [layer.matte]
        seen = layer.matte[..., None] * layer.light + (1 - layer.matte[..., None]) * seen
    front = np.argmax(shares, axis=0)
    is_front = [front == i for i in range(len(layers))]
    depth = np.select(is_front, [np.broadcast_to(layer.depth, front.shape) for layer in layers])
    textured = np.select(is_front, [_has_texture(layer) for layer in layers], default=False)
    nearest = np.clip(np.rint(depth), 0, n_frames - 1)
    return Truth(
        image=_to_bytes(WHITE * _encode_srgb(seen)),
        depth=depth.astype(np.float32),
        least_radius=(strength * np.abs(depth - nearest)).astype(np.float32),
        textured=textured,
        near_edge=_near_edge(front, strength * depth),
    )


def check_scene(layers: Sequence[Layer], n_frames: int, strength: float) -> None:
    """Raise unless the layers form a scene."""
    check_integer("n_frames", n_frames, at_least=2)
    check_positive("strength", strength)
    if not layers:
        raise InputError("A scene needs at least one layer.", setting="layers")
    for layer in layers:
        if layer.picture.shape != layers[0].picture.shape:
            raise InputError(
                f"All layers must have one shape, got {layers[0].picture.shape} and {layer.picture.shape}.",
                setting="layers",
                got=layer.picture.shape,
            )
    if layers[0].matte.min() < 1:
        raise InputError("The `matte` of the first layer must be 1 everywhere.", setting="matte")


def _blur_layer(light: FloatArray, matte: FloatArray, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the light of a layer at each pixel (h, w, c), and the share (h, w) of the light it blocks."""
    planes = np.concatenate([light * matte[..., None], matte[..., None]], axis=2)
    if radius.ndim == 0:
        spread = np.stack(
            [apply_defocus(planes[..., i], float(radius)) for i in range(planes.shape[2])], axis=2
        )
        return spread[..., :-1], spread[..., -1]
    white = np.ones((*matte.shape, 1))  # a white layer without borders
    planes = np.concatenate([planes, white], axis=2)
    reach = int(np.ceil(radius.max()))
    wide, wide_radius = (
        np.pad(a, [(reach, reach)] * 2 + [(0, 0)] * (a.ndim - 2), mode="symmetric") for a in (planes, radius)
    )
    sums = np.zeros_like(wide)
    for level, weights in _split_by_radius(wide_radius):
        ((rows, columns),) = find_objects((weights > 0).astype(int))  # bounding box
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


def _split_by_radius(radius: FloatArray) -> Iterator[tuple[float, FloatArray]]:
    """Yield disk radii and the weight of each pixel for it. The weights of a pixel sum to one."""
    levels = [0.0, WITHIN_A_PIXEL]
    while levels[-1] < radius.max():
        levels.append(max(levels[-1] + RADIUS_STEP, levels[-1] * RADIUS_RATIO))
    for i, level in enumerate(levels):
        hat = np.zeros(len(levels))
        hat[i] = 1.0
        weights = np.interp(radius, levels, hat)
        if weights.any():
            yield level, weights


def _add_at(sums: FloatArray, part: FloatArray, row: int, column: int) -> None:
    """Add a part with its upper left corner at (row, column); values outside are dropped."""
    top, left = max(0, -row), max(0, -column)
    bottom, right = min(len(part), len(sums) - row), min(part.shape[1], sums.shape[1] - column)
    sums[row + top : row + bottom, column + left : column + right] += part[top:bottom, left:right]


def _has_texture(layer: Layer) -> NDArray[np.bool_]:
    seen = layer.picture if layer.emission is None else _encode_srgb(layer.light)
    grey = seen.mean(axis=2, dtype=np.float64)
    detail = grey - apply_defocus(grey, NEVER_IN_FOCUS)
    return np.asarray(uniform_filter(detail**2, DETAIL_WINDOW, mode="reflect") >= DETAIL**2)


def _near_edge(front: IntArray, depth: FloatArray) -> NDArray[np.bool_]:
    """Return the pixels near borders between layers of different depth, given in pixels of radius."""
    edge = np.zeros(front.shape, dtype=bool)
    for layer, radius, here in ((front, depth, edge), (front.T, depth.T, edge.T)):  # down, then across
        jump = (layer[:-1] != layer[1:]) & (np.abs(radius[:-1] - radius[1:]) >= EDGE_STEP)
        here[:-1] |= jump
        here[1:] |= jump
    if not edge.any():
        return edge
    return np.asarray(distance_transform_edt(~edge) < BAND)


def _decode_srgb(picture: FloatArray) -> FloatArray:
    """Return the linear light of sRGB values (IEC 61966-2-1)."""
    values = picture.astype(np.float64)
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _encode_srgb(light: FloatArray) -> FloatArray:
    light = np.clip(light, 0, 1)  # rounding errors of the blur
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)


def _to_bytes(values: FloatArray) -> NDArray[np.uint8]:
    return np.clip(np.rint(values), 0, WHITE).astype(np.uint8)
