"""Focal stacks of layered scenes with true occlusion: the mean of the views from all points of the aperture.

Seen from the point (u, v) of a round aperture of radius 1, in the frame focused on depth i, a point of a
layer at depth d is shifted by `strength` (d - i) (u, v) pixels. In each view every layer is sharp, so the
layers are composed from back to front without approximation. The frame is the mean of the views. With one
layer this is the disk of `render_stack`, which only approximates the mean where two layers are out of focus.

Pixels are small squares: a view is shifted by whole pixels, and the weights of the views are the areas of the
aperture for which the shifts of all layers are the same. This gives each layer the disk of `disk`, with its
anti-aliased rim, and leaves a layer in focus as it is.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray
from panfocus.simulate.defocus import WITHIN_A_PIXEL
from panfocus.simulate.layers import Layer, check_scene, expose

# Smallest side of a part of the aperture, in pixels of shift of the most blurred layer. With many layers, the
# number of parts would grow with the square of their number; 0.3 pixels bound it at 35 per pixel of the disk.
LEAST_SIDE = 0.3
RIM_SAMPLES = 16  # samples along each side of a part of the aperture, as in `disk`


def render_through_aperture(
    layers: Sequence[Layer],
    *,
    n_frames: int,
    strength: float,
    noise: float = 0.0,
    rng: np.random.Generator | None = None,
) -> NDArray[np.uint8]:
    """Render layers, the farthest first, once for each focus, with true occlusion.

    Parameters are those of `render_stack`, and so is the truth. The time grows with the square of the largest
    radius: about 1 second per frame of 320 x 416 pixels at 10 pixels.
    """
    light = light_through_aperture(layers, n_frames=n_frames, strength=strength)
    return expose(light, noise=noise, rng=rng)


def light_through_aperture(layers: Sequence[Layer], *, n_frames: int, strength: float) -> FloatArray:
    """Return the linear light (n, h, w, c) that `render_through_aperture` exposes; 1 is white."""
    from panfocus.simulate._kernel_aperture import add_views  # numba is slow to import

    check_scene(layers, n_frames, strength)
    shape = layers[0].picture.shape
    depths = np.stack([np.broadcast_to(layer.depth, shape[:2]) for layer in layers]).astype(np.float64)
    is_varying = np.array([np.ndim(layer.depth) > 0 for layer in layers])
    furthest = max(abs(depths.min() - (n_frames - 1)), abs(depths.max()), abs(depths.max() - (n_frames - 1)))
    margin = int(np.ceil(strength * max(furthest, abs(depths.min())))) + 1
    sides = [(0, 0), (margin, margin), (margin, margin)]
    planes = np.stack(
        [
            np.concatenate([layer.light * layer.matte[..., None], layer.matte[..., None]], axis=2)
            for layer in layers
        ]
    )
    wide = np.pad(planes.astype(np.float32), [*sides, (0, 0)], mode="symmetric")
    depths = np.pad(depths, sides, mode="symmetric")
    frames = np.zeros((n_frames, *shape))
    for focus, frame in enumerate(frames):
        radii = strength * (depths - focus)
        largest = np.abs(radii).max(axis=(1, 2))
        places, weights = _split_aperture(largest, is_varying)
        add_views(wide, radii, is_varying, places, weights, margin, frame)
    return frames


def _split_aperture(radii: FloatArray, is_varying: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Return points (n, 2) of the unit disk, and the share of its area that each stands for.

    The parts are the rectangles in which layers with these radii, in pixels, have the same shifts in whole
    pixels. Layers of varying depth get parts of half a pixel, because their disks differ in size.
    """
    cuts = np.empty(0)
    least = LEAST_SIDE / max(radii.max(), LEAST_SIDE)
    for i in np.argsort(-radii):  # the most blurred layer gets exactly its disk
        if radii[i] <= WITHIN_A_PIXEL:
            break
        fineness = 2 if is_varying[i] else 1
        reach = np.ceil(fineness * radii[i])
        places = (np.arange(-reach, reach) + 0.5) / (fineness * radii[i])
        places = places[np.abs(places) < 1]
        is_apart = np.abs(places[:, None] - cuts).min(axis=1, initial=np.inf) >= least
        cuts = np.sort(np.concatenate([cuts, places[is_apart]]))
    cuts = np.concatenate([[-1.0], cuts, [1.0]])
    middles, sides = (cuts[:-1] + cuts[1:]) / 2, np.diff(cuts)
    offsets = (np.arange(RIM_SAMPLES) + 0.5) / RIM_SAMPLES - 0.5
    squares = (middles[:, None] + sides[:, None] * offsets) ** 2
    inside = (squares[:, None, :, None] + squares[None, :, None, :] <= 1).mean(axis=(2, 3))
    areas = inside * sides[:, None] * sides
    kept = areas > 0
    grid = np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1)
    return grid[kept], areas[kept] / areas.sum()
