"""From the page's options to a fusion request, and to the command line that does the same."""

import dataclasses
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.app.responses import RequestError
from panfocus.app.state import PageStack
from panfocus.errors import InputError, PanfocusError
from panfocus.job.memory_plan import parse_size
from panfocus.job.request import Outputs, Request
from panfocus.job.serialization import from_plain, to_plain

if TYPE_CHECKING:
    from panfocus.app.server import App

# Options whose flag is not the name of their field.
_FLAGS = {"image": "-o", "steps": "--save-steps", "applied": "--apply-output", "settings": "--set"}
# The page may not name files; the server does.
PAGE_OPTIONS = (
    "method", "settings", "align", "borders", "reference", "exposure", "hot_pixels", "decide_channels",
    "refine", "refine_strength", "slabs", "step", "channel", "time", "max_memory", "threads",
)  # fmt: skip


def fusion_request(app: "App", stack: PageStack, options: Mapping[str, Any], folder: Path) -> Request:
    """Return the request for the fusion of a stack with the page's options; its outputs are in `folder`."""
    # The report is only written on export, but with it the inputs are hashed during the fusion.
    outputs = Outputs(image=folder / "fused.tif", report=folder / "report.json")
    dictionary = _find_dictionary(app, options.get("dictionary"))
    return build_request(options, app.stacks.paths(stack), outputs, dictionary=dictionary)


def build_request(
    options: Mapping[str, Any], inputs: Sequence[Path], outputs: Outputs, *, dictionary: Path | None = None
) -> Request:
    """Return the request for the page's options; `dictionary` replaces the name in the options."""
    values: dict[str, Any] = {}
    for name, value in options.items():
        if name == "settings" and isinstance(value, Mapping):
            values[name] = [f"{setting}={_format_value(each)}" for setting, each in value.items()]
        elif name == "max_memory" and isinstance(value, str):
            values[name] = parse_size(value)
        elif name in PAGE_OPTIONS:
            values[name] = value
        elif name != "dictionary":
            raise InputError(f"Unknown option {name[:40]}.", setting=name)
    content = {"inputs": list(map(str, inputs)), "outputs": to_plain(outputs), **values}
    content = {name: value for name, value in content.items() if value is not None}
    try:
        request: Request = from_plain(content)
    except (TypeError, ValueError) as error:
        raise InputError(f"An option has the wrong type: {error}") from error
    return dataclasses.replace(request, dictionary=dictionary)


def _find_dictionary(app: "App", name: object) -> Path | None:
    """Return the file of a learned dictionary, or the name of a shipped one."""
    from panfocus.dictionary.coupled import DEFAULT_NAMES

    if name is None or name == "":
        return None
    learned = app.store.dictionary_names()
    if isinstance(name, str) and name in learned:
        return app.store.dictionary_file(name)
    if name in DEFAULT_NAMES:
        return Path(str(name))
    known = ", ".join([*learned, *DEFAULT_NAMES])
    message = f"There is no dictionary {str(name)[:80]}; known: {known}."
    raise RequestError(400, message, setting="dictionary", got=name)


def fusion_command(request: Request, stack: PageStack) -> str:
    """Return the command line that fuses a stack into fused.tif."""
    return short_command(dataclasses.replace(request, outputs=Outputs(image=Path("fused.tif"))), stack.folder)


def short_command(request: Request, folder: str | None) -> str:
    """Return the command line of a request, with the folder instead of its images if these are all."""
    from panfocus.io.input_files import find_inputs

    try:
        if folder and list(map(str, find_inputs([folder]))) == list(request.inputs):
            request = dataclasses.replace(request, inputs=(folder,))
    except PanfocusError:  # the folder was removed, or holds no images any more
        pass
    return command_line(request)


def without_folder(request: Request) -> Request:
    """Return a request that names its outputs and its strokes without their folder."""
    outputs = request.outputs
    paths = {field.name: getattr(outputs, field.name) for field in dataclasses.fields(outputs)}
    names: dict[str, Any] = {name: Path(path.name) for name, path in paths.items() if isinstance(path, Path)}
    retouch = None if request.retouch is None else Path(request.retouch.name)
    return dataclasses.replace(request, outputs=Outputs(**names), retouch=retouch)


def command_line(request: Request) -> str:
    """Return the command line of a request, quoted for a shell."""
    arguments = [*_arguments(request), *_arguments(request.outputs)]
    inputs = list(request.inputs)
    if any(path.startswith("-") for path in inputs):
        return shlex.join(["panfocus", "fuse", *arguments, "--", *inputs])
    return shlex.join(["panfocus", "fuse", *inputs, *arguments])


def _arguments(part: Request | Outputs) -> Iterator[str]:
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if field.name in ("inputs", "outputs") or value == field.default:
            continue
        flag = _FLAGS.get(field.name, f"--{field.name.replace('_', '-')}")
        if value is True:
            yield flag
            continue
        for single in value if isinstance(value, tuple) else [value]:
            yield flag
            yield str(single[0] if isinstance(single, tuple) else single)


def _format_value(value: Any) -> str:
    """Return a setting as the command line takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
