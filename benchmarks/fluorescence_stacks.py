"""Fluorescence stacks with known truth: wide field, several channels, and confocal.

    for stack in fluorescence_stacks.scenes("choose"):
        print(stack.name, score(fuse(stack), stack))

Kinds: "fluorescence" (one channel), "channels" (three channels with brightness 1 : 0.3 : 0.1; the truth has
a depth for each) and "confocal". Frames have 12 bits in uint16.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from benchmarks._known_stack import KnownStack, cached
from panfocus.simulate import (
    Body,
    FluorescenceMicroscope,
    Pencil,
    Volume,
    count_photons,
    find_emitter_depth,
    image_emitters,
    image_emitters_sharp,
)

MARGIN = 32  # pixels around the picture: light that wraps at the borders stays within
HEIGHT, WIDTH = 320, 416
SHAPE = (HEIGHT + 2 * MARGIN, WIDTH + 2 * MARGIN)
STEP = 0.5  # micrometres between the slices
OFFSET = 100.0  # counts without light
READ_NOISE = 3.0  # counts
FULL = 2400.0  # counts of the brightest structures in focus; haze adds to them
BRIGHTNESS = (1.0, 0.3, 0.1)  # of the channels
COLOURS = (0.46, 0.52, 0.61)  # micrometres: wavelengths of the channels
CONCENTRATED = 0.6  # share of the detail that is near the depth that counts as true
FAINT = 0.01  # least detail, as a share of the brightest structures, where depth counts: 2.5 levels of 255
WHITE = 99.9  # percentile of the truth that counts as full range


@dataclass(frozen=True)
class Recipe:
    """One scene.

    Attributes
    ----------
    subjects : tuple of str
        nuclei, filaments, beads, puncta or tissue; one for each channel.
    n_frames : int
        Number of planes.
    spacing : float
        Distance of the planes in micrometres.
    depth : float
        Thickness of the specimen in micrometres.
    photons : float
        Photons of the brightest structures in focus.
    style : int
        0 or 1: sizes, shapes and direction of the planes; each half has its own.
    is_confocal : bool
        Whether the microscope is confocal.
    """

    subjects: tuple[str, ...]
    seed: int
    n_frames: int
    spacing: float
    depth: float
    photons: float = 600.0
    aperture: float = 0.8
    style: int = 0
    is_confocal: bool = False


def _recipes(half: str) -> dict[str, dict[str, Recipe]]:
    if half == "choose":
        named = {
            "fluorescence": {
                "nuclei-10": Recipe(("nuclei",), 1, 10, 1.2, 10.0),
                "filaments-12": Recipe(("filaments",), 2, 12, 0.8, 8.0, photons=300),
                "beads-8": Recipe(("beads",), 3, 8, 1.0, 7.0, photons=900),
                "puncta-9": Recipe(("puncta",), 4, 9, 0.9, 6.0, photons=150),
                "tissue-14": Recipe(("tissue",), 5, 14, 0.8, 10.0, photons=500, aperture=0.7),
            },
            "channels": {
                "channels-9": Recipe(("nuclei", "filaments", "puncta"), 11, 9, 1.0, 7.0),
                "channels-7": Recipe(("tissue", "nuclei", "beads"), 12, 7, 1.2, 7.0, photons=1000),
            },
            "confocal": {
                "confocal-nuclei-12": Recipe(("nuclei",), 21, 12, 0.9, 10.0, photons=300),
                "confocal-filaments-10": Recipe(("filaments",), 22, 10, 0.7, 6.0, photons=150),
                "confocal-puncta-16": Recipe(("puncta",), 23, 16, 0.6, 8.0, photons=80),
            },
        }
        first, style = 3100, 0
    else:
        named = {
            "fluorescence": {
                "nuclei-12": Recipe(("nuclei",), 1, 12, 1.0, 10.0, photons=400, aperture=0.75),
                "filaments-9": Recipe(("filaments",), 2, 9, 1.1, 8.0, photons=600),
                "beads-11": Recipe(("beads",), 3, 11, 0.7, 6.0, photons=250),
                "puncta-7": Recipe(("puncta",), 4, 7, 1.1, 6.0, photons=500),
                "tissue-12": Recipe(("tissue",), 5, 12, 1.0, 10.0, photons=200),
            },
            "channels": {
                "channels-10": Recipe(("filaments", "beads", "nuclei"), 11, 10, 0.9, 7.0, photons=800),
                "channels-8": Recipe(("nuclei", "puncta", "filaments"), 12, 8, 1.1, 7.0, photons=500),
            },
            "confocal": {
                "confocal-beads-10": Recipe(("beads",), 21, 10, 0.8, 6.0, photons=120),
                "confocal-filaments-14": Recipe(("filaments",), 22, 14, 0.6, 7.0, photons=250),
                "confocal-nuclei-9": Recipe(("nuclei",), 23, 9, 1.2, 9.0, photons=100),
            },
        }
        first, style = 3200, 1
    return {
        kind: {
            name: replace(recipe, seed=first + recipe.seed, style=style, is_confocal=kind == "confocal")
            for name, recipe in of_kind.items()
        }
        for kind, of_kind in named.items()
    }


def scenes(half: str) -> Iterator[KnownStack]:
    """Yield the stacks of one half, "choose" or "report"."""
    for kind, recipes in _recipes(half).items():
        for name, recipe in recipes.items():
            yield cached(
                f"fluorescence-{half}-{name}",
                [__file__],
                lambda k=kind, n=name, r=recipe: make(k, half, n, r),
            )


def fresh(n: int, seed: int) -> Iterator[KnownStack]:
    """Yield n random stacks of all kinds, for which nothing was chosen; one in six has three channels."""
    rng = np.random.default_rng(seed)
    subjects = ("nuclei", "filaments", "beads", "puncta", "tissue")  # tissue is too thick for confocal
    for i in range(n):
        kind = str(
            rng.choice(["fluorescence", "fluorescence", "fluorescence", "channels", "confocal", "confocal"])
        )
        n_frames, spacing = int(rng.integers(6, 15)), float(rng.uniform(0.5, 1.4))
        recipe = Recipe(
            subjects=tuple(
                map(
                    str,
                    rng.choice(
                        subjects[: 4 if kind == "confocal" else 5],
                        3 if kind == "channels" else 1,
                        replace=False,
                    ),
                )
            ),
            seed=int(rng.integers(2**31)),
            n_frames=n_frames,
            spacing=spacing,
            depth=float(np.clip(rng.uniform(0.5, 0.9) * (n_frames - 1) * spacing, 3, 11)),
            photons=float(np.exp(rng.uniform(np.log(80), np.log(1000)))),
            aperture=float(rng.uniform(0.6, 0.95)),
            style=int(rng.integers(2)),
            is_confocal=kind == "confocal",
        )
        name = f"fresh-{seed}-{i:02}-{'-'.join(recipe.subjects)}"
        yield cached(
            f"fluorescence-{name}", [__file__], lambda k=kind, n=name, r=recipe: make(k, "fresh", n, r)
        )


def make(kind: str, half: str, name: str, recipe: Recipe) -> KnownStack:
    """Render one scene."""
    rng = np.random.default_rng(recipe.seed)
    step = -recipe.spacing if recipe.style else recipe.spacing  # downwards or upwards
    first = -(recipe.n_frames - 1) / 2 + rng.uniform(-0.4, 0.4)
    focus = step * (first + np.arange(recipe.n_frames))
    parts = [_channel(recipe, channel, focus, step, rng) for channel in range(len(recipe.subjects))]
    frames, image, depth, counted = (np.stack(maps, axis=-1) for maps in zip(*parts, strict=True))
    if len(parts) == 1:
        frames, image, depth, counted = (maps[..., 0] for maps in (frames, image, depth, counted))
    return KnownStack(
        kind=kind,
        half=half,
        name=name,
        frames=frames,
        image=image,
        depth=depth,
        counted=counted,
        white=float(np.percentile(image, WHITE)),
    )


def _channel(
    recipe: Recipe, channel: int, focus: NDArray, step: float, rng: np.random.Generator
) -> tuple[NDArray, ...]:
    """Return frames, true image, depth and where it counts, for one channel."""
    is_alone = len(recipe.subjects) == 1
    colour = COLOURS[1 if is_alone else channel]
    microscope = FluorescenceMicroscope(
        aperture=recipe.aperture, wavelength=colour, excitation=0.9 * colour if recipe.is_confocal else None
    )
    # In stacks of several channels, the middles of the channels are at different heights.
    middle = 0.0 if is_alone else recipe.depth * (0.25 * (channel - 1) + rng.uniform(-0.05, 0.05))
    volume = _Painter(recipe, rng, microscope.pixel).draw(recipe.subjects[channel])
    emission, heights = volume.amounts[..., 0], volume.heights + middle
    sharp = image_emitters_sharp(emission, microscope)
    unit = float(np.percentile(sharp, WHITE))
    brightness = 1.0 if is_alone else BRIGHTNESS[channel]
    camera = {
        "photons": recipe.photons,
        "gain": (FULL - OFFSET) / recipe.photons,
        "offset": OFFSET,
        "read_noise": READ_NOISE,
    }
    light = brightness / unit * image_emitters(emission, heights, focus, microscope)
    frames = count_photons(_crop(light), **camera, rng=rng)
    truth = count_photons(_crop(brightness / unit * sharp), **camera, rng=None)
    height, strength, share = map(_crop, find_emitter_depth(emission, heights, microscope))
    depth = (height - focus[0]) / step
    noise = np.hypot(np.sqrt(camera["gain"] * (truth - OFFSET)), READ_NOISE)  # of one pixel, in counts
    least = np.maximum(noise, FAINT * brightness * (FULL - OFFSET))
    visible = (FULL - OFFSET) * brightness / unit * strength > least
    in_stack = (depth > -0.5) & (depth < recipe.n_frames - 0.5)
    return frames, truth, depth, visible & in_stack & (share > CONCENTRATED)


def _crop(image: NDArray) -> NDArray:
    return image[..., MARGIN : MARGIN + HEIGHT, MARGIN : MARGIN + WIDTH]


class _Painter:
    """Draw specimens around height 0."""

    def __init__(self, recipe: Recipe, rng: np.random.Generator, pixel: float) -> None:
        self.recipe, self.rng = recipe, rng
        reach = recipe.depth / 2 + 2.5  # nuclei are up to 5 micrometres thick
        self.volume = Volume(np.arange(-reach, reach + STEP, STEP), SHAPE, 1)
        self.pencil = Pencil(SHAPE, pixel, rng)

    def draw(self, subject: str) -> Volume:
        getattr(self, f"draw_{subject}")()
        return self.volume

    def add(self, body: Body, brightness: float) -> None:
        self.volume.add(body, [brightness])

    def place(self) -> tuple[float, float]:
        return self.rng.uniform(0, SHAPE[0]), self.rng.uniform(0, SHAPE[1])

    def height(self) -> float:
        return self.recipe.depth * self.rng.uniform(-0.5, 0.5)

    def draw_nuclei(self) -> None:
        """Draw textured nuclei, some dividing (bright and dense)."""
        rng, style = self.rng, self.recipe.style
        for _ in range(38):
            radius = rng.uniform(14, 26) if style == 0 else rng.uniform(18, 34)
            body = self.pencil.cell(
                self.place(),
                radius,
                self.height(),
                # Confocal sections are thin: they would show only part of a thick nucleus.
                rng.uniform(1.0, 1.8) if self.recipe.is_confocal else rng.uniform(2.5, 4.5),
                flatness=2.5,
                wobble=0.05 if style == 0 else 0.02,
                texture=rng.uniform(0.25, 0.5),
            )
            self.add(body, rng.uniform(0.5, 1.0) * (2.0 if rng.random() < 0.1 else 1.0))

    def draw_filaments(self) -> None:
        """Draw threads, most of them inclined in depth."""
        rng = self.rng
        for _ in range(70 if self.recipe.style == 0 else 45):
            body = self.pencil.fibre(
                self.place(),
                rng.uniform(0, np.pi),
                rng.uniform(100, 350),
                rng.uniform(1.0, 2.5) if self.recipe.style == 0 else rng.uniform(1.5, 4.0),
                0.5 * self.height(),
                slope=0.25 * self.recipe.depth * rng.uniform(-1, 1),
                bend=rng.uniform(-60, 60),
            )
            self.add(body, rng.uniform(0.3, 1.0))

    def draw_beads(self) -> None:
        """Draw beads of one size and several brightnesses."""
        radius = 2.0 if self.recipe.style == 0 else 3.0
        for _ in range(220 if self.recipe.style == 0 else 120):
            self.add(self.pencil.granule(self.place(), radius, self.height()), self.rng.uniform(0.3, 1.0))

    def draw_puncta(self) -> None:
        """Draw faint cells with small bright dots in and around them."""
        rng = self.rng
        for _ in range(14):
            place, height = self.place(), self.height()
            radius = rng.uniform(30, 50)
            self.add(self.pencil.cell(place, radius, height, 2.0, wobble=0.1, texture=0.2), 0.03)
            for _ in range(45 if self.recipe.style == 0 else 25):
                away, turn = radius * np.sqrt(rng.random()), rng.uniform(0, 2 * np.pi)
                dot = place[0] + away * np.sin(turn), place[1] + away * np.cos(turn)
                body = self.pencil.granule(dot, rng.uniform(0.8, 1.6), height + rng.uniform(-0.9, 0.9))
                self.add(body, rng.uniform(0.2, 1.0))

    def draw_tissue(self) -> None:
        """Fill the volume with fine, irregular structures; some places are empty."""
        rng = self.rng
        fine = (1.2, 1.8, 1.8) if self.recipe.style == 0 else (1.0, 2.6, 2.6)
        spots, regions = (
            gaussian_filter(
                rng.normal(size=self.volume.amounts.shape[:3]).astype(np.float32), sigma, mode="wrap"
            )
            for sigma in (fine, (3.0, 14.0, 14.0))
        )
        spots, regions = spots / spots.std(), regions / regions.std()
        inside = np.clip(regions, 0, 1) * (np.abs(self.volume.heights) < self.recipe.depth / 2)[:, None, None]
        self.volume.amounts[..., 0] += np.clip(spots - 1.2, 0, None) * inside
