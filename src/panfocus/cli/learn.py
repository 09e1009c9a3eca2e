"""`panfocus learn`: a coupled dictionary from pictures of your own."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from panfocus.cli._console import Debug, Force, Output, Quiet, Threads, console, usage_errors
from panfocus.errors import FileError, InputError

if TYPE_CHECKING:
    from panfocus._float import FloatArray

    Levels = list[list[FloatArray]]  # for each grade of focus, sharpest first, the same scenes


def learn(
    *,
    output: Output,
    focused: Annotated[
        list[Path] | None, typer.Option(help="A focused picture; repeat it in step with --blurred.")
    ] = None,
    blurred: Annotated[
        list[Path] | None, typer.Option(help="The same scene out of focus, registered.")
    ] = None,
    regions: Annotated[
        Path | None,
        typer.Option(
            help="TOML file of [[region]] tables: focused, blurred (frames of a registered pair, beside the "
            "file), top, left, height, width (a rectangle that is sharp in the one and not in the other)."
        ),
    ] = None,
    images: Annotated[
        list[str] | None, typer.Option(help="Folder or file of sharp pictures; defocus is simulated.")
    ] = None,
    patch_size: Annotated[int, typer.Option(min=2, help="Side of the patches, in pixels.")] = 8,
    atoms: Annotated[int, typer.Option(min=1, help="Atoms of each level.")] = 256,
    max_atoms: Annotated[int, typer.Option(min=1, help="Most atoms in the code of one patch.")] = 5,
    rounds: Annotated[int, typer.Option(min=1, help="Coding steps.")] = 10,
    update_cycles: Annotated[
        int, typer.Option(min=1, help="Passes over the atoms after each coding step.")
    ] = 1,
    start: Annotated[
        Literal["samples", "dct"],
        typer.Option(help="Begin with training samples, or with overcomplete cosines."),
    ] = "samples",
    samples: Annotated[int, typer.Option(min=1, help="Patches drawn at random from all pictures.")] = 30_000,
    levels: Annotated[int, typer.Option(min=2, help="Grades of focus; more than 2 only with --images.")] = 2,
    separate: Annotated[
        bool, typer.Option("--separate", help="Learn each level alone, by K-SVD, for comparison.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same dictionary.")] = 0,
    threads: Threads = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn a coupled dictionary from pictures.

    They are pairs (--focused, --blurred), regions of pairs (--regions), or sharp pictures alone (--images).
    """
    with console(quiet=quiet, debug=debug) as terminal:
        from panfocus._threads import limit_threads
        from panfocus.dictionary import CoupledDictionary
        from panfocus.io.files import check_destination, check_suffix

        with usage_errors():
            _check_sources(focused or [], blurred or [], regions, images or [], levels)
            check_suffix(output, (".npz",))
        check_destination(output, force=force)
        if images:
            pictures, origin = _simulated(images, levels, seed)
        elif regions:
            pictures, origin = _cut(regions)
        else:
            pictures, origin = _pairs(focused or [], blurred or [])
        with limit_threads(threads):
            learned = CoupledDictionary.learn(
                *pictures,
                patch_size=patch_size,
                n_atoms=atoms,
                max_atoms=max_atoms,
                rounds=rounds,
                update_cycles=update_cycles,
                start=start,
                n_samples=samples,
                separate=separate,
                rng=seed,
                origin=origin,
                progress=terminal.progress,
            )
        terminal.finish()
        learned.save(output, force=force)
        first, last = learned.history[0].objective, learned.history[-1].objective
        terminal.say(f"learned {learned}")
        terminal.say(
            f"mean squared error {first:.4f} after the first round, {last:.4f} after the last: {output}"
        )


def _check_sources(
    focused: Sequence[Path], blurred: Sequence[Path], regions: Path | None, images: Sequence[str], levels: int
) -> None:
    if sum(map(bool, (focused or blurred, regions, images))) != 1:
        raise InputError("needed is exactly one source: --focused with --blurred, --regions, or --images")
    if len(focused) != len(blurred):
        raise InputError(
            f"--focused is given {len(focused)} times, --blurred {len(blurred)} times; they go in pairs"
        )
    if levels > 2 and not images:
        raise InputError(
            f"--levels {levels}: pairs have two levels of focus; more are simulated from --images"
        )


def _pairs(focused: Sequence[Path], blurred: Sequence[Path]) -> "tuple[Levels, str]":
    from panfocus.gray import to_gray
    from panfocus.io.read import read_image

    levels: Levels = [[], []]
    for sharp_path, soft_path in zip(focused, blurred, strict=True):
        sharp, soft = to_gray(read_image(sharp_path)), to_gray(read_image(soft_path))
        if sharp.shape != soft.shape:
            raise FileError(f"{sharp_path} and {soft_path} differ in size; they must be registered")
        levels[0].append(sharp)
        levels[1].append(soft)
    pairs = ", ".join(f"{a.name} and {b.name}" for a, b in zip(focused, blurred, strict=True))
    return levels, f"pairs of {pairs}"


def _cut(regions: Path) -> "tuple[Levels, str]":
    from panfocus.gray import to_gray
    from panfocus.io.regions import read_regions

    levels = [[to_gray(image) for image in images] for images in read_regions(regions)]
    return levels, f"{len(levels[0])} regions of {regions.name}"


def _simulated(images: Sequence[str], n_levels: int, seed: int) -> "tuple[Levels, str]":
    import numpy as np

    from panfocus.gray import to_gray
    from panfocus.io.read import find_inputs, read_image
    from panfocus.simulate import simulate_training

    paths = find_inputs(images)
    sharp = [to_gray(read_image(path)) for path in paths]
    levels = simulate_training(sharp, n_levels=n_levels, rng=np.random.default_rng(seed))
    return levels, f"simulated defocus of {', '.join(path.name for path in paths)}"
