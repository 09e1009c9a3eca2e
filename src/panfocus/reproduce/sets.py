"""The paper's image sets: where they lie below the data folder, and what is known of them."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from panfocus.compare import Scene, find_groups
from panfocus.compare.scoring import check_alike, score_pictures
from panfocus.errors import FileError
from panfocus.io.read import read_image, read_stack

HOW_TO = "docs/reproduction.md says where to get them"
NO_SOURCE = "no public source"
NO_REFERENCE = "no public reference"

TRAINING_CROPS = ("p1", "p2", "p3", "p4", "p5")
LYTRO = "lytro"
HELD_OUT = "groundtruth/real-mff"


@dataclass(frozen=True)
class ImageSet:
    """A set of the paper, by its name there."""

    name: str
    stem: str  # of its files, below the data folder
    letters: str = "AB"
    suffix: str = ".png"
    public: bool = True

    def frames(self, data: Path) -> list[Path]:
        """Return the files of its frames."""
        return [data / f"{self.stem}-{letter}{self.suffix}" for letter in self.letters]

    def reference(self, data: Path) -> Path:
        """Return the file that a reference would have."""
        return data / f"{self.stem}-ref{self.suffix}"


GREY_SETS = (
    ImageSet("Clocks", "grayscale6/clocks"),
    ImageSet("Lab", "grayscale6/lab"),
    ImageSet("Pepsi", "grayscale6/pepsi256-derived"),
    ImageSet("Disk", "grayscale6/disk"),
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
MASK_SETS = tuple(  # none of them is trained on
    ImageSet(name, f"{LYTRO}/{name}", suffix=".jpg") for name in ("lytro-01", "lytro-05", "lytro-20")
)


@dataclass(frozen=True, eq=False)
class Pictures:
    """The pictures of a set."""

    name: str
    frames: NDArray[Any]
    reference: NDArray[Any] | None

    def score(self, fused: NDArray[Any], measures: Collection[str]) -> dict[str, float]:
        """Score a result by the measures that are defined without a reference, or with one if there is."""
        return score_pictures(list(self.frames), fused, self.reference, keys=measures)


def check_data(data: Path) -> None:
    """Refuse a folder that does not hold what is needed; files without a public source are not."""
    if not data.is_dir():
        raise FileError(f"{data}: there is no such folder of image sets; {HOW_TO}")
    missing = [str(path.relative_to(data)) for path in _needed(data) if not path.exists()]
    if missing:
        raise FileError(f"{data}: missing are {', '.join(missing)}; {HOW_TO}")


def read_sets(sets: Sequence[ImageSet], data: Path) -> list[Pictures]:
    """Read the sets that are there."""
    return [_read(s, data) for s in sets if all(path.exists() for path in s.frames(data))]


def read_training_pairs(data: Path) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Return the focused and the blurred crops that the authors trained on."""
    focused, blurred = ([read_image(_crop(data, name, kind)) for name in TRAINING_CROPS] for kind in "fb")
    return focused, blurred


def find_lytro_pairs(data: Path) -> list[Scene]:
    """Find the pairs that training crops may have been cut from."""
    (group,) = find_groups([data / LYTRO])
    return list(group.scenes)


def find_held_out(data: Path) -> list[Scene]:
    """Find the pairs with ground truth."""
    (group,) = find_groups([data / HELD_OUT])
    for scene in group.scenes:
        if len(scene.sources) != 2 or scene.reference is None:
            raise FileError(f"{data / HELD_OUT}: {scene.name} is not two frames, -A and -B, with their -GT")
    return list(group.scenes)


def _read(image_set: ImageSet, data: Path) -> Pictures:
    stack = read_stack(image_set.frames(data))
    path = image_set.reference(data)
    if not path.exists():
        return Pictures(image_set.name, stack.frames, None)
    reference = read_image(path)
    check_alike(reference, str(path), stack.frames[0], stack.names[0])
    return Pictures(image_set.name, stack.frames, reference)


def _needed(data: Path) -> Iterator[Path]:
    for image_set in (*GREY_SETS, *COLOUR_SETS, *MASK_SETS):
        if image_set.public:
            yield from image_set.frames(data)
    for crop in TRAINING_CROPS:
        yield from (_crop(data, crop, kind) for kind in "fb")
    yield data / HELD_OUT


def _crop(data: Path, name: str, kind: str) -> Path:
    return data / "training" / "pairs" / f"{name}{kind}.png"
