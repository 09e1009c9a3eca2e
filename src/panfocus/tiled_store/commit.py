"""Outputs are put in place: when all are made, each waits within reach; then a rename gives it its name.

What waits where is noted in the run's folder: a run that is killed meanwhile goes on from there.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from panfocus.errors import FileError
from panfocus.tiled_store.checkpoint import RunFolder


def make_ready(
    folder: RunFolder, targets: Mapping[str, Path], *, force: bool, report: Callable[[], dict[str, Any]]
) -> None:
    """Have all outputs wait: TIFFs, and copies on other disks, take long. `report` is asked for last."""
    from panfocus.io.atomic_files import TEMPORARY_HERE
    from panfocus.io.ome_zarr_writer import remove_partial_chunks

    for target in targets.values():
        if target.exists() and not force:
            raise FileError(f"{target} exists already; choose another name, or overwrite it with --force")
    folder.restore_replaced()  # what a killed run has left
    asides = {kind: path.with_name(f"{TEMPORARY_HERE}{folder.run}-{kind}") for kind, path in targets.items()}
    folder.keep("places", {kind: [str(targets[kind]), str(asides[kind])] for kind in targets})
    try:
        waiting = {}
        for kind in folder.plan["outputs"]:
            remove_partial_chunks(folder.store(kind))
            waiting[kind] = _waiting(folder, kind, targets[kind], asides[kind])
        told = report()
        if "report" in targets:
            waiting["report"] = _report(told, targets["report"], asides["report"])
    except BaseException:
        folder.restore_replaced()
        raise
    folder.keep("ready", {"waiting": {kind: str(path) for kind, path in waiting.items()}, "report": told})


def check_places(folder: RunFolder, targets: Mapping[str, Path]) -> None:
    """Refuse other names for a run that was ended when some outputs had theirs."""
    places = folder.kept("places")
    if folder.kept("ready") and not _are_same(places, targets):
        raise FileError(
            f"{folder.path}: this run was ended while its outputs were put in place; it goes on with their "
            f"names alone: {', '.join(target for target, _ in places.values())}"
        )


def put_in_place(folder: RunFolder, targets: Mapping[str, Path], *, force: bool) -> dict[str, Any]:
    """Give the outputs their names, the picture last, remove the folder of the run, and return the report."""
    from panfocus.io.atomic_directory import move_into_place

    ready, places = folder.kept("ready"), folder.kept("places")
    for kind in sorted(places, key=lambda kind: kind == "image"):
        target, aside = map(Path, places[kind])
        move_into_place(Path(ready["waiting"][kind]), target, aside, force=force)
    folder.remove()
    report: dict[str, Any] = ready["report"]
    return report


def placed(folder: RunFolder, targets: Mapping[str, Path]) -> set[str]:
    """Tell which outputs have their places already, of a run that was killed when not all had."""
    from panfocus.io.atomic_directory import store_exists

    ready = folder.kept("ready")
    if not ready or not _are_same(folder.kept("places"), targets):
        return set()
    return {kind for kind, path in ready["waiting"].items() if not store_exists(Path(path))}


def _are_same(places: Mapping[str, list[str]], targets: Mapping[str, Path]) -> bool:
    return {kind: Path(target) for kind, (target, _) in places.items()} == targets


def _waiting(folder: RunFolder, kind: str, target: Path, aside: Path) -> Path:
    from panfocus.io.atomic_directory import bring_to_disk
    from panfocus.io.atomic_files import make_folder, write_files
    from panfocus.io.tiled_tiff import TIFF_SUFFIXES, write_store_as_tiff

    if target.suffix.lower() not in TIFF_SUFFIXES:
        return bring_to_disk(folder.store(kind), aside)
    make_folder(aside)
    write_files({aside / target.name: write_store_as_tiff(folder.store(kind))})
    return aside / target.name


def _report(told: dict[str, Any], target: Path, aside: Path) -> Path:
    from panfocus.io.atomic_files import make_folder, write_files
    from panfocus.io.encode import encode_json

    make_folder(aside)
    write_files({aside / target.name: encode_json(told)})
    return aside / target.name
