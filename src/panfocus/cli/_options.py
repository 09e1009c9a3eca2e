"""Options that several commands have, each declared once."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from panfocus.errors import usage_errors
from panfocus.job.memory_plan import parse_size
from panfocus.job.request import HELP as REQUEST_HELP

# Settings in backticks become flags.
HELP = {
    name: re.sub(r"`(\w+)`", lambda match: f"--{match[1].replace('_', '-')}", text)
    for name, text in REQUEST_HELP.items()
}
INPUT_HELP = "Files, folders, patterns such as 'z*.tif', or multi-page TIFFs."

Filled = TypeVar("Filled")


def _folder_name(typed: str) -> Path:
    if not typed:  # an unset shell variable; Path("") would be the current folder
        raise typer.BadParameter("is empty. Use a dot for the current folder.")
    return Path(typed)


def file_name(typed: str) -> Path:
    """Return the path of a file, whose name must not be empty."""
    if not typed:
        raise typer.BadParameter("is empty.")
    return Path(typed)


def parse_memory(typed: str | None) -> int | None:
    """Return the bytes of a size such as 2GB."""
    with usage_errors():
        return None if typed is None else parse_size(typed)


def file_option(help_text: str) -> Any:
    """Declare an option that names a file."""
    return typer.Option(metavar="FILE", help=help_text, parser=file_name)


def number_option(help_text: str, least: int, most: int | None = None) -> Any:
    """Declare an option that is a whole number in a range."""

    def parse(typed: str) -> int:
        try:
            number = int(typed)
        except ValueError as error:
            raise typer.BadParameter(f"must be a whole number, got {typed!r}.") from error
        if number < least:
            raise typer.BadParameter(f"must be at least {least}, got {number}.")
        if most is not None and number > most:
            raise typer.BadParameter(f"must be at most {most}, got {number}.")
        return number

    return typer.Option(metavar="N", parser=parse, help=help_text)


def fill(kind: type[Filled], parameters: Mapping[str, Any], **others: Any) -> Filled:
    """Return a dataclass whose fields have the values of a command's parameters of the same name."""
    names = {field.name for field in dataclasses.fields(kind)} & set(parameters)  # type: ignore[arg-type]
    return kind(**{name: parameters[name] for name in names} | others)


# Files
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="File to write.", parser=file_name)
]
OutputFolder = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="DIR", help="Folder to write to.", parser=_folder_name),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing output files.")]

# Running
Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors and warnings only.")]
Debug = Annotated[bool, typer.Option("--debug", help="Print the log, and a traceback if an error occurs.")]
Threads = Annotated[int | None, number_option("Maximum number of threads; default: one per core.", 1)]
MaxMemory = Annotated[str | None, typer.Option(metavar="SIZE", help=HELP["max_memory"])]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on the Dask cluster of this scheduler, such as tcp://10.0.0.5:8786. Its workers must see "
        "input and output under the same paths.",
    ),
]

# Frames
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad",
        help="Skip, with a warning, frames that are damaged, duplicated, of another size or scene, or "
        "cannot be aligned.",
    ),
]
HotPixels = Annotated[str, typer.Option(metavar="MODE", help=HELP["hot_pixels"])]
Align = Annotated[str, typer.Option(metavar="MODEL", help=HELP["align"])]
Reference = Annotated[str | None, typer.Option(metavar="FRAME", help=HELP["reference"])]
Borders = Annotated[str, typer.Option(metavar="MODE", help=HELP["borders"])]
Exposure = Annotated[str, typer.Option(metavar="MODE", help=HELP["exposure"])]
DecideChannels = Annotated[str, typer.Option(metavar="MODE", help=HELP["decide_channels"])]
Channel = Annotated[
    int | None,
    number_option("Fuse only channel N of a microscopy file, counted from 1; default: all channels.", 1),
]
Time = Annotated[int | None, number_option("Fuse time point N of a microscopy file, counted from 1.", 1)]

# Fusion
Method = Annotated[str | None, typer.Option(metavar="NAME", help="Fusion method; default: panfocus.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Setting of the method, such as w=0.6. Can be repeated."
    ),
]
Dictionary = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Dictionary file, or the name of a shipped dictionary; default: the method's.",
    ),
]
Refine = Annotated[bool, typer.Option("--refine", help=HELP["refine"])]
Step = Annotated[str | None, typer.Option(metavar="DISTANCE", help=HELP["step"])]
Bits = Annotated[int | None, typer.Option(metavar="8|16", help=HELP["bits"])]

# Scores
Metrics = Annotated[
    str | None,
    typer.Option(metavar="A,B,C", help="Metrics, such as NMI,QABF; default: all."),
]
Crop = Annotated[int, number_option("Ignore N pixels at each border when scoring.", 0)]
DataRange = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Value of white, such as 4095 for 12-bit data in 16 bits; default: maximum of the integer type, "
        "or 1 for floats.",
    ),
]


def parse_list(typed: str) -> list[str]:
    """Return the parts of an option such as NMI,QABF."""
    return [part.strip() for part in typed.split(",")]
