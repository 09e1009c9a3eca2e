"""A request that has been checked, as far as can be without reading pixels: what there is to do, and how."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.cli._console import usage_errors
from panfocus.cli._memory import parse_size
from panfocus.cli._plan import Plan, make_plan
from panfocus.cli._request import Request
from panfocus.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from panfocus.io.read import Header
    from panfocus.methods import FusionMethod


@dataclass(frozen=True, eq=False)
class Job:
    """What is known before the first frame is read."""

    request: Request
    paths: "list[Path]"
    headers: "list[Header]"
    like_frames: "NDArray[Any]"  # blank, without memory
    method_name: str
    method: "FusionMethod"
    method_options: dict[str, Any]
    refinement: dict[str, Any]
    plan: Plan


def prepare(request: Request, *, force: bool) -> Job:
    """Check everything but the pixels, and plan the work."""
    from panfocus._checks import blank
    from panfocus.io.files import check_destination
    from panfocus.io.read import check_headers, find_inputs, read_headers
    from panfocus.io.scratch import check_room
    from panfocus.io.write import check_format
    from panfocus.methods import DEFAULT_METHOD, get_method

    outputs, dictionary = request.outputs, request.dictionary
    name = request.method or DEFAULT_METHOD
    with usage_errors():
        outputs.check_names()
        options = _method_options(name, request.settings, dictionary)
        method = get_method(name, **options)
        outputs.check_maps(name, method.maps)
        refinement = _refine_options(request.refine, request.refine_strength)
        _check_align(request.align)
        memory_limit = None if request.max_memory is None else parse_size(request.max_memory)
        paths = find_inputs(request.inputs)
        headers = read_headers(paths)
        if len(headers) < 2:
            raise InputError(f"fusion needs at least two frames, got only {paths[0]}")
    for path in outputs.paths().values():
        check_destination(path, force=force, inputs=[*paths, dictionary] if dictionary else paths)
    check_headers(headers)
    first = headers[0].frame.image
    check_format(outputs.image, first)
    like_frames = blank((len(headers), *first.shape), first.dtype)
    plan = make_plan(
        name,
        method,
        like_frames,
        maps=outputs.maps(),
        refine=refinement["refine"],
        max_memory=memory_limit,
    )
    if not plan.in_memory:
        check_room(like_frames.nbytes)
    return Job(request, paths, headers, like_frames, name, method, options, refinement, plan)


def _method_options(method: str, typed: Sequence[str], dictionary: Path | None) -> dict[str, Any]:
    """Return the settings that were typed, in the types of the method."""
    from panfocus.methods import parse_settings, setting_names

    texts = {}
    for setting in typed:
        name, equals, value = setting.partition("=")
        if not equals or name == "dictionary":
            raise InputError(f"--set {setting}: needed is NAME=VALUE; a dictionary is given by --dictionary")
        texts[name] = value
    if dictionary:
        if "dictionary" not in setting_names(method):
            raise InputError(f"--dictionary {dictionary}: the method {method} takes none")
        texts["dictionary"] = str(dictionary)
    return parse_settings(method, texts)


def _refine_options(refine: bool, strength: float | None) -> dict[str, Any]:
    if strength is None:
        return {"refine": refine}
    if not 0 <= strength < math.inf:
        raise InputError(f"--refine-strength must be a number from 0 upwards, got {strength}")
    return {"refine": True, "refine_strength": strength}


def _check_align(align: str) -> None:
    if align != "off":
        raise InputError(f"--align {align}: this version does not align; register the frames beforehand")
