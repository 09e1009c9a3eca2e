"""Random layered scenes: objects of several shapes in front of a background, textured with images."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from panfocus._checks import check_choice, check_integer
from panfocus._intensity import FloatArray
from panfocus.errors import InputError
from panfocus.simulate.defocus import check_positive
from panfocus.simulate.layers import Layer

IN_FOCUS = 0.5  # largest radius in pixels, in its best frame, of a surface in focus
OUT_OF_FOCUS = (2.5, 5.0)  # radius in pixels, in its best frame, of a surface that is never in focus
BACKGROUNDS = ("wall", "floor")
OBJECTS = ("blob", "polygon", "dome", "board", "leaves", "wires", "hairs", "bristles", "spines")
UNFOCUSED = ("none", "front", "middle", "back")  # surface that is never in focus


@dataclass(frozen=True, kw_only=True)
class SceneSetting:
    """Settings of a random scene.

    Attributes
    ----------
    objects : tuple of str
        Kinds of objects, the farthest first: blob, polygon, dome (curved), board (slanted), leaves, wires,
        hairs (a tuft), bristles (crossing hairs), spines (slanted bristles).
    n_frames : int
        Number of frames.
    largest_radius : float
        Radius in pixels, in the last frame, of the disk of a point at the depth of the first frame.
    background : str
        wall (facing the camera) or floor (slanted).
    unfocused : str
        Surface that is never in focus: none, front (too near), back (too far) or middle (between two frames,
        whose disks must differ by 5 pixels, in front of a wall).
    near_first : bool
        Whether the first frame is focused nearest, instead of the last.
    noise : float
        Standard deviation of the noise, in levels of 255.
    seed : int
        Seed of the random generator.
    """

    objects: tuple[str, ...]
    n_frames: int
    largest_radius: float
    background: str = "wall"
    unfocused: str = "none"
    near_first: bool = True
    noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for kind in self.objects:
            check_choice("objects", kind, OBJECTS)
        check_choice("background", self.background, BACKGROUNDS)
        check_choice("unfocused", self.unfocused, UNFOCUSED)
        check_integer("n_frames", self.n_frames, at_least=2)
        check_positive("largest_radius", self.largest_radius)
        if self.unfocused in ("front", "middle") and not self.objects:
            raise InputError(f"`unfocused` {self.unfocused} needs an object.", setting="unfocused")
        if self.unfocused == "middle" and self.background == "floor":
            raise InputError("`unfocused` middle needs a wall as background.", setting="unfocused")
        if self.unfocused == "middle" and self.strength < 2 * OUT_OF_FOCUS[0]:
            raise InputError(
                f"`unfocused` middle needs disks that grow by {2 * OUT_OF_FOCUS[0]:g} pixels per frame, got "
                f"{self.strength:g}.",
                setting="unfocused",
                got=self.strength,
            )

    @property
    def strength(self) -> float:
        """Growth of the disk radius in pixels per frame."""
        return self.largest_radius / (self.n_frames - 1)


def draw_layers(
    setting: SceneSetting, textures: Sequence[FloatArray], *, height: int, width: int
) -> list[Layer]:
    """Draw the layers of a scene, the farthest first. Equal arguments give the same scene.

    Parameters
    ----------
    setting : SceneSetting
        Settings of the scene.
    textures : sequence of arrays (h, w, 3)
        Sharp images, unit range, at least as large as the scene; surfaces use them in turn.
    height, width : int
        Size of the scene in pixels.
    """
    if not textures:
        raise InputError("A scene needs at least one texture.", setting="textures")
    for texture in textures:
        if texture.ndim != 3 or texture.shape[0] < height or texture.shape[1] < width:
            raise InputError(
                f"A texture must have at least shape ({height}, {width}, 3), got {texture.shape}.",
                setting="textures",
                got=texture.shape,
            )
    rng = np.random.default_rng(setting.seed)
    canvas = _Canvas(height, width, rng)
    order = rng.permutation(len(textures))
    n_columns = max(1, len(setting.objects))  # one column per object, so that they do not pile up
    columns = rng.permutation(n_columns)
    positions = _positions(setting, rng)
    layers = []
    for i, kind in enumerate((setting.background, *setting.objects)):
        picture = _cut(textures[order[i % len(order)]], height, width, rng)
        if kind in ("wires", "hairs", "bristles", "spines"):
            picture = np.broadcast_to(rng.uniform(0.05, 0.9) * rng.uniform(0.6, 1.0, 3), picture.shape)
        centre = (rng.uniform(0.3, 0.7), (columns[i - 1] + rng.uniform(0.3, 0.7)) / n_columns)
        matte, recess = canvas.draw(kind, centre)
        nearest, recession = positions[i]
        position = nearest - recession * recess if np.ndim(recess) else nearest
        last = setting.n_frames - 1
        layers.append(Layer(picture, matte, last - position if setting.near_first else position))
    return layers


def _positions(setting: SceneSetting, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Return positions of the surfaces, the farthest first, in frames from the farthest focus.

    Each is the position of the nearest point, and how far the surface may recede without touching the next.
    """
    last, strength, n_objects = setting.n_frames - 1, setting.strength, len(setting.objects)
    beyond = rng.uniform(*OUT_OF_FOCUS) / strength
    floor = setting.background == "floor"
    far, near = 0.0, last / 2 if floor else 0.0  # ends of the background
    if setting.unfocused == "back":
        far -= beyond
        near = near if floor else far
    n_focused = n_objects - (setting.unfocused == "front")
    start = max(near, 0.0)
    middle = (n_focused + 1) // 2 if setting.unfocused == "middle" else n_focused + 1
    places = [(near, near - far)]
    for i in range(1, n_focused + 1):
        behind = max(start, places[-1][0])
        frame = np.rint(start + (last - start) * i / n_focused)
        if i > middle:
            frame = max(frame, last // 2 + 1)
        offset = rng.uniform(-1, 1) * min(0.5, IN_FOCUS / strength)
        nearest = last // 2 + 0.5 if i == middle else float(np.clip(frame + offset, behind, last))
        places.append((nearest, 0.0 if i == middle else 0.9 * (nearest - behind)))
    if setting.unfocused == "front":
        places.append((last + beyond, 0.0))
    return places


def _cut(texture: FloatArray, height: int, width: int, rng: np.random.Generator) -> FloatArray:
    """Cut a random piece of a texture, randomly mirrored and darkened."""
    top, left = rng.integers(texture.shape[0] - height + 1), rng.integers(texture.shape[1] - width + 1)
    piece = texture[top : top + height, left : left + width]
    if rng.random() < 0.5:
        piece = piece[:, ::-1]
    return piece * rng.uniform(0.6, 1.0)


class _Canvas:
    """Shapes as mattes with smooth rims, and how far each pixel recedes, 0 to 1."""

    def __init__(self, height: int, width: int, rng: np.random.Generator) -> None:
        self.height, self.width, self.rng = height, width, rng
        self.rows, self.columns = np.mgrid[:height, :width].astype(np.float64)

    def draw(self, kind: str, centre: tuple[float, float]) -> tuple[FloatArray, FloatArray | float]:
        """Draw a surface. Return its matte and its recess, which is 0 if it faces the camera."""
        row, column = centre[0] * self.height, centre[1] * self.width
        size = self.rng.uniform(0.2, 0.33) * self.height
        matte: FloatArray = np.ones(self.rows.shape)
        recess: FloatArray | float = 0.0
        match kind:
            case "floor":
                recess = 1 - self.rows / (self.height - 1)
            case "blob":
                matte = self._star(row, column, size, wobble=0.12)
            case "polygon":
                matte = self._polygon(row, column, size)
            case "dome":
                matte = self._star(row, column, size, wobble=0.06)
                recess = np.minimum(np.hypot(self.rows - row, self.columns - column) / (1.2 * size), 1) ** 2
            case "board":
                matte = self._polygon(row, column, 1.3 * size)
                along, _ = self._axes(row, column, self.rng.uniform(0, 2 * np.pi))
                recess = np.clip(0.5 + along / (2.8 * size), 0, 1)
            case "leaves":
                matte = self._leaves(row, column)
            case "wires":
                matte = self._wires()
            case "hairs":
                matte = self._hairs(column)
            case "bristles":
                matte = self._bristles()
            case "spines":
                matte = self._bristles()
                along, _ = self._axes(row, column, self.rng.uniform(0, 2 * np.pi))
                recess = np.clip(0.5 + along / np.hypot(self.height, self.width), 0, 1)
        return matte, recess

    def _star(self, row: float, column: float, size: float, *, wobble: float) -> FloatArray:
        """Draw a smooth closed shape: a circle with waves along its rim."""
        down, right = self.rows - row, self.columns - column
        distance, angle = np.hypot(down, right), np.arctan2(down, right)
        rim, slope = np.ones_like(angle), np.zeros_like(angle)
        for k in range(2, 8):
            height, phase = wobble * self.rng.normal() / np.sqrt(k), self.rng.uniform(0, 2 * np.pi)
            rim += height * np.cos(k * angle + phase)
            slope -= height * k * np.sin(k * angle + phase)
        return _coverage((distance - size * rim) / np.hypot(1, slope / np.maximum(rim, 0.2)))

    def _polygon(self, row: float, column: float, size: float) -> FloatArray:
        """Draw a convex polygon of four to seven sides around a centre."""
        corners = self.rng.integers(4, 8)
        turns = 2 * np.pi * (np.arange(corners) + self.rng.uniform(-0.25, 0.25, corners)) / corners
        turns += self.rng.uniform(0, 2 * np.pi)
        outside = np.full(self.rows.shape, -np.inf)
        for turn in turns:
            reach = size * self.rng.uniform(0.75, 1.0)
            beyond = np.cos(turn) * (self.rows - row) + np.sin(turn) * (self.columns - column) - reach
            outside = np.maximum(outside, beyond)
        return _coverage(outside)

    def _leaves(self, row: float, column: float) -> FloatArray:
        """Draw pointed leaves on both sides of a stem."""
        heading = self.rng.uniform(0, 2 * np.pi)
        stem = self.rng.uniform(0.35, 0.5) * self.height
        matte = np.zeros(self.rows.shape)
        for i, along in enumerate(np.linspace(-1, 1, self.rng.integers(9, 14))):
            at_row, at_column = row + along * stem * np.sin(heading), column + along * stem * np.cos(heading)
            side = heading + (1 if i % 2 else -1) * self.rng.uniform(0.6, 1.1)
            length, fat = self.height * self.rng.uniform(0.05, 0.1), self.rng.uniform(0.25, 0.4)
            # a leaf is the intersection of two circles; both ends of its axis are on both circles
            bend = length * (1 - fat**2) / (2 * fat)
            middle = at_row + length * np.sin(side), at_column + length * np.cos(side)
            leaf = np.maximum(
                *(
                    np.hypot(
                        self.rows - middle[0] - sign * bend * np.cos(side),
                        self.columns - middle[1] + sign * bend * np.sin(side),
                    )
                    for sign in (-1, 1)
                )
            )
            matte = np.maximum(matte, _coverage(leaf - (bend + fat * length)))
        along, across = self._axes(row, column, heading)
        twig = np.where(np.abs(along) < stem, np.abs(across), np.inf)
        return np.maximum(matte, _line(twig, 2.5))

    def _wires(self) -> FloatArray:
        """Draw sagging lines across the image."""
        matte = np.zeros(self.rows.shape)
        heading = self.rng.uniform(-0.6, 0.6) + self.rng.choice([0, np.pi / 2])
        for _ in range(self.rng.integers(3, 6)):
            row, column = self.rng.uniform(0.1, 0.9) * self.height, self.rng.uniform(0.1, 0.9) * self.width
            along, across = self._axes(row, column, heading + self.rng.uniform(-0.15, 0.15))
            sag = self.rng.uniform(-1, 1) * 0.4 / self.width
            curved = (across - sag * along**2) / np.hypot(1, 2 * sag * along)
            matte = np.maximum(matte, _line(curved, self.rng.uniform(1.5, 5.0)))
        return matte

    def _hairs(self, column: float) -> FloatArray:
        """Draw a tuft of fine, differently bent lines that start below the image."""
        matte = np.zeros(self.rows.shape)
        for _ in range(self.rng.integers(14, 24)):
            heading = -np.pi / 2 + self.rng.normal(0, 0.3)
            root = column + self.rng.normal(0, 0.05) * self.width
            along, across = self._axes(self.height + 4.0, root, heading)
            bend = self.rng.normal(0, 1) * 0.6 / self.height
            length = self.rng.uniform(0.4, 0.85) * self.height
            curved = (across - bend * along**2) / np.hypot(1, 2 * bend * along)
            width = self.rng.uniform(0.8, 2.0) * np.clip(1.2 - along / length, 0.4, 1)
            matte = np.maximum(matte, _line(np.where(along < length, curved, np.inf), width))
        return matte

    def _bristles(self) -> FloatArray:
        """Draw thin, bent lines of 1 to 3 pixels through the image in all directions."""
        matte = np.zeros(self.rows.shape)
        for _ in range(self.rng.integers(4, 8)):
            row, column = self.rng.uniform(0.1, 0.9) * self.height, self.rng.uniform(0.1, 0.9) * self.width
            along, across = self._axes(row, column, self.rng.uniform(0, np.pi))
            bend = self.rng.normal(0, 1) * 0.3 / self.width
            curved = (across - bend * along**2) / np.hypot(1, 2 * bend * along)
            matte = np.maximum(matte, _line(curved, self.rng.uniform(1, 3)))
        return matte

    def _axes(self, row: float, column: float, heading: float) -> tuple[FloatArray, FloatArray]:
        """Return coordinates along a heading and across it, from a point."""
        down, right = self.rows - row, self.columns - column
        return (
            down * np.sin(heading) + right * np.cos(heading),
            down * np.cos(heading) - right * np.sin(heading),
        )


def _coverage(outside: FloatArray) -> FloatArray:
    """Return the share of a pixel inside a shape, from its distance to the rim, negative inside."""
    return np.asarray(np.clip(0.5 - outside, 0, 1))


def _line(distance: FloatArray, width: float | FloatArray) -> FloatArray:
    """Return the share of a pixel that a line covers, from the distance to its middle."""
    return np.asarray(np.clip(np.minimum((1 + width) / 2 - np.abs(distance), width), 0, 1))
