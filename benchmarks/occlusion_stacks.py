"""Stacks with true occlusion: scenes rendered through the aperture, and refocused light fields.

The light fields are those of `stacks-light` in the image sets: the mean of 33 shifted views, with the central
view as truth. They have no measured depth; `find_sharpest` derives one from the truth.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from benchmarks import layered_stacks, rendered_stacks
from benchmarks._data import need_data
from benchmarks._known_stack import KnownStack, cached
from benchmarks.layered_stacks import draw_setting, fresh_textures, render
from benchmarks.rendered_stacks import TEXTURES, load_texture
from panfocus.compare.depth_errors import FAR
from panfocus.io.read_stack import read_image
from panfocus.simulate import SceneSetting, render_through_aperture

SIZE = 320, 416  # height and width in pixels
SOURCES = (__file__, layered_stacks.__file__, rendered_stacks.__file__)
ERROR_WINDOW = 9  # side in pixels of the window in which frames are compared with the truth
CLEAR = 2.0  # ratio of the errors of the two best depths from which the best one counts as known


def _setting(objects: str, n_frames: int, largest_radius: float, noise: float, **others) -> SceneSetting:
    return SceneSetting(
        objects=tuple(objects.split()),
        n_frames=n_frames,
        largest_radius=largest_radius,
        noise=noise,
        **others,
    )


# objects, number of frames, largest radius in pixels, noise, other settings
SETTINGS = {
    "choose": {
        "co1-5": _setting("blob leaves", 5, 8, 1, seed=301),
        "co2-7": _setting("polygon hairs", 7, 12, 0.5, seed=302, near_first=False),
        "co3-10": _setting("leaves blob wires", 10, 10, 1.5, seed=303),
        "co4-14": _setting("polygon board leaves", 14, 14, 1, seed=304, background="floor"),
        "co5-24": _setting("blob wires polygon hairs", 24, 10, 2, seed=305, near_first=False),
    },
    "report": {
        "ro1-5": _setting("polygon wires", 5, 6, 1, seed=401, near_first=False),
        "ro2-8": _setting("blob hairs", 8, 14, 1, seed=402),
        "ro3-9": _setting("board leaves polygon", 9, 9, 0.5, seed=403),
        "ro4-15": _setting("leaves polygon hairs", 15, 12, 2, seed=404, near_first=False),
        "ro5-24": _setting("blob leaves wires polygon", 24, 11, 1.5, seed=405, background="floor"),
    },
}
LIGHT_FIELDS = {"choose": ("cotton", "greek", "rosemary"), "report": ("dino", "kitchen", "vinyl")}


def scenes(half: str) -> Iterator[KnownStack]:
    """Yield the stacks of a half, "choose" or "report"."""
    for name, setting in SETTINGS[half].items():

        def make(name: str = name, setting: SceneSetting = setting) -> KnownStack:
            textures = [load_texture(texture) for texture in TEXTURES[half]]
            return render("occlusion", half, name, setting, textures, SIZE, render_through_aperture)

        yield cached(f"occlusion-{name}", SOURCES, make)
    for name in LIGHT_FIELDS[half]:
        yield read_light_field(half, name)


def fresh(n: int, seed: int) -> Iterator[KnownStack]:
    """Yield n random scenes seen through the aperture; equal seeds give equal scenes."""
    for i in range(n):
        name = f"fresh-{seed}-{i}"

        def make(name: str = name, i: int = i) -> KnownStack:
            rng = np.random.default_rng((seed, i, 1))  # other scenes than the other modules
            setting, textures = draw_setting(rng), fresh_textures(rng)
            return render("occlusion", "fresh", name, setting, textures, SIZE, render_through_aperture)

        yield cached(f"occlusion-{name}", SOURCES, make)


def read_light_field(half: str, name: str) -> KnownStack:
    """Return a light field; its depth is that of `find_sharpest`, and counts where that is clear."""
    folder = need_data() / "stacks-light" / name
    frames = np.stack([read_image(path) for path in sorted(folder.glob("frame-*.png"))])
    with np.load(folder / "truth.npz") as truth:
        image = truth["image"]
    return KnownStack("light field", half, name, frames, image, *find_sharpest(frames, image))


def find_sharpest(frames: NDArray, image: NDArray) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the frame nearest to the true image at each pixel, and where it is clear.

    The error is the mean square over 9 x 9 pixels and all channels. A pixel is clear if every frame more than
    two frames away has at least twice the error of the best one.
    """
    errors = np.stack(
        [
            uniform_filter(((frame.astype(np.float64) - image) ** 2).mean(axis=-1), ERROR_WINDOW)
            for frame in frames
        ]
    )
    best = errors.argmin(axis=0)
    is_far = np.abs(np.arange(len(frames))[:, None, None] - best) > FAR
    rival = np.where(is_far, errors, np.inf).min(axis=0)
    return best, rival >= CLEAR * errors.min(axis=0)
