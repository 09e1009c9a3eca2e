"""A request that has been checked, as far as can be without reading pixels: what there is to do, and how."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.errors import InputError, usage_errors
from panfocus.job.align import check_align, find_reference
from panfocus.job.bits import check_bits, written_dtype
from panfocus.job.contents import Writing
from panfocus.job.lengths import DepthScale
from panfocus.job.plan import ENCODED, Plan, make_plan
from panfocus.job.request import Request
from panfocus.job.retouch import check_retouch, read_strokes
from panfocus.job.sizes import parse_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from panfocus.io.raster import JpegSettings
    from panfocus.io.read import Header
    from panfocus.io.stack_checks import BadFrames
    from panfocus.methods import FusionMethod
    from panfocus.retouch import Strokes

PREVIEW_SIDE = 1000  # pixels, at most


@dataclass(frozen=True, eq=False)
class Source:
    """A set of frames that was found: the one that is fused, or another that follows it."""

    paths: list[Path]
    headers: "list[Header]"
    reduce: int  # factor by which frames are made smaller

    @property
    def used(self) -> list[Path]:
        """The files that frames come from: those of `paths` that could be read and fit, repeats too."""
        read = {header.path for header in self.headers}
        return [path for path in self.paths if path in read]

    @property
    def like_frames(self) -> "NDArray[Any]":
        """What reading will give, blank and without memory."""
        from panfocus._checks import blank
        from panfocus._reduce import reduced_size

        first = self.headers[0].frame.image
        return blank((len(self.headers), *reduced_size(first.shape, self.reduce)), first.dtype)


@dataclass(frozen=True, eq=False)
class Job:
    """What is known before the first frame is read."""

    request: Request
    source: Source
    bad: "BadFrames"  # what is done with frames that cannot be used
    others: list[Source]  # to which the decision is applied
    reference: int | None  # among the headers, to which frames are aligned; None for the middle
    spans: tuple[range, ...]  # frames of each slab; none without slabs
    method_name: str
    method: "FusionMethod"
    method_options: dict[str, Any]
    refinement: dict[str, Any]
    maps: list[str]  # and layers
    depth_scale: DepthScale
    jpeg: "JpegSettings"
    strokes: "Strokes | None"
    plan: Plan

    @property
    def writing(self) -> Writing:
        """How its results are written."""
        return Writing(
            outputs=self.request.outputs,
            n_slabs=len(self.spans),
            depth_scale=self.depth_scale,
            jpeg=self.jpeg,
            bits=self.request.bits,
        )


def prepare(request: Request, *, force: bool, warn: Callable[[str], None], every_map: bool = False) -> Job:
    """Check everything but the pixels, and plan the work; `warn` is told of frames that are left out.

    With `every_map` the job gives all maps that its method has, and its votes, wanted in files or not.
    """
    from panfocus._checks import blank
    from panfocus.execute import layers_of
    from panfocus.io.files import check_destination
    from panfocus.io.read import read_metadata
    from panfocus.io.scratch import check_room
    from panfocus.io.stack_checks import BadFrames
    from panfocus.io.write import check_format
    from panfocus.slabs import slab_spans

    outputs, dictionary = request.outputs, request.dictionary
    with usage_errors():
        options = checked_options(request)
        name, method, slabs = options.method_name, options.method, options.slabs
        bad = BadFrames(skip=request.skip_bad, warn=warn)
        source = _found(request.inputs, request, warn, channel=request.channel, bad=bad)
        if len(source.headers) < 2:
            raise InputError(f"fusion needs at least two frames, got only {source.paths[0]}")
        reference = find_reference(request.reference, source.headers)
        spans = slab_spans(len(source.headers), *slabs) if slabs else ()
        outputs.check_names(len(spans))
        others = [_found(inputs, request, warn) for inputs in request.apply_to]
    every_input = [
        *(path for found in (source, *others) for path in found.paths),
        *filter(None, (dictionary, request.retouch)),
    ]
    for path in outputs.files(len(spans)).values():
        check_destination(path, force=force, inputs=every_input)
    outputs.check_steps(force=force)
    _check_alike(source, others)
    for path, found in zip((outputs.picture, *outputs.applied), (source, *others), strict=True):
        like = found.headers[0].frame.image
        written = blank(like.shape, written_dtype(request.bits, like.dtype))
        check_format(path, written, read_metadata(found.headers[reference or 0]))
    maps, layers = _needed(request, method.maps, () if spans else layers_of(method), every_map=every_map)
    like_frames = source.like_frames
    plan = make_plan(
        name,
        method,
        like_frames,
        maps=[kept for kept in maps if kept in ENCODED],
        refine=options.refinement["refine"],
        align=request.align != "off",
        max_memory=options.max_memory,
        n_layers=len(layers),
        spans=spans,
        reduced_from=source.headers[0].frame.image.nbytes if source.reduce > 1 else None,
    )
    on_disk = 0 if plan.in_memory else like_frames.nbytes
    on_disk += max((other.like_frames.nbytes for other in others), default=0)  # one set after the other
    if on_disk:
        check_room(on_disk * (1 if request.align == "off" else 2))  # and once more, aligned
    return Job(
        request=request,
        source=source,
        bad=bad,
        others=others,
        reference=reference,
        spans=spans,
        method_name=name,
        method=method,
        method_options=options.settings,
        refinement=options.refinement,
        maps=[*maps, *layers],
        depth_scale=options.depth_scale or DepthScale.of(read_metadata(source.headers[0]).acquisition),
        jpeg=options.jpeg,
        strokes=read_strokes(request, like_frames),
        plan=plan,
    )


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
    from panfocus._checks import one_of
    from panfocus.io.raster import jpeg_settings
    from panfocus.methods import DEFAULT_METHOD, get_method
    from panfocus.pipeline import EXPOSURE, HOT_PIXELS

    request.outputs.check_names()
    name = request.method or DEFAULT_METHOD
    settings = _method_options(name, request.settings, request.dictionary)
    method = get_method(name, **settings)
    request.outputs.check_maps(name, method.maps)
    refinement = _refine_options(request.refine, request.refine_strength)
    check_align(request.align, request.borders)
    check_bits(request.bits)
    jpeg = jpeg_settings(request.jpeg_quality, request.jpeg_subsampling)
    one_of("--hot-pixels", request.hot_pixels, HOT_PIXELS)
    one_of("--exposure", request.exposure, EXPOSURE)
    slabs = _slab_size(request)
    _check_applied(request, method.maps)
    depth_scale = DepthScale.parse(request.step) if request.step else None
    max_memory = None if request.max_memory is None else parse_size(request.max_memory)
    _check_together(request)
    return Options(name, method, settings, refinement, jpeg, slabs, depth_scale, max_memory)


def _needed(
    request: Request, maps: Sequence[str], layers: Sequence[str], *, every_map: bool
) -> tuple[list[str], list[str]]:
    """Choose, of the maps and layers that a method gives, those that the outputs are made of."""
    outputs = request.outputs
    needed = outputs.maps()
    if request.apply_to:
        needed |= {"votes"} if "votes" in layers else {"labels"}
    if outputs.steps:
        needed |= {*maps, *layers}
    if every_map:
        needed |= {*maps, "votes"}
    return [name for name in maps if name in needed], [name for name in layers if name in needed]


def _found(
    inputs: Sequence[str],
    request: Request,
    warn: Callable[[str], None],
    *,
    channel: int | None = None,
    bad: "BadFrames | None" = None,
) -> Source:
    from panfocus._reduce import reduction
    from panfocus.io.find import find_inputs
    from panfocus.io.read import fitting_headers, read_headers

    if not inputs:
        raise InputError("Missing argument 'INPUT'")
    paths = find_inputs(inputs, warn=warn)
    headers = read_headers(paths, bad, channel=channel, time=request.time)
    if bad and bad.skip:
        headers = fitting_headers(headers, bad)
    size = headers[0].frame.image.shape
    return Source(paths, headers, reduction(size, PREVIEW_SIDE) if request.preview else 1)


def _check_together(request: Request) -> None:
    check_retouch(request)
    for option, given in (("--apply-to", request.apply_to), ("--slabs", request.slabs)):
        if request.skip_bad and given:
            raise InputError(
                f"--skip-bad with {option}: frames are counted there; leave bad ones out yourself"
            )


def _check_alike(source: Source, others: Sequence[Source]) -> None:
    """Refuse frames that are no stack, and others that do not match it one by one."""
    from panfocus.io.read import check_headers

    expected = source.like_frames.shape[:3]
    for found in (source, *others):
        check_headers(found.headers)
        n_frames, height, width = found.like_frames.shape[:3]
        if (n_frames, height, width) != expected:
            raise InputError(
                f"--apply-to: {found.headers[0].name} is the first of {n_frames} frames of {width} x "
                f"{height}, the fused ones are {expected[0]} of {expected[2]} x {expected[1]}; "
                "needed are as many, of the same size"
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
