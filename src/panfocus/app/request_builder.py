"""Between the page's options, a request, and the command line that does the same."""

import dataclasses
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from panfocus.errors import InputError
from panfocus.job.memory_plan import parse_size
from panfocus.job.request import Outputs, Request
from panfocus.job.serialization import from_plain, to_plain

# Options that are not called like their fields.
_NAMES = {"image": "-o", "steps": "--save-steps", "applied": "--apply-output", "settings": "--set"}
# What a page may say; files are named by the server alone.
PAGE_OPTIONS = (
    "method",
    "settings",
    "align",
    "borders",
    "reference",
    "exposure",
    "hot_pixels",
    "refine",
    "refine_strength",
    "slabs",
    "step",
    "channel",
    "time",
    "max_memory",
    "threads",
)
_COUNTED = ("threads", "channel", "time")


def as_request(
    options: Mapping[str, Any], inputs: Sequence[Path], outputs: Outputs, *, dictionary: Path | None = None
) -> Request:
    """Return the request that the page's options mean; what is none of them is refused by name.

    `dictionary` is the file, or the shipped one, that the options' name stands for.
    """
    values: dict[str, Any] = {}
    for name, value in options.items():
        if name == "settings" and isinstance(value, Mapping):
            values[name] = [f"{setting}={_typed(given)}" for setting, given in value.items()]
        elif name == "max_memory" and isinstance(value, str):
            values[name] = parse_size(value)
        elif name in PAGE_OPTIONS:
            values[name] = value
        elif name != "dictionary":
            raise InputError(f"{name} is no option of a fusion")
    request = {"inputs": list(map(str, inputs)), "outputs": to_plain(outputs), **values}
    request = {name: value for name, value in request.items() if value is not None}
    try:
        made: Request = from_plain(request)
    except (TypeError, ValueError) as error:
        raise InputError(f"the options are not of the right kind: {error}") from error
    for name in _COUNTED:
        if (number := getattr(made, name)) is not None and number < 1:
            raise InputError(f"{name} counts from 1, got {number}")
    return dataclasses.replace(made, dictionary=dictionary)


def command_line(request: Request) -> str:
    """Write the command that does what is asked for, quoted for a shell."""
    words = [*_words(request), *_words(request.outputs)]
    inputs = list(request.inputs)
    if any(given.startswith("-") for given in inputs):
        return shlex.join(["panfocus", "fuse", *words, "--", *inputs])
    return shlex.join(["panfocus", "fuse", *inputs, *words])


def _words(part: Request | Outputs) -> Iterator[str]:
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if field.name in ("inputs", "outputs") or value == field.default:
            continue
        option = _NAMES.get(field.name, f"--{field.name.replace('_', '-')}")
        if value is True:
            yield option
            continue
        for single in value if isinstance(value, tuple) else [value]:
            yield option
            yield str(single[0] if isinstance(single, tuple) else single)


def _typed(value: Any) -> str:
    """Write a setting as it would be typed."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def shown_command(request: Request, folder: str | None) -> str:
    """Write the command for people: the folder, if there is one whose images these inputs are."""
    from panfocus.errors import PanfocusError
    from panfocus.io.input_files import find_inputs

    try:
        if folder and list(map(str, find_inputs([folder]))) == list(request.inputs):
            request = dataclasses.replace(request, inputs=(folder,))
    except PanfocusError:  # it is gone, or holds no image any more
        pass
    return command_line(request)
