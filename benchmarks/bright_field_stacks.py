"""Bright-field stacks with known truth, of smears, thick cytology, algae and threads.

for stack in bright_field_stacks.scenes("choose"):
    print(stack.name, score(fuse(stack), stack))

Kinds: "bright field" (weak to moderate phase), "phase" (strong phase) and "granules" (a white blood cell in a
smear, planes 0.4 to 1.6 micrometres apart).
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks._known_stack import KnownStack, cached
from panfocus.simulate import (
    Body,
    Microscope,
    Pencil,
    Specimen,
    Volume,
    expose,
    find_depth,
    image_sharp,
    image_specimen,
)

MARGIN = 32  # pixels around the picture: waves that wrap at the borders stay within
HEIGHT, WIDTH = 320, 416
SHAPE = (HEIGHT + 2 * MARGIN, WIDTH + 2 * MARGIN)
LAMP = np.array([0.78, 0.78, 0.74])  # linear light of the empty field: 229 of 255
PIXEL = {"smear": 0.15, "cytology": 0.2, "algae": 0.2, "threads": 0.2}  # micrometres
STEP = 0.5  # micrometres between the slices, a third of the depth of field
VISIBLE = 0.02  # detail in absorbance, about 3 levels of 255
CONCENTRATED = 0.6  # share of the detail that is near the depth that counts as true
GRANULE = 0.08  # absorbance of granules above which a pixel belongs to them

# Absorbance per micrometre for red, green and blue, then the difference of the refractive index.
RED_CELL = (0.06, 0.24, 0.16, 0.060)
CYTOPLASM = (0.02, 0.06, 0.02, 0.012)
NUCLEUS = (0.26, 0.34, 0.12, 0.020)
GRANULES = (0.25, 0.60, 0.30, 0.050)
PLATELET = (0.15, 0.30, 0.10, 0.030)
PALE_CELL = (0.05, 0.03, 0.02, 0.020)
BLUE_NUCLEUS = (0.30, 0.20, 0.10, 0.020)
ALGA = (0.06, 0.04, 0.18, 0.025)
GLASS = (0.06, 0.08, 0.12, 0.060)
THREAD = (0.15, 0.18, 0.22, 0.050)
DIRT = (0.60, 0.60, 0.60, 0.060)


@dataclass(frozen=True)
class Recipe:
    """One scene.

    Attributes
    ----------
    subject : str
        smear, cytology, algae or threads.
    spacing : float
        Distance of the planes in micrometres.
    depth : float
        Thickness of the specimen in micrometres.
    phase : float
        Factor of the differences of the refractive index.
    granule_depth : float
        Thickness in micrometres of the layer of granules in a white cell.
    style : int
        0 or 1: shapes, colours and direction of the planes; each half has its own.
    jpeg : int
        Quality of JPEG, or 0 for none.
    drift : float
        Largest shift of a frame in pixels.
    """

    subject: str
    seed: int
    n_frames: int
    spacing: float
    depth: float
    phase: float = 1.0
    granule_depth: float = 1.2
    style: int = 0
    aperture: float = 0.65
    condenser: float = 0.6
    noise: float = 1.0
    jpeg: int = 0
    drift: float = 0.0


def _recipes(half: str) -> dict[str, dict[str, Recipe]]:
    first, style = {"choose": (1100, 0), "report": (1200, 1)}[half]
    if half == "choose":
        mixed = {
            "smear-10": Recipe("smear", 1, 10, 0.7, 3.0),
            "smear-6": Recipe("smear", 2, 6, 1.2, 5.0, phase=0.5, condenser=0.7, jpeg=90),
            "cytology-12": Recipe("cytology", 3, 12, 1.2, 10.0, noise=1.5),
            "algae-8": Recipe("algae", 4, 8, 1.0, 6.0, noise=0.7, drift=0.3),
            "threads-15": Recipe("threads", 5, 15, 0.9, 11.0, condenser=0.5, noise=2.0),
            "cytology-7": Recipe("cytology", 6, 7, 1.6, 8.0, phase=0.7, jpeg=85, drift=0.3),
        }
        strong = {
            "smear-9": Recipe("smear", 11, 9, 0.8, 4.0, phase=2.5, condenser=0.5),
            "algae-10": Recipe("algae", 12, 10, 0.9, 6.0, phase=2.5, condenser=0.4, jpeg=90),
            "cytology-8": Recipe("cytology", 13, 8, 1.4, 9.0, phase=3.0, condenser=0.4, noise=1.5),
            "threads-12": Recipe("threads", 14, 12, 0.7, 6.0, phase=2.0, condenser=0.35, drift=0.3),
        }
    else:
        mixed = {
            "smear-12": Recipe("smear", 1, 12, 0.6, 3.5, condenser=0.65),
            "smear-7": Recipe("smear", 2, 7, 1.1, 5.0, phase=0.6, jpeg=88, noise=1.3),
            "cytology-9": Recipe("cytology", 3, 9, 1.4, 9.0, condenser=0.55, noise=1.2),
            "algae-6": Recipe("algae", 4, 6, 1.3, 6.0, condenser=0.7, drift=0.3),
            "threads-13": Recipe("threads", 5, 13, 1.0, 10.0, noise=1.8, jpeg=92),
            "cytology-14": Recipe("cytology", 6, 14, 0.8, 9.0, phase=0.6, noise=0.6),
        }
        strong = {
            "smear-8": Recipe("smear", 11, 8, 0.9, 4.0, phase=2.2, condenser=0.45, jpeg=90),
            "algae-11": Recipe("algae", 12, 11, 0.8, 6.0, phase=3.0, condenser=0.5),
            "cytology-10": Recipe("cytology", 13, 10, 1.1, 9.0, phase=2.5, condenser=0.35, drift=0.3),
            "threads-9": Recipe("threads", 14, 9, 1.0, 6.0, phase=2.3, condenser=0.4, noise=2.0),
        }
    granules = {
        f"granules-{spacing}": Recipe(
            "smear", 21 + i, n_frames, spacing, 3.5, granule_depth=0.9, condenser=0.55, jpeg=90 * (i % 2)
        )
        for i, (spacing, n_frames) in enumerate([(0.4, 14), (0.8, 10), (1.2, 8), (1.6, 6)])
    }
    named = {"bright field": mixed, "phase": strong, "granules": granules}
    return {
        kind: {
            name: replace(recipe, seed=first + recipe.seed, style=style) for name, recipe in of_kind.items()
        }
        for kind, of_kind in named.items()
    }


def scenes(half: str) -> Iterator[KnownStack]:
    """Yield the stacks of one half, "choose" or "report"."""
    for kind, recipes in _recipes(half).items():
        for name, recipe in recipes.items():
            yield cached(
                f"bright-field-{half}-{name}",
                [__file__],
                lambda k=kind, n=name, r=recipe: make(k, half, n, r),
            )


def fresh(n: int, seed: int) -> Iterator[KnownStack]:
    """Yield n random stacks of all kinds, for which nothing was chosen."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        n_frames, spacing = int(rng.integers(6, 15)), float(rng.uniform(0.4, 1.6))
        is_strong = bool(rng.random() < 0.5)
        recipe = Recipe(
            subject=str(rng.choice(["smear", "cytology", "algae", "threads"])),
            seed=int(rng.integers(2**31)),
            n_frames=n_frames,
            spacing=spacing,
            depth=float(np.clip(rng.uniform(0.4, 0.9) * (n_frames - 1) * spacing, 2.5, 11)),
            phase=float(rng.uniform(1.5, 3) if is_strong else rng.uniform(0.3, 1.3)),
            style=int(rng.integers(2)),
            aperture=float(rng.uniform(0.5, 0.8)),
            condenser=float(rng.uniform(0.35, 0.55) if is_strong else rng.uniform(0.45, 0.8)),
            noise=float(rng.uniform(0.5, 2)),
            jpeg=int(rng.choice([0, 0, 85, 92])),
            drift=float(rng.choice([0, 0, 0.3])),
        )
        kind = "phase" if is_strong else "bright field"
        name = f"fresh-{seed}-{i:02}-{recipe.subject}-{spacing:.1f}"
        yield cached(
            f"bright-field-{name}", [__file__], lambda k=kind, n=name, r=recipe: make(k, "fresh", n, r)
        )


