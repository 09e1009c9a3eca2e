"""The rendered scenes of benchmarks/rendered_stacks.py, and random ones, as stacks with known truth."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks import rendered_stacks
from benchmarks._known_stack import KnownStack, cached
from benchmarks.rendered_stacks import load_texture
from panfocus.simulate import SceneSetting, Truth, draw_layers, find_truth, render_stack

# Photographs of the fresh scenes; no scene of the halves shows them.
FRESH_TEXTURES = tuple(f"kodim{i:02}" for i in range(1, 17))
OBJECTS = ("blob", "polygon", "board", "leaves", "wires", "hairs")
TEXTURES_PER_SCENE = 4


def scenes(half: str) -> Iterator[KnownStack]:
    """Yield the layered scenes of a half, "choose" or "report"."""
    for name in rendered_stacks.SETTINGS[half]:

        def make(name: str = name) -> KnownStack:
            (scene,) = rendered_stacks.scenes(half, (name,))
            return from_truth("layered", half, name, scene.frames, scene.truth)

        yield cached(f"layered-{name}", (__file__, rendered_stacks.__file__), make)


def fresh(n: int, seed: int) -> Iterator[KnownStack]:
    """Yield n random layered scenes; equal seeds give equal scenes."""
    for i in range(n):
        name = f"fresh-{seed}-{i}"

        def make(name: str = name, i: int = i) -> KnownStack:
            rng = np.random.default_rng((seed, i, 0))
            setting, textures = draw_setting(rng), fresh_textures(rng)
            return render("layered", "fresh", name, setting, textures, (384, 512), render_stack)

        yield cached(f"layered-{name}", (__file__, rendered_stacks.__file__), make)


def render(
    kind: str,
    half: str,
    name: str,
    setting: SceneSetting,
    textures: list[NDArray[np.float64]],
    size: tuple[int, int],
    renderer: Callable[..., NDArray[np.uint8]],
) -> KnownStack:
    """Draw the scene of a setting with (height, width) and render it with noise."""
    layers = draw_layers(setting, textures, height=size[0], width=size[1])
    optics = {"n_frames": setting.n_frames, "strength": setting.strength}
    frames = renderer(layers, **optics, noise=setting.noise, rng=np.random.default_rng(setting.seed))
    return from_truth(kind, half, name, frames, find_truth(layers, **optics))


def from_truth(kind: str, half: str, name: str, frames: NDArray, truth: Truth) -> KnownStack:
    """Return frames and truth as a known stack. Depth counts on texture that some frame has in focus."""
    counted = truth.textured & ~truth.never_in_focus
    return KnownStack(kind, half, name, frames, truth.image, truth.depth, counted, truth.near_edge)


def draw_setting(rng: np.random.Generator) -> SceneSetting:
    """Draw the setting of a fresh scene: 2 to 4 objects, 3 to 12 frames, disks of up to 4 to 12 pixels."""
    return SceneSetting(
        objects=tuple(map(str, rng.choice(OBJECTS, rng.integers(2, 5), replace=False))),
        n_frames=int(rng.integers(3, 13)),
        largest_radius=float(rng.uniform(4, 12)),
        background=str(rng.choice(["wall", "floor"])),
        near_first=bool(rng.random() < 0.5),
        noise=float(rng.uniform(0.5, 2)),
        seed=int(rng.integers(1 << 31)),
    )


def fresh_textures(rng: np.random.Generator) -> list[NDArray[np.float64]]:
    """Load the photographs of a fresh scene."""
    return [load_texture(str(name)) for name in rng.choice(FRESH_TEXTURES, TEXTURES_PER_SCENE, replace=False)]
