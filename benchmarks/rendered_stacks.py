"""Rendered focal stacks with known truth."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks._data import need_data
from panfocus.simulate import SceneSetting, Truth, draw_layers, find_truth, render_stack

HEIGHT, WIDTH = 384, 512
TRIM = 8  # pixels at each side of the photographs: some have a frame

# Photographs that train nothing. What is chosen on one group is reported on the other: no texture is in both.
TEXTURES = {
    "choose": ("kodim17", "kodim19", "kodim21", "kodim23"),
    "report": ("kodim18", "kodim20", "kodim22", "kodim24"),
}


def _setting(objects: str, n_frames: int, largest_radius: float, **others) -> SceneSetting:
    return SceneSetting(
        objects=tuple(objects.split()), n_frames=n_frames, largest_radius=largest_radius, **others
    )


SETTINGS = {
    "choose": {
        "c1-2": _setting("blob polygon", 2, 6, seed=101),
        "c2-2": _setting("blob leaves", 2, 10, seed=102, unfocused="middle", noise=1),
        "c3-3": _setting("polygon leaves wires", 3, 8, seed=103, near_first=False, noise=1),
        "c4-3": _setting("blob polygon", 3, 4, seed=104, unfocused="back", noise=0.5),
        "c5-5": _setting("board blob hairs", 5, 10, seed=105, noise=1.5),
        "c6-8": _setting("leaves polygon blob", 8, 12, seed=106, background="floor", unfocused="front"),
        "c7-12": _setting("dome board wires", 12, 12, seed=107, near_first=False, noise=2),
        "c8-20": _setting("polygon dome leaves hairs", 20, 12, seed=108, unfocused="back", noise=1),
    },
    "report": {
        "r01-2": _setting("polygon blob", 2, 4, seed=201, noise=1),
        "r02-2": _setting("blob leaves wires", 2, 8, seed=202, near_first=False),
        "r03-2": _setting("leaves polygon blob", 2, 11, seed=203, unfocused="middle", noise=1),
        "r04-3": _setting("blob hairs", 3, 6, seed=204, noise=0.5),
        "r05-3": _setting("leaves polygon", 3, 10, seed=205, unfocused="front", noise=1.5),
        "r06-5": _setting("polygon board wires", 5, 8, seed=206, near_first=False, noise=1),
        "r07-5": _setting("blob leaves polygon", 5, 2.5, seed=207, noise=1),
        "r08-8": _setting("dome leaves hairs", 8, 10, seed=208, unfocused="back"),
        "r09-8": _setting("blob polygon", 8, 12, seed=209, background="floor", noise=2),
        "r10-12": _setting(
            "board dome wires blob", 12, 12, seed=210, near_first=False, unfocused="front", noise=1
        ),
        "r11-20": _setting("polygon leaves dome wires", 20, 12, seed=211, noise=1),
        "r12-20": _setting(
            "blob board hairs", 20, 9, seed=212, background="floor", unfocused="back", noise=1.5
        ),
    },
}


@dataclass(frozen=True, eq=False)
class RenderedScene:
    """A stack (n, h, w, 3) and what is true of it."""

    name: str
    setting: SceneSetting
    frames: NDArray[np.uint8]
    truth: Truth


def scenes(group: str, names: tuple[str, ...] = ()) -> Iterator[RenderedScene]:
    """Render the scenes of a group, "choose" or "report", or those of them that are named."""
    textures = [_texture(name) for name in TEXTURES[group]]
    for name, setting in SETTINGS[group].items():
        if names and name not in names:
            continue
        layers = draw_layers(setting, textures, height=HEIGHT, width=WIDTH)
        optics = {"n_frames": setting.n_frames, "strength": setting.strength}
        frames = render_stack(layers, **optics, noise=setting.noise, rng=np.random.default_rng(setting.seed))
        yield RenderedScene(name, setting, frames, find_truth(layers, **optics))


def _texture(name: str) -> NDArray[np.float64]:
    photograph = Image.open(need_data() / "training" / "kodak" / f"{name}.png").convert("RGB")
    if photograph.height > photograph.width:
        photograph = photograph.transpose(Image.Transpose.ROTATE_90)
    photograph = photograph.crop((TRIM, TRIM, photograph.width - TRIM, photograph.height - TRIM))
    # As small as it may be, three quarters of its size: so it is sharper.
    size = round(photograph.width * HEIGHT / photograph.height), HEIGHT
    return np.asarray(photograph.resize(size, Image.Resampling.LANCZOS)) / 255
