"""Learning a dictionary from labelled rectangles, with the objective and the atoms shown as they come."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.app.tasks.fuse import ARRAYS
from panfocus.app.tasks.progress_events import SECONDS_BETWEEN_PICTURES, Tell, Teller, compiling_told

if TYPE_CHECKING:
    from panfocus._intensity import FloatArray
    from panfocus.dictionary.learning import Round

ATOMS = "atoms.png"


def run(task: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Learn what `panfocus learn --regions` does from the same file, and write it to `output`.

    `regions` is written to that file first. Where `frames_of` names a job's folder, frames are numbers of its
    aligned frames, which are written beside the file; else they are paths.
    """
    from panfocus.dictionary import CoupledDictionary
    from panfocus.io.atomic_files import check_destination, write_files
    from panfocus.io.dictionary_file import check_total_atoms
    from panfocus.io.regions import encode_regions
    from panfocus.job.training_data import cut_regions, describe_learning

    teller, settings = Teller(tell), task["settings"]
    path, output = Path(task["file"]), Path(task["output"])
    check_total_atoms(2, settings["atoms"])
    check_destination(output)
    teller.progress("read", 0.0)
    regions = task["regions"]
    if task["frames_of"]:
        regions = _with_files(regions, Path(task["frames_of"]) / ARRAYS, path.parent)
    write_files({path: encode_regions(regions)}, force=True)
    pictures, origin = cut_regions(path, settings["patch_size"])
    teller.progress("learn", 0.0)
    shown = _Shown(Path(task["folder"]) / ATOMS, tell)
    with compiling_told(teller):
        learned = CoupledDictionary.learn(
            *pictures,
            patch_size=settings["patch_size"],
            n_atoms=settings["atoms"],
            max_atoms=settings["max_atoms"],
            rounds=settings["rounds"],
            n_samples=settings["samples"],
            rng=settings["seed"],
            origin=origin,
            progress=teller.progress,
            watch=shown.watch,
        )
    shown.draw(learned.levels)
    learned.save(output)
    teller.say(f"learned {learned}")
    teller.say(describe_learning(learned.history))
    # Frames that were aligned are nobody's files: who saves the rectangles needs them too.
    frames = sorted(each.name for each in path.parent.glob("frame-*.tif")) if task["frames_of"] else []
    objective = [done.objective for done in learned.history]
    return {"dictionary": output.stem, "objective": objective, "frames": frames}


class _Shown:
    """The course of the learning, told after each round; the atoms are drawn now and then."""

    def __init__(self, path: Path, tell: Tell) -> None:
        self._path = path
        self._tell = tell
        self._version = 0
        self._drawn_at = 0.0

    def watch(self, done: "Round", atoms: "FloatArray") -> None:
        if time.monotonic() - self._drawn_at >= SECONDS_BETWEEN_PICTURES:
            self.draw(atoms)
        self._tell({"event": "learning", "objective": done.objective, "atoms_version": self._version})

    def draw(self, atoms: "FloatArray") -> None:
        from panfocus.dictionary import CoupledDictionary
        from panfocus.dictionary.picture import atoms_picture
        from panfocus.io.atomic_files import write_files
        from panfocus.io.png import encode_png

        write_files({self._path: encode_png(atoms_picture(CoupledDictionary(atoms)))}, force=True)
        self._drawn_at = time.monotonic()
        self._version += 1
        self._tell({"event": "atoms", "atoms_version": self._version})


def _with_files(regions: list[dict[str, Any]], arrays: Path, folder: Path) -> list[dict[str, Any]]:
    """Write the frames that regions are of as files, and name those in their place."""
    from panfocus.errors import InputError
    from panfocus.io.disk_array import ArrayFolder
    from panfocus.io.encode import write_image

    kept = ArrayFolder(arrays)
    if "frames" not in kept:
        raise InputError("the result that these rectangles are on was deleted; draw them on another result")
    numbers = sorted({region[which] for region in regions for which in ("focused", "blurred")})
    names = {k: f"frame-{k}.tif" for k in numbers}
    with kept.array("frames") as frames:
        for k in numbers:
            write_image(folder / names[k], frames[k], force=True)
    return [region | {which: names[region[which]] for which in ("focused", "blurred")} for region in regions]
