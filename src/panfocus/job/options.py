"""What the options of a request mean, and which of them are refused whatever the frames are."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from panfocus.errors import InputError
from panfocus.job.alignment import check_align
from panfocus.job.bit_depth import check_bits
from panfocus.job.byte_size import parse_size
from panfocus.job.depth_scale import DepthScale
from panfocus.job.request import Request
from panfocus.job.retouch import check_retouch

if TYPE_CHECKING:
    from panfocus.io.jpeg_webp import JpegSettings
    from panfocus.methods import FusionMethod


@dataclass(frozen=True, eq=False)
class Options:
    """What a request's options mean, whatever the frames are."""

    method_name: str
    method: "FusionMethod"
    settings: dict[str, Any]  # of the method
    refinement: dict[str, Any]
    jpeg: "JpegSettings"
    slabs: tuple[int, int] | None
    depth_scale: DepthScale | None
    max_memory: int | None


def checked_options(request: Request) -> Options:
    """Refuse what is wrong for any frames."""
    from panfocus._checks import one_of, whole_number
    from panfocus.io.jpeg_webp import jpeg_settings
    from panfocus.methods import DEFAULT_METHOD, get_method
    from panfocus.pipeline import EXPOSURE, HOT_PIXELS

    request.outputs.check_names()
    name = DEFAULT_METHOD if request.method is None else request.method
    settings = _method_options(name, request)
    method = get_method(name, **settings)
    request.outputs.check_maps(name, method.maps)
    refinement = _refine_options(request.refine, request.refine_strength)
    check_align(request.align, request.borders)
    check_bits(request.bits)
    jpeg = jpeg_settings(request.jpeg_quality, request.jpeg_subsampling)
    one_of("--hot-pixels", request.hot_pixels, HOT_PIXELS)
    one_of("--exposure", request.exposure, EXPOSURE)
    for option, number in (("--channel", request.channel), ("--time", request.time)):
        if number is not None:
            whole_number(option, number, at_least=1)
    slabs = _slab_size(request)
    _check_applied(request, method.maps)
    depth_scale = None if request.step is None else DepthScale.parse(request.step)
    max_memory = None if request.max_memory is None else parse_size("--max-memory", request.max_memory)
    _check_together(request)
    return Options(name, method, settings, refinement, jpeg, slabs, depth_scale, max_memory)


def without_effect(request: Request) -> list[str]:
    """Return a line for every option that changes nothing of what is written: nobody shall believe it did."""
    outputs, usual = request.outputs, Request(inputs=(), outputs=request.outputs)
    pictures = [path for path in (outputs.image, *outputs.applied) if path]
    no_jpeg = not any(path.suffix.lower() in (".jpg", ".jpeg") for path in pictures)
    no_depth = not (outputs.depth or outputs.depth_colour or outputs.report)
    return [
        f"--{name.replace('_', '-')} {getattr(request, name)} has no effect: {why}"
        for name, idle, why in (
            ("jpeg_quality", no_jpeg, "no JPEG is written"),
            ("jpeg_subsampling", no_jpeg, "no JPEG is written"),
            ("step", no_depth, "it is the unit of depth, which is not written"),
            ("borders", request.align == "off", "with --align off no frame is moved"),
        )
        if idle and getattr(request, name) != getattr(usual, name)
    ]


def _check_together(request: Request) -> None:
    check_retouch(request)
    for option, given in (("--apply-to", request.apply_to), ("--slabs", request.slabs)):
        if request.skip_bad and given:
            raise InputError(
                f"--skip-bad with {option}: frames are counted there; leave bad ones out yourself"
            )


def _check_applied(request: Request, maps: Sequence[str]) -> None:
    n_sets, n_outputs = len(request.apply_to), len(request.outputs.applied)
    if n_sets != n_outputs:
        raise InputError(
            f"--apply-to is given {n_sets} times, --apply-output {n_outputs} times; they go in pairs"
        )
    if n_sets and "labels" not in maps:
        raise InputError("--apply-to: this method gives no labels that could be applied; choose another")
    if n_sets and (request.refine or request.refine_strength is not None):
        raise InputError("--apply-to with --refine: what is applied is not refined; leave one of them out")


def _slab_size(request: Request) -> tuple[int, int] | None:
    if request.slabs is None:
        return None
    match = re.fullmatch(r"(\d{1,6}):(\d{1,6})", request.slabs.strip())
    if not match:
        raise InputError(f"--slabs {request.slabs}: needed are two whole numbers, SIZE:OVERLAP, such as 10:3")
    if request.outputs.confidence:
        raise InputError(
            "--slabs with --confidence: where slabs overlap either may be right; leave one of them out"
        )
    return int(match[1]), int(match[2])


def parse_method_texts(request: Request) -> dict[str, str]:
    """Return the typed settings of the method, by name. The dictionary is one of them."""
    from panfocus.methods import parse_assignments

    texts = parse_assignments(request.settings)
    if "dictionary" in texts:
        raise InputError("Choose the dictionary by `dictionary`, not by `settings`.", setting="dictionary")
    if request.dictionary:
        texts["dictionary"] = str(request.dictionary)
    return texts


def _method_options(method: str, request: Request) -> dict[str, Any]:
    """Return the settings of the method in their types."""
    from panfocus.methods import parse_settings, setting_names

    texts = parse_method_texts(request)
    if request.dictionary and "dictionary" not in setting_names(method):
        raise InputError(
            f"The method {method} takes no `dictionary`.", setting="dictionary", got=str(request.dictionary)
        )
    return parse_settings(method, texts)


def _refine_options(refine: bool, strength: float | None) -> dict[str, Any]:
    if strength is None:
        return {"refine": refine}
    if not 0 <= strength < math.inf:
        raise InputError(f"--refine-strength must be a number from 0 upwards, got {strength}")
    return {"refine": True, "refine_strength": strength}
