"""The paper's image sets: their files in the data folder, and how to read them.

All files are read before the computation starts, so that a bad file is reported at once.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from panfocus.compare import Scene, find_groups
from panfocus.compare.scoring import check_same_format, score_images
from panfocus.errors import FileError
from panfocus.io.read_stack import read_single

HOW_TO = "See docs/reproduction.md for sources."
NO_SOURCE = "no public source"
NO_REFERENCE = "no public reference"

TRAINING = "training/pairs"
TRAINING_CROPS = ("p1", "p2", "p3", "p4", "p5")
LYTRO = "lytro"
MASK_SCENES = ("lytro-01", "lytro-05", "lytro-20")  # contain no training crop
HELD_OUT = "groundtruth/real-mff"

MIN_SIDE = 16  # pixels: room for the largest patches and the windows of all measures
_FILES_NAMED = 3  # missing files named in the message

Kind = Literal["grey", "colour"]
_CHANNELS: dict[Kind, tuple[int, ...]] = {"grey": (), "colour": (3,)}


@dataclass(frozen=True)
class ImageSet:
    """An image set of the paper."""

    name: str
    stem: str  # common path of its files in the data folder
    letters: str = "AB"
    suffix: str = ".png"
    kind: Kind = "grey"
    public: bool = True
    public_reference: bool = False

    def frames(self, data: Path) -> list[Path]:
        """Return the paths of the frames."""
        return [data / f"{self.stem}-{letter}{self.suffix}" for letter in self.letters]

    def reference(self, data: Path) -> Path:
        """Return the path of the reference."""
        return data / f"{self.stem}-ref{self.suffix}"

    def read(self, data: Path) -> "SceneImages | None":
        """Read the set, or return None if it is absent. A set may be absent, but not incomplete."""
        frames, reference = self.frames(data), self.reference(data)
        missing = [path for path in frames if not path.exists()]
        if len(missing) == len(frames) and not reference.exists():
            return None
        if missing:
            raise FileError(f"{missing[0]}: This frame of the set is missing.", file=missing[0])
        scene = Scene(self.name, tuple(frames), reference if reference.exists() else None)
        return read_scene(scene, self.kind)


GREY_SETS = (
    ImageSet("Clocks", "grayscale6/clocks"),
    ImageSet("Lab", "grayscale6/lab", public_reference=True),
    ImageSet("Pepsi", "grayscale6/pepsi256-derived"),
    ImageSet("Disk", "grayscale6/disk", public_reference=True),
    ImageSet("Jug", "grayscale6/jug", public=False),
    ImageSet("Doll", "grayscale6/doll", public=False),
)
EXACT_SETS = ("Lab", "Disk")  # public files equal the dataset that the paper names
COLOUR_SETS = tuple(
    ImageSet(name, f"{LYTRO}/triple/{name.lower()}", "ABC", ".jpg", "colour")
    for name in ("Diver", "Keyboard", "Folders", "Seals")
)


@dataclass(frozen=True, eq=False)
class SceneImages:
    """Frames of one size, and a reference of the same size."""

    name: str
    frames: NDArray[Any]
    reference: NDArray[Any] | None = None

    def score(self, fused: NDArray[Any], measures: Collection[str]) -> dict[str, float]:
        """Score a result; measures with a reference need one."""
        return score_images(list(self.frames), fused, self.reference, keys=measures)


@dataclass(frozen=True, eq=False)
class Inputs:
    """All images of a reproduction."""

    grey: list[SceneImages]
    colour: list[SceneImages]
    training: list[SceneImages]  # training crops of the authors: focused and blurred
    lytro: list[SceneImages]  # pairs that may contain the crops
    held_out: list[SceneImages]  # pairs with ground truth


def read_inputs(data: Path) -> Inputs:
    """Read all image sets in a folder. Raise if a file is missing, damaged or of the wrong kind."""
    _check_complete(data)
    return Inputs(
        grey=[images for image_set in GREY_SETS if (images := image_set.read(data))],
        colour=[images for image_set in COLOUR_SETS if (images := image_set.read(data))],
        training=read_training(data),
        lytro=_read_pairs(data / LYTRO),
        held_out=_read_pairs(data / HELD_OUT, with_truth=True),
    )


def read_training(data: Path) -> list[SceneImages]:
    """Read the training crops of the authors, each focused and blurred."""
    return [read_scene(Scene(name, _crops(data, name)), "grey") for name in TRAINING_CROPS]


def read_scene(scene: Scene, kind: Kind) -> SceneImages:
    """Read frames and reference. They must be 8-bit, of one size, and of this kind."""
    references = [scene.reference] if scene.reference else []
    images: list[NDArray[Any]] = []
    for path in (*scene.sources, *references):
        image = read_single(path)
        if image.dtype != np.uint8 or image.shape[2:] != _CHANNELS[kind]:
            raise FileError(
                f"{path}: An 8-bit {kind} image without alpha is needed.",
                file=path,
                needed=kind,
                got=(image.shape, image.dtype.name),
            )
        if min(image.shape[:2]) < MIN_SIDE:
            raise FileError(
                f"{path}: Both sides must have at least {MIN_SIDE} pixels.", file=path, needed=MIN_SIDE
            )
        images.append(image)
        check_same_format(image, str(path), images[0], str(scene.sources[0]))
    n = len(scene.sources)
    return SceneImages(scene.name, np.stack(images[:n]), images[n] if references else None)


def _read_pairs(folder: Path, *, with_truth: bool = False) -> list[SceneImages]:
    (group,) = find_groups([folder])
    for scene in group.scenes:
        if len(scene.sources) > 2:
            raise FileError(
                f"{scene.sources[2]}: A pair has only the frames -A and -B. Remove this file.",
                file=scene.sources[2],
            )
        if with_truth and scene.reference is None:
            raise FileError(
                f"{folder}: The scene {scene.name} has no reference {scene.name}-GT.",
                file=folder,
                scene=scene.name,
            )
    return [read_scene(scene, "colour") for scene in group.scenes]


def _check_complete(data: Path) -> None:
    """Raise if a folder lacks needed files. Sets without a public source are not needed."""
    if not data.is_dir():
        raise FileError(f"{data}: No such folder. {HOW_TO}", file=data)
    missing = [path.relative_to(data) for path in _needed(data) if not path.exists()]
    files = [path.as_posix() for path in missing]
    words = []
    if files:
        more = f", and {len(files) - _FILES_NAMED} more" if len(files) > _FILES_NAMED else ""
        folders = ", ".join(dict.fromkeys(path.parent.as_posix() for path in missing))
        counted = f"{len(files)} file{'' if len(files) == 1 else 's'} of {folders}"
        words.append(f"{counted} ({', '.join(files[:_FILES_NAMED])}{more})")
    if not (data / HELD_OUT).is_dir():
        words.append(f"the folder {HELD_OUT}")
        files.append(HELD_OUT)
    if words:
        raise FileError(f"{data}: Missing {' and '.join(words)}. {HOW_TO}", file=data, missing=tuple(files))


def _needed(data: Path) -> Iterator[Path]:
    for image_set in (*GREY_SETS, *COLOUR_SETS):
        if image_set.public:
            yield from image_set.frames(data)
        if image_set.public_reference:
            yield image_set.reference(data)
    for scene in MASK_SCENES:
        yield from (data / LYTRO / f"{scene}-{letter}.jpg" for letter in "AB")
    for crop in TRAINING_CROPS:
        yield from _crops(data, crop)


def _crops(data: Path, name: str) -> tuple[Path, ...]:
    """Return the paths of a focused and a blurred crop."""
    return tuple(data / TRAINING / f"{name}{state}.png" for state in "fb")
