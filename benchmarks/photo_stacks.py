"""Rendered stacks with the faults of real photographs: rough frames, glints, and crossing hairs.

- rough: frames that are misaligned, breathe, flicker and are compressed as JPEG, seen through the aperture.
- glints: light sources of 5 to 100 times white, and shiny surfaces of which a part is clipped.
- hairs: crossing hairs at different depths, some slanted, seen through the aperture.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter

from benchmarks import layered_stacks, rendered_stacks
from benchmarks._known_stack import KnownStack, cached
from benchmarks.layered_stacks import draw_setting, fresh_textures, from_truth
from benchmarks.rendered_stacks import TEXTURES, load_texture
from panfocus.simulate import (
    CameraFaults,
    Layer,
    SceneSetting,
    apply_faults,
    draw_layers,
    expose,
    find_truth,
    light_through_aperture,
    render_light,
)

KINDS = ("rough", "glints", "hairs")
SIZE = 320, 448  # height and width in pixels
SOURCES = (__file__, layered_stacks.__file__, rendered_stacks.__file__)

INTENSITY = 5.0, 100.0  # light of glints, in units of white
SPOT_RADIUS = 0.7, 2.5  # pixels
LINE_LENGTH = 6.0, 25.0  # pixels
LINE_WIDTH = 1.0, 2.0  # pixels
CLUSTER = 12.0  # pixels: standard deviation of the glints of a cluster around its centre
PER_CLUSTER = 5  # glints
HAIR_DETAIL = 4.0  # levels: change of a hair by a blur of 2 pixels from which it counts as visible
SHINE = 2.0, 4.0  # light of a shiny surface beyond its picture, relative to it


@dataclass(frozen=True, kw_only=True)
class PhotoSetting:
    """Settings of a scene and of the camera.

    Attributes
    ----------
    scene : SceneSetting
        Layers, optics, noise and seed.
    glints : int
        Number of glints, in clusters.
    is_shiny : bool
        Whether the farthest object reflects so much light that a part of it is clipped.
    faults : CameraFaults, optional
        Movement and flicker of the frames.
    quality : int, optional
        Quality of JPEG compression with halved colour resolution; the frames are not compressed without it.
    """

    scene: SceneSetting
    glints: int = 0
    is_shiny: bool = False
    faults: CameraFaults | None = None
    quality: int | None = None


def _rough(
    objects: str,
    n_frames: int,
    radius: float,
    noise: float,
    faults: tuple[float, ...],
    quality: int,
    **others,
) -> PhotoSetting:
    """Return a rough scene; faults are misalignment in pixels, breathing, flicker and tint in percent.

    A misalignment of 0.15 to 0.35 pixels, a standard deviation, moves the worst frame of a stack by 0.3 to 1.
    """
    misalignment, *percents = faults
    breathing, flicker, tint = (value / 100 for value in percents)
    glints = others.pop("glints", 0)
    return PhotoSetting(
        scene=_scene(objects, n_frames, radius, noise, **others),
        glints=glints,
        faults=CameraFaults(misalignment=misalignment, breathing=breathing, flicker=flicker, tint=tint),
        quality=quality,
    )


def _glints(
    objects: str, n_frames: int, radius: float, noise: float, glints: int, *, is_shiny: bool = False, **others
) -> PhotoSetting:
    scene = _scene(objects, n_frames, radius, noise, **others)
    return PhotoSetting(scene=scene, glints=glints, is_shiny=is_shiny)


def _hairs(objects: str, n_frames: int, radius: float, noise: float, **others) -> PhotoSetting:
    return PhotoSetting(scene=_scene(objects, n_frames, radius, noise, **others))


def _scene(objects: str, n_frames: int, radius: float, noise: float, **others) -> SceneSetting:
    return SceneSetting(
        objects=tuple(objects.split()), n_frames=n_frames, largest_radius=radius, noise=noise, **others
    )


SETTINGS = {
    "choose": {
        "rough": {
            "cr1-3": _rough("blob polygon", 3, 6, 1, (0.15, 0.1, 1, 0.5), 92, seed=501),
            "cr2-5": _rough("leaves blob", 5, 8, 1.5, (0.25, -0.2, 2, 0.5), 88, seed=502, near_first=False),
            "cr3-7": _rough("polygon wires", 7, 10, 1, (0.2, 0.3, 1.5, 1), 85, seed=503, glints=8),
            "cr4-9": _rough("blob leaves hairs", 9, 9, 2, (0.35, 0.2, 3, 0.5), 82, seed=504),
            "cr5-12": _rough("board blob", 12, 8, 1, (0.2, -0.1, 1, 0.3), 90, seed=505, glints=8),
        },
        "glints": {
            "cg1-3": _glints("blob polygon", 3, 7, 1, 15, seed=521),
            "cg2-5": _glints("polygon wires", 5, 10, 0.5, 20, seed=522, is_shiny=True),
            "cg3-8": _glints("leaves blob", 8, 12, 1, 25, seed=523, near_first=False),
            "cg4-12": _glints("polygon dome", 12, 9, 1.5, 15, seed=524, is_shiny=True),
        },
        "hairs": {
            "ch1-4": _hairs("bristles bristles", 4, 8, 1, seed=541),
            "ch2-8": _hairs("blob bristles spines bristles", 8, 10, 1, seed=542),
            "ch3-12": _hairs("bristles hairs bristles", 12, 12, 0.5, seed=543, near_first=False),
        },
    },
    "report": {
        "rough": {
            "rr1-3": _rough("leaves polygon", 3, 8, 1.5, (0.2, -0.1, 1.5, 0.5), 90, seed=601),
            "rr2-4": _rough("polygon hairs", 4, 5, 1, (0.15, 0.2, 1, 1), 80, seed=602),
            "rr3-6": _rough(
                "blob wires", 6, 10, 1, (0.35, 0.1, 2, 0.5), 85, seed=603, near_first=False, glints=8
            ),
            "rr4-10": _rough("polygon leaves blob", 10, 8, 2, (0.25, 0.3, 1, 0.3), 92, seed=604),
            "rr5-12": _rough("blob board", 12, 10, 1, (0.2, -0.2, 3, 0.5), 86, seed=605, glints=8),
        },
        "glints": {
            "rg1-3": _glints("polygon leaves", 3, 9, 0.5, 20, seed=621, near_first=False),
            "rg2-6": _glints("blob hairs", 6, 12, 1, 15, seed=622, is_shiny=True),
            "rg3-9": _glints("polygon blob wires", 9, 8, 1.5, 25, seed=623),
            "rg4-12": _glints("dome polygon", 12, 10, 1, 15, seed=624, is_shiny=True),
        },
        "hairs": {
            "rh1-5": _hairs("bristles bristles", 5, 10, 1, seed=641, near_first=False),
            "rh2-7": _hairs("polygon spines bristles", 7, 8, 1.5, seed=642),
            "rh3-11": _hairs("bristles bristles hairs", 11, 11, 1, seed=643),
        },
    },
}


def scenes(half: str) -> Iterator[KnownStack]:
    """Yield the stacks of a half, "choose" or "report"."""
    for kind, settings in SETTINGS[half].items():
        for name, setting in settings.items():

            def make(kind: str = kind, name: str = name, setting: PhotoSetting = setting) -> KnownStack:
                return photograph(kind, half, name, setting, [load_texture(each) for each in TEXTURES[half]])

            yield cached(f"{kind}-{name}", SOURCES, make)


def fresh(n: int, seed: int) -> Iterator[KnownStack]:
    """Yield n random stacks, of each kind in turn; equal seeds give equal stacks."""
    for i in range(n):
        kind, name = KINDS[i % len(KINDS)], f"fresh-{seed}-{i}"

        def make(kind: str = kind, name: str = name, i: int = i) -> KnownStack:
            rng = np.random.default_rng((seed, i, 2))  # other scenes than the other modules
            return photograph(kind, "fresh", name, _draw_photo(kind, rng), fresh_textures(rng))

        yield cached(f"{kind}-{name}", SOURCES, make)


def photograph(
    kind: str, half: str, name: str, setting: PhotoSetting, textures: list[NDArray[np.float64]]
) -> KnownStack:
    """Render a scene and apply the faults of the camera."""
    scene = setting.scene
    rng = np.random.default_rng((scene.seed, KINDS.index(kind)))
    layers = draw_layers(scene, textures, height=SIZE[0], width=SIZE[1])
    if setting.is_shiny:
        layers[1] = replace(layers[1], emission=rng.uniform(*SHINE) * layers[1].light)
    layers = add_glints(layers, setting.glints, rng)
    optics = {"n_frames": scene.n_frames, "strength": scene.strength}
    # Bright points need exact disks; elsewhere exact occlusion matters more.
    light = (render_light if kind == "glints" else light_through_aperture)(layers, **optics)
    if setting.faults is not None:
        light = apply_faults(light, setting.faults, rng)
    frames = expose(light, noise=scene.noise, rng=rng)
    if setting.quality is not None:
        frames = np.stack([_compress(frame, setting.quality) for frame in frames])
    truth = find_truth(layers, **optics)
    stack = from_truth(kind, half, name, frames, truth)
    # Hairs have no texture of their own; they are the detail.
    hairs = _visible_hairs(layers, truth.image) & ~truth.never_in_focus
    return replace(stack, counted=stack.counted | hairs)


def _visible_hairs(layers: list[Layer], image: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return the pixels of layers of one colour, such as hairs, that differ from their surroundings."""
    is_plain = np.array([np.ptp(layer.picture, axis=(0, 1)).max() == 0 for layer in layers])
    is_plain[0] = False  # the background
    grey = image.mean(axis=2)
    return is_plain[_find_front(layers)] & (np.abs(grey - gaussian_filter(grey, 2)) >= HAIR_DETAIL)