def make(kind: str, half: str, name: str, recipe: Recipe) -> KnownStack:
    """Render one scene."""
    rng = np.random.default_rng(recipe.seed)
    microscope = Microscope(pixel=PIXEL[recipe.subject], aperture=recipe.aperture, condenser=recipe.condenser)
    specimen, granules = draw(recipe, rng, microscope.pixel)
    first = -(recipe.n_frames - 1) / 2 + rng.uniform(-0.4, 0.4)
    step = -recipe.spacing if recipe.style else recipe.spacing  # downwards or upwards
    focus = step * (first + np.arange(recipe.n_frames))
    shifts = rng.uniform(-recipe.drift, recipe.drift, (recipe.n_frames, 2))
    light = _crop(image_specimen(specimen, list(focus), microscope, shifts=shifts), 1)
    frames = expose(light * LAMP, noise=recipe.noise, rng=rng)
    if recipe.jpeg:
        frames = np.stack([_through_jpeg(frame, recipe.jpeg) for frame in frames])
    height, strength, share = (_crop(a, 0) for a in find_depth(specimen, microscope))
    depth = (height - focus[0]) / step
    in_stack = (depth > -0.5) & (depth < recipe.n_frames - 0.5)
    return KnownStack(
        kind=kind,
        half=half,
        name=name,
        frames=frames,
        image=expose(_crop(image_sharp(specimen, microscope), 0)[None] * LAMP)[0],
        depth=depth,
        counted=in_stack & (strength > VISIBLE) & (share > CONCENTRATED),
        detail=_crop(granules, 0) if granules.any() else None,
    )


