"""The paper's image sets: where they lie below the data folder, what is known of them, and all of them read.

Every file is read before anything is computed, so that a bad one is named at once.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from panfocus.compare import Scene, find_groups
from panfocus.compare.scoring import check_alike, score_pictures
from panfocus.errors import FileError
from panfocus.io.read_stack import read_single

HOW_TO = "docs/reproduction.md says where to get them"
NO_SOURCE = "no public source"
NO_REFERENCE = "no public reference"

TRAINING = "training/pairs"
TRAINING_CROPS = ("p1", "p2", "p3", "p4", "p5")
LYTRO = "lytro"
MASK_SCENES = ("lytro-01", "lytro-05", "lytro-20")  # none of them is trained on
HELD_OUT = "groundtruth/real-mff"

LEAST_SIDE = 16  # pixels: the largest patches and the windows of all measures fit in
_FILES_NAMED = 3  # of many that are missing

Kind = Literal["grey", "colour"]
_CHANNELS: dict[Kind, tuple[int, ...]] = {"grey": (), "colour": (3,)}


@dataclass(frozen=True)
class ImageSet:
    """A set of the paper, by its name there."""

    name: str
    stem: str  # of its files, below the data folder
    letters: str = "AB"
    suffix: str = ".png"
    public: bool = True
    public_reference: bool = False

    def frames(self, data: Path) -> list[Path]:
        """Return the files of its frames."""
        return [data / f"{self.stem}-{letter}{self.suffix}" for letter in self.letters]

    def reference(self, data: Path) -> Path:
        """Return the file that a reference would have."""
        return data / f"{self.stem}-ref{self.suffix}"

    def find(self, data: Path) -> Scene | None:
        """Return what is there of it; a set without a public source may be absent, but not in part."""
        reference = self.reference(data)
        there = [path for path in (*self.frames(data), reference) if path.exists()]
        missing = [path for path in self.frames(data) if path not in there]
        if missing and there:
            raise FileError(f"{there[0]} is there without {missing[0].name}; add that, or remove the former")
        if missing:
            return None
        return Scene(self.name, tuple(self.frames(data)), reference if reference in there else None)


GREY_SETS = (
    ImageSet("Clocks", "grayscale6/clocks"),
    ImageSet("Lab", "grayscale6/lab", public_reference=True),
    ImageSet("Pepsi", "grayscale6/pepsi256-derived"),
    ImageSet("Disk", "grayscale6/disk", public_reference=True),
    ImageSet("Jug", "grayscale6/jug", public=False),
    ImageSet("Doll", "grayscale6/doll", public=False),
)
EXACT_SETS = (
    "Lab",
    "Disk",
)  # whose public files are pixel by pixel those of the dataset that the paper names
COLOUR_SETS = tuple(
    ImageSet(name, f"{LYTRO}/triple/{name.lower()}", "ABC", ".jpg")
    for name in ("Diver", "Keyboard", "Folders", "Seals")
)


@dataclass(frozen=True, eq=False)
class Pictures:
    """The pictures of a set: frames of one size, and a reference of the same."""

    name: str
    frames: NDArray[Any]
    reference: NDArray[Any] | None = None

    def score(self, fused: NDArray[Any], measures: Collection[str]) -> dict[str, float]:
        """Score a result by the measures that are defined without a reference, or with one if there is."""
        return score_pictures(list(self.frames), fused, self.reference, keys=measures)


@dataclass(frozen=True, eq=False)
class Inputs:
    """All pictures of a reproduction."""

    grey: list[Pictures]
    colour: list[Pictures]
    training: list[Pictures]  # crops that the authors trained on: focused and blurred
    lytro: list[Pictures]  # pairs that these may have been cut from
    held_out: list[Pictures]  # pairs with ground truth

    @property
    def masks(self) -> list[Pictures]:
        """The pairs whose decisions are shown."""
        return [pictures for pictures in self.lytro if pictures.name in MASK_SCENES]

    @property
    def crops(self) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
        """The focused crops and the blurred ones."""
        return [pair.frames[0] for pair in self.training], [pair.frames[1] for pair in self.training]


def read_inputs(data: Path) -> Inputs:
    """Read all image sets in a folder, or say which file is missing, damaged or not what it should be."""
    _check_complete(data)
    grey, colour = ([found for s in sets if (found := s.find(data))] for sets in (GREY_SETS, COLOUR_SETS))
    lytro, held_out = _find_pairs(data / LYTRO), _find_pairs(data / HELD_OUT, with_truth=True)
    return Inputs(
        grey=[read_pictures(scene, "grey") for scene in grey],
        colour=[read_pictures(scene, "colour") for scene in colour],
        training=read_training(data),
        lytro=[read_pictures(scene, "colour") for scene in lytro],
        held_out=[read_pictures(scene, "colour") for scene in held_out],
    )


def read_training(data: Path) -> list[Pictures]:
    """Read the crops that the authors trained on, each focused and blurred."""
    return [read_pictures(Scene(name, tuple(_crops(data, name))), "grey") for name in TRAINING_CROPS]


def read_pictures(scene: Scene, kind: Kind) -> Pictures:
    """Read frames and reference, which must be of one size, 8 bit, and grey or colour as the paper's are."""
    references = [scene.reference] if scene.reference else []
    images: list[NDArray[Any]] = []
    for path in (*scene.sources, *references):
        image = read_single(path)
        if image.dtype != np.uint8 or image.shape[2:] != _CHANNELS[kind]:
            raise FileError(f"{path} is not 8-bit {kind} without alpha, which is needed here; convert it")
        if min(image.shape[:2]) < LEAST_SIDE:
            raise FileError(f"{path} has a side of less than {LEAST_SIDE} pixels")
        images.append(image)
        check_alike(image, str(path), images[0], str(scene.sources[0]))
    n = len(scene.sources)
    return Pictures(scene.name, np.stack(images[:n]), images[n] if references else None)


def _find_pairs(folder: Path, *, with_truth: bool = False) -> list[Scene]:
    (group,) = find_groups([folder])
    for scene in group.scenes:
        if len(scene.sources) > 2:
            raise FileError(f"{scene.sources[2]}: needed are pairs, -A and -B; remove it")
        if with_truth and scene.reference is None:
            raise FileError(f"{folder}: {scene.name} has no -GT; add it, or remove its frames")
    return list(group.scenes)


def _check_complete(data: Path) -> None:
    """Refuse a folder that does not hold what is needed; what has no public source is not."""
    if not data.is_dir():
        raise FileError(f"{data}: there is no such folder of image sets; {HOW_TO}")
    missing: defaultdict[str, list[str]] = defaultdict(list)
    for path in _needed(data):
        if not path.exists():
            below = path.relative_to(data)
            missing[below.parent.as_posix()].append(below.as_posix())
    words = []
    if missing:
        files = [name for names in missing.values() for name in names]
        more = f", and {len(files) - _FILES_NAMED} more" if len(files) > _FILES_NAMED else ""
        counted = f"{len(files)} file{'' if len(files) == 1 else 's'} of {', '.join(missing)}"
        words.append(f"{counted} ({', '.join(files[:_FILES_NAMED])}{more})")
    if not (data / HELD_OUT).is_dir():
        words.append(f"the folder {HELD_OUT}")
    if words:
        raise FileError(f"{data}: missing: {' and '.join(words)}; {HOW_TO}")


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


def _crops(data: Path, name: str) -> Iterable[Path]:
    return (data / TRAINING / f"{name}{state}.png" for state in "fb")
