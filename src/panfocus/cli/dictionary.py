"""`panfocus learn` and `panfocus dictionary`: learn a dictionary, and show its atoms."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from panfocus.cli import _options as options
from panfocus.cli._console import console
from panfocus.errors import usage_errors
from panfocus.job.training_data import (
    HELP,
    check_sources,
    cut_regions,
    describe_learning,
    read_pairs,
    simulate_levels,
)


def learn(
    *,
    output: options.Output,
    focused: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Sharp image. Repeat it, with one --blurred each."),
    ] = None,
    blurred: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="The same scene out of focus, aligned to --focused."),
    ] = None,
    regions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="TOML file of [[region]] tables: focused, blurred (aligned frames, relative to this file), "
            "top, left, height, width (a rectangle that is sharp in the first and blurred in the second).",
        ),
    ] = None,
    images: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INPUT",
            help="Folder or file of sharp images; defocus is simulated, except with --levels 1. "
            "Can be repeated.",
        ),
    ] = None,
    patch_size: Annotated[int, options.number_option(HELP["patch_size"], 2)] = 8,
    atoms: Annotated[int, options.number_option(HELP["atoms"], 1)] = 256,
    max_atoms: Annotated[int, options.number_option(HELP["max_atoms"], 1)] = 5,
    rounds: Annotated[int, options.number_option(HELP["rounds"], 1)] = 10,
    update_cycles: Annotated[
        int, options.number_option("Passes over the atoms after each coding step.", 1)
    ] = 1,
    start: Annotated[
        Literal["samples", "dct"],
        typer.Option(help="Initial atoms: training samples, or an overcomplete cosine basis."),
    ] = "samples",
    samples: Annotated[int, options.number_option(HELP["samples"], 1)] = 30_000,
    levels: Annotated[
        int,
        options.number_option("Levels of focus. 2 works with every source; other numbers need --images.", 1),
    ] = 2,
    separate: Annotated[
        bool, typer.Option("--separate", help="Learn each level on its own with K-SVD, for comparison.")
    ] = False,
    seed: Annotated[int, options.number_option(HELP["seed"], 0)] = 0,
    threads: options.Threads = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Learn a coupled dictionary from images.

    Sources: pairs (--focused, --blurred), regions of pairs (--regions), or sharp images (--images).
    """
    with console(quiet=quiet, debug=debug) as terminal:
        from panfocus._threads import limit_threads
        from panfocus.dictionary import CoupledDictionary
        from panfocus.io.atomic_files import check_destination, check_suffix
        from panfocus.io.dictionary_file import check_total_atoms

        with usage_errors():
            check_suffix(output, (".npz",))
            check_total_atoms(levels, atoms)
            check_sources(focused or (), blurred or (), regions, images or (), levels)
        check_destination(output, force=force)
        if images:
            pictures, origin = simulate_levels(images, levels, seed, patch_size, terminal.warn)
        elif regions:
            pictures, origin = cut_regions(regions, patch_size)
        else:
            pictures, origin = read_pairs(focused or (), blurred or (), patch_size)
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
        for notice in learned.notices:
            terminal.warn(notice)
        terminal.say(f"Learned {learned}")
        # With --separate the history holds the rounds of each level, one level after the other.
        for number, first in enumerate(range(0, len(learned.history), rounds), start=1):
            level = f"Level {number}: " if separate else ""
            terminal.say(level + describe_learning(learned.history[first : first + rounds]))
        terminal.say(f"Wrote {output}")


def dictionary(
    *,
    path: Annotated[Path, typer.Argument(metavar="DICT.npz", help="Dictionary file.")],
    output: options.Output,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Show the atoms of a dictionary, and print its settings."""
    with console(quiet=quiet, debug=debug) as terminal:
        from panfocus.dictionary import CoupledDictionary, atoms_picture
        from panfocus.io.atomic_files import check_destination, check_suffix
        from panfocus.io.encode import IMAGE_SUFFIXES, write_image

        with usage_errors():
            check_suffix(output, IMAGE_SUFFIXES)
        check_destination(output, force=force, inputs=[path])
        loaded = CoupledDictionary.load(path)
        picture = atoms_picture(loaded)
        terminal.finish()
        write_image(output, picture, force=force)
        header = {
            "levels": loaded.n_levels,
            "atoms": loaded.n_atoms,
            "patch size": loaded.patch_size,
            "origin": loaded.origin,
            "seed": loaded.seed,
            "settings": loaded.settings,
        }
        for name, value in header.items():
            terminal.say(f"{name}: {json.dumps(value)}")  # JSON escapes control characters
        terminal.say(f"Wrote {output}")