def _crop(image: NDArray, first: int) -> NDArray:
    inside = (slice(MARGIN, MARGIN + HEIGHT), slice(MARGIN, MARGIN + WIDTH))
    return image[(slice(None),) * first + inside]


def _through_jpeg(frame: NDArray[np.uint8], quality: int) -> NDArray[np.uint8]:
    file = io.BytesIO()
    Image.fromarray(frame).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def draw(recipe: Recipe, rng: np.random.Generator, pixel: float) -> tuple[Specimen, NDArray[np.bool_]]:
    """Draw a specimen around height 0. Return it and the mask of its granules."""
    reach = recipe.depth / 2 + 1.5  # bodies are up to 3 micrometres thick
    volume = Volume(np.arange(-reach, reach + STEP, STEP), SHAPE, 4)
    granules = Volume(volume.heights, SHAPE, 1)
    painter = _Painter(volume, granules, recipe, rng, Pencil(SHAPE, pixel, rng))
    getattr(painter, f"draw_{recipe.subject}")()
    amounts = volume.amounts
    mask = granules.amounts.sum(axis=(0, 3)) > GRANULE
    return Specimen(volume.heights, amounts[..., :3], amounts[..., 3]), mask


class _Painter:
    """Lay out bodies by subject."""

    def __init__(
        self, volume: Volume, granules: Volume, recipe: Recipe, rng: np.random.Generator, pencil: Pencil
    ) -> None:
        self.volume, self.granules, self.recipe, self.rng, self.pencil = volume, granules, recipe, rng, pencil

    def add(self, body: Body, substance: tuple[float, ...], strength: float = 1.0) -> None:
        absorbance, index = np.array(substance[:3]) * strength, substance[3] * self.recipe.phase
        self.volume.add(body, (*absorbance, index))

    def add_granule(self, body: Body, substance: tuple[float, ...], strength: float = 1.0) -> None:
        self.add(body, substance, strength)
        self.granules.add(body, (float(np.mean(substance[:3])) * strength,))

    def height(self) -> float:
        return self.recipe.depth * self.rng.uniform(-0.5, 0.5)

    def place(self) -> tuple[float, float]:
        return self.rng.uniform(0, SHAPE[0]), self.rng.uniform(0, SHAPE[1])

    def draw_smear(self) -> None:
        """Draw red cells, some on top of others, a white cell with granules, and platelets."""
        rng, pencil, style = self.rng, self.pencil, self.recipe.style
        white = SHAPE[0] * rng.uniform(0.4, 0.6), SHAPE[1] * rng.uniform(0.4, 0.6)
        places: list[tuple[float, float]] = []
        for _ in range(4000):
            place = self.place()
            apart = 27 if rng.random() < 0.1 else 43  # one in ten may overlap its neighbours
            if (
                all(np.hypot(place[0] - p[0], place[1] - p[1]) > apart for p in places)
                and np.hypot(place[0] - white[0], place[1] - white[1]) > 62
            ):
                places.append(place)
            if len(places) >= 60:
                break
        for place in places:
            self.add(
                pencil.cell(
                    place,
                    rng.uniform(20, 25) if style == 0 else rng.uniform(18, 26),
                    self.height(),
                    rng.uniform(1.6, 2.4),
                    flatness=rng.uniform(2.5, 5) if style == 0 else rng.uniform(2, 3.5),
                    dip=rng.uniform(0, 0.4) if style == 0 else rng.uniform(0.1, 0.6),
                    wobble=0.03 if style == 0 else 0.06,
                ),
                RED_CELL,
            )
        height = 0.4 * self.height()
        self.add(pencil.cell(white, 48, height, 3.0, flatness=6, wobble=0.05, texture=0.1), CYTOPLASM)
        for turn in rng.uniform(0, 2 * np.pi) + np.arange(2) * rng.uniform(1.6, 2.4):
            place = white[0] + 21 * np.sin(turn), white[1] + 21 * np.cos(turn)
            self.add(pencil.cell(place, 16, height, 2.6, flatness=4, wobble=0.08, texture=0.15), NUCLEUS)
        for _ in range(260):
            away, turn = 44 * np.sqrt(rng.random()), rng.uniform(0, 2 * np.pi)
            place = white[0] + away * np.sin(turn), white[1] + away * np.cos(turn)
            radius = rng.uniform(1.5, 3.0) if style == 0 else rng.uniform(1.6, 2.6)
            self.add_granule(
                pencil.granule(place, radius, height + self.recipe.granule_depth * rng.uniform(-0.5, 0.5)),
                GRANULES,
                rng.uniform(0.5, 1.2),
            )
        for _ in range(8):
            self.add(pencil.cell(self.place(), rng.uniform(4, 8), self.height(), 1.0, texture=0.3), PLATELET)
        self.scatter_dirt(12)

    def draw_cytology(self) -> None:
        """Draw large, thin, folded cells over each other, with nuclei and stained granules."""
        rng, pencil, style = self.rng, self.pencil, self.recipe.style
        for _ in range(13):
            place, height = self.place(), self.height()
            radius = rng.uniform(70, 120)
            tilt = rng.uniform(-0.8, 0.8, 2)
            tint = rng.permutation(3) if style == 0 else np.arange(3)
            substance = (*np.array(PALE_CELL)[tint], PALE_CELL[3])
            self.add(
                pencil.sheet(
                    place, radius, height, 1.4, tilt=tuple(tilt), waves=0.3, folds=1.5 if style == 0 else 0.8
                ),
                substance,
            )
            self.add(
                pencil.cell(place, rng.uniform(10, 17), height, 2.5, wobble=0.05, texture=0.35), BLUE_NUCLEUS
            )
            for _ in range(25 if style == 0 else 15):
                away, turn = 0.6 * radius * np.sqrt(rng.random()), rng.uniform(0, 2 * np.pi)
                down, right = away * np.sin(turn), away * np.cos(turn)
                level = height + (tilt[0] * down + tilt[1] * right) / radius
                body = pencil.granule((place[0] + down, place[1] + right), rng.uniform(1.5, 3), level)
                self.add_granule(body, GRANULES if style else DIRT, rng.uniform(0.4, 1.0))
        self.scatter_dirt(20)

    def draw_algae(self) -> None:
        """Draw textured round algae, diatoms with striped walls, threads and dirt."""
        rng, pencil, style = self.rng, self.pencil, self.recipe.style
        for _ in range(9):
            radius = rng.uniform(14, 30)
            body = pencil.cell(self.place(), radius, self.height(), 3.0, flatness=3, wobble=0.04, texture=0.5)
            self.add(body, ALGA if style == 0 else (*ALGA[2::-1], ALGA[3]))
        for _ in range(9):
            size = (
                (rng.uniform(40, 70), rng.uniform(9, 15))
                if style == 0
                else (rng.uniform(20, 35), rng.uniform(14, 20))
            )
            for wall in pencil.shells(
                self.place(),
                rng.uniform(0, np.pi),
                size,
                self.height(),
                0.5,
                period=rng.uniform(4.0, 6.0) if style == 0 else rng.uniform(5.0, 8.0),
                distance=1.5,
            ):
                self.add(wall, GLASS)
        for _ in range(5):
            self.draw_thread(width=(3, 6))
        self.scatter_dirt(35)

    def draw_threads(self) -> None:
        """Draw threads, most of them inclined in depth, with round cells and granules among them."""
        rng, pencil = self.rng, self.pencil
        for _ in range(32):
            self.draw_thread(width=(1.2, 5) if self.recipe.style == 0 else (1.5, 3.5))
        for _ in range(10):
            self.add(
                pencil.cell(self.place(), rng.uniform(10, 20), self.height(), 2.0, texture=0.3), PALE_CELL
            )
        for _ in range(80):
            self.add_granule(pencil.granule(self.place(), rng.uniform(1.5, 3), self.height()), GRANULES)
        self.scatter_dirt(15)

    def draw_thread(self, width: tuple[float, float]) -> None:
        rng = self.rng
        body = self.pencil.fibre(
            self.place(),
            rng.uniform(0, np.pi),
            rng.uniform(120, 400),
            rng.uniform(*width),
            0.5 * self.height(),
            slope=0.25 * self.recipe.depth * rng.uniform(-1, 1),
            bend=rng.uniform(-25, 25) if self.recipe.style else 0.0,
        )
        self.add(body, THREAD, rng.uniform(0.6, 1.4))

    def scatter_dirt(self, n_grains: int) -> None:
        for _ in range(n_grains):
            self.add(
                self.pencil.granule(self.place(), self.rng.uniform(1, 2.5), self.height()),
                DIRT,
                self.rng.uniform(0.3, 1),
            )