def _find_front(layers: list[Layer]) -> NDArray[np.intp]:
    """Return the index of the foremost layer that covers at least half of each pixel."""
    return len(layers) - 1 - np.argmax([layer.matte >= 0.5 for layer in reversed(layers)], axis=0)


def add_glints(layers: list[Layer], n_glints: int, rng: np.random.Generator) -> list[Layer]:
    """Return layers with glints, spots and short lines, on the layer in front at each place."""
    height, width = layers[0].matte.shape
    front = _find_front(layers)
    emissions = [
        np.zeros(layer.picture.shape) if layer.emission is None else layer.emission for layer in layers
    ]
    rows, columns = np.mgrid[:height, :width].astype(np.float64)
    for k in range(n_glints):
        if k % PER_CLUSTER == 0:
            centre = rng.uniform(0.1, 0.9, 2) * (height, width)
        row, column = np.clip(centre + CLUSTER * rng.normal(size=2), 0, (height - 1, width - 1))
        down, right = rows - row, columns - column
        if rng.random() < 0.5:
            shape = np.clip(rng.uniform(*SPOT_RADIUS) + 0.5 - np.hypot(down, right), 0, 1)
        else:
            heading, reach = rng.uniform(0, np.pi), rng.uniform(*LINE_LENGTH) / 2
            along, across = (
                down * np.sin(heading) + right * np.cos(heading),
                down * np.cos(heading) - right * np.sin(heading),
            )
            outside = np.maximum(np.abs(along) - reach, np.abs(across) - rng.uniform(*LINE_WIDTH) / 2)
            shape = np.clip(0.5 - outside, 0, 1)
        colour = np.exp(rng.uniform(*np.log(INTENSITY))) * rng.uniform(0.8, 1.0, 3)
        i = front[int(row), int(column)]
        emissions[i] = emissions[i] + shape[..., None] * colour
    return [replace(layer, emission=emission) for layer, emission in zip(layers, emissions, strict=True)]


def _compress(frame: NDArray[np.uint8], quality: int) -> NDArray[np.uint8]:
    """Return a frame after JPEG compression with colours of half the resolution."""
    file = BytesIO()
    Image.fromarray(frame).save(file, "JPEG", quality=quality, subsampling="4:2:0")
    return np.asarray(Image.open(file))


def _draw_photo(kind: str, rng: np.random.Generator) -> PhotoSetting:
    scene = draw_setting(rng)
    if kind == "hairs":
        objects = rng.choice(["blob", "bristles", "spines", "hairs"], rng.integers(1, 3))
        return PhotoSetting(scene=replace(scene, objects=(*map(str, objects), "bristles"), background="wall"))
    if kind == "glints":
        glints, is_shiny = int(rng.integers(5, 26)), bool(rng.random() < 0.5)
        return PhotoSetting(scene=scene, glints=glints, is_shiny=is_shiny)
    faults = CameraFaults(
        misalignment=rng.uniform(0.15, 0.35),
        breathing=rng.uniform(-0.003, 0.003),
        flicker=rng.uniform(0.005, 0.03),
        tint=rng.uniform(0.003, 0.01),
    )
    return PhotoSetting(scene=scene, faults=faults, quality=int(rng.integers(80, 93)))
