"""`panfocus dictionary`: what is in a dictionary file."""

import json
from pathlib import Path
from typing import Annotated

import typer

from panfocus.cli._console import Debug, Force, Output, Quiet, console
from panfocus.errors import usage_errors


def dictionary(
    *,
    path: Annotated[Path, typer.Argument(metavar="DICT.npz", help="Dictionary file.")],
    output: Output,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show the atoms of a dictionary as a picture."""
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
            # As JSON, which shows a control character instead of sending it to the terminal.
            terminal.say(f"{name}: {json.dumps(value)}")
        terminal.say(f"atoms shown in {output}")
