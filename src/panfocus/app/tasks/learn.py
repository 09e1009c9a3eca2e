"""Learn a dictionary from labelled rectangles, and show its objective and atoms meanwhile."""

import time
from pathlib import Path
from typing import Any

from panfocus._intensity import FloatArray
from panfocus.app.state import ARRAYS, ATOMS
from panfocus.app.tasks import LearnSummary, Send
from panfocus.app.tasks.progress_events import SECONDS_BETWEEN_PICTURES, ProgressEvents
from panfocus.dictionary import CoupledDictionary
from panfocus.dictionary.learning import Round
from panfocus.dictionary.picture import atoms_picture
from panfocus.errors import InputError
from panfocus.io.atomic_files import check_destination, write_files
from panfocus.io.dictionary_file import check_total_atoms
from panfocus.io.disk_array import ArrayFolder
from panfocus.io.encode import write_image
from panfocus.io.png import encode_png
from panfocus.io.regions import encode_regions
from panfocus.job.training_data import cut_regions, describe_learning


def run(
    send: Send,
    *,
    folder: str,
    file: str,
    frames_of: str | None,
    regions: list[dict[str, Any]],
    reads: list[str],
    settings: dict[str, int],
    output: str,
) -> LearnSummary:
    """Write the regions to a file, and learn what `panfocus learn --regions` learns from it.

    If `frames_of` names the folder of a job, regions name its aligned frames by number, and these are written
    next to the file; otherwise they name paths. `reads` is for the server.
    """
    events, path, dictionary = ProgressEvents(send), Path(file), Path(output)
    check_total_atoms(2, settings["atoms"])
    check_destination(dictionary)
    events.progress("read", 0.0)
    if frames_of:
        regions = _write_frames(regions, Path(frames_of) / ARRAYS, path.parent)
    write_files({path: encode_regions(regions)}, force=True)
    pictures, origin = cut_regions(path, settings["patch_size"])
    events.progress("learn", 0.0)
    live = _LiveAtoms(Path(folder) / ATOMS, send)
    with events.watch_compiling():
        learned = CoupledDictionary.learn(
            *pictures,
            patch_size=settings["patch_size"],
            n_atoms=settings["atoms"],
            max_atoms=settings["max_atoms"],
            rounds=settings["rounds"],
            n_samples=settings["samples"],
            rng=settings["seed"],
            origin=origin,
            progress=events.progress,
            watch=live.watch,
        )
    live.draw(learned.levels)
    learned.save(dictionary)
    for notice in learned.notices:
        events.warn(notice)
    events.summarize(f"Learned {learned}.")
    events.summarize(describe_learning(learned.history))
    # Aligned frames exist nowhere else: users who save the regions need them, too.
    frames = sorted(frame.name for frame in path.parent.glob("frame-*.tif")) if frames_of else []
    return {
        "dictionary": dictionary.stem,
        "objective": [done.objective for done in learned.history],
        "frames": frames,
    }


class _LiveAtoms:
    """Sends the objective after each round, and draws the atoms from time to time."""

    def __init__(self, path: Path, send: Send) -> None:
        self._path = path
        self._send = send
        self._version = 0
        self._drawn_at = 0.0

    def watch(self, done: Round, atoms: FloatArray) -> None:
        if time.monotonic() - self._drawn_at >= SECONDS_BETWEEN_PICTURES:
            self.draw(atoms)
        self._send({"event": "learning", "objective": done.objective})

    def draw(self, atoms: FloatArray) -> None:
        write_files({self._path: encode_png(atoms_picture(CoupledDictionary(atoms)))}, force=True)
        self._drawn_at = time.monotonic()
        self._version += 1
        self._send({"event": "atoms", "atoms_version": self._version})


def _write_frames(regions: list[dict[str, Any]], arrays_folder: Path, folder: Path) -> list[dict[str, Any]]:
    """Write the frames of regions as files; return the regions with file names instead of numbers."""
    arrays = ArrayFolder(arrays_folder)
    if "frames" not in arrays:
        raise InputError("The result of these rectangles was deleted. Draw them on another result.")
    numbers = sorted({region[which] for region in regions for which in ("focused", "blurred")})
    names = {k: f"frame-{k}.tif" for k in numbers}
    with arrays.array("frames") as frames:
        for k in numbers:
            write_image(folder / names[k], frames[k], force=True)
    return [region | {which: names[region[which]] for which in ("focused", "blurred")} for region in regions]
