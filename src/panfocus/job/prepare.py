"""Check a request and plan the work, without reading pixels."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from panfocus.errors import InputError, Notice, usage_errors, warnings_as_notes
from panfocus.job.inputs import (
    FrameSource,
    check_microscopy_options,
    check_same_size,
    find_frames,
    find_reference,
)
from panfocus.job.memory_plan import ENCODED, MemoryPlan, make_plan
from panfocus.job.request import Request
from panfocus.job.write_outputs import DepthScale, check_bits, output_dtype

if TYPE_CHECKING:
    from panfocus.methods import FusionMethod
    from panfocus.preprocess.frame_checks import BadFrames
    from panfocus.retouch import Strokes
    from panfocus.stack import Acquisition


@dataclass(frozen=True, eq=False)
class Job:
    """A checked request: everything that is known before the first frame is read."""

    request: Request
    method_name: str
    method: "FusionMethod"
    source: FrameSource
    others: list[FrameSource]  # sets of frames to which the decisions are applied
    bad: "BadFrames"  # policy for unusable frames
    reference: int | None  # number of the frame to which others are aligned; None: the middle
    spans: tuple[range, ...]  # frames of each slab
    separate: tuple[str, ...]  # names of the channels that are fused separately
    maps: list[str]  # maps and layers to compute
    depth_scale: DepthScale
    strokes: "Strokes | None"
    plan: MemoryPlan

    @property
    def warnings(self) -> list[str]:
        """Warnings so far: files and frames that were skipped."""
        return _warnings([self.source, *self.others], self.bad)


def prepare(request: Request, *, force: bool, every_map: bool = False) -> Job:
    """Check everything except the pixels, and plan the work.

    With `every_map` the job computes all maps of its method and its votes, whether files need them or not.
    """
    from panfocus.channels import separate_channels
    from panfocus.preprocess.frame_checks import BadFrames
    from panfocus.tiling.tiled import layers_of

    bad = BadFrames(skip=request.skip_bad)
    sources: list[FrameSource] = []
    with warnings_as_notes(lambda: _warnings(sources, bad)):
        with usage_errors():
            name, method = check_options(request)
            source = find_frames(request.inputs, request, channel=request.channel, bad=bad)
            sources.append(source)
            if len(source.headers) == 1 and not bad.dropped:
                raise InputError(
                    f"Fusion needs at least two frames; {source.paths[0]} is only one.", file=source.paths[0]
                )
            check_microscopy_options(request, source)
            reference = find_reference(request.reference, source.headers)
            spans = _slab_spans(request, len(source.headers))
            request.outputs.check_names(len(spans))
            sources += (find_frames(inputs, request) for inputs in request.apply_to)
        _check_destinations(request, sources, len(spans), force=force)
        check_same_size(source, sources[1:])
        _check_formats(request, sources, reference or 0)
        separate = separate_channels(
            request.decide_channels, source.blank_frames.shape, _acquisition(source, reference)
        )
        offered = () if spans or separate else layers_of(method)
        maps, layers = _needed_maps(request, method.maps, offered, every_map=every_map)
        plan = _plan(
            request, name, method, source, maps, n_layers=len(layers), spans=spans, n_separate=len(separate)
        )
        _check_disk_space(request, plan, source, sources[1:])
        scale = DepthScale.parse(request.step) if request.step else None
        return Job(
            request=request,
            method_name=name,
            method=method,
            source=source,
            others=sources[1:],
            bad=bad,
            reference=reference,
            spans=spans,
            separate=separate,
            maps=[*maps, *layers],
            depth_scale=scale or DepthScale.of(_acquisition(source)),
            strokes=_read_strokes(request, source),
            plan=plan,
        )


def _acquisition(source: FrameSource, reference: int | None = None) -> "Acquisition | None":
    """Return channels and pixel sizes of a frame, if its file is from a microscope."""
    from panfocus.io.headers import read_metadata

    return read_metadata(source.headers[reference or 0]).acquisition


def _read_strokes(request: Request, source: FrameSource) -> "Strokes | None":
    if request.retouch is None:
        return None
    from panfocus.job.retouching import read_strokes

    return read_strokes(request, source.blank_frames)


def _slab_spans(request: Request, n_frames: int) -> tuple[range, ...]:
    if request.slabs is None:
        return ()
    from panfocus.slabs import slab_spans

    size = parse_slabs(request.slabs)
    return slab_spans(n_frames, *size) if size else ()


def _warnings(sources: Sequence[FrameSource], bad: "BadFrames") -> list[str]:
    return [*(line for source in sources for line in source.skipped), *bad.warnings]


def check_options(request: Request) -> "tuple[str, FusionMethod]":
    """Refuse options that are wrong for any frames; return the name of the method, and the method."""
    from panfocus._checks import check_choice, check_integer
    from panfocus.channels import CHOICES as CHANNEL_CHOICES
    from panfocus.io.jpeg_webp import JpegSettings
    from panfocus.methods import DEFAULT_METHOD, get_method
    from panfocus.preprocess.corrections import check_corrections
    from panfocus.registration import BORDERS, CHOICES

    request.outputs.check_names()
    name = DEFAULT_METHOD if request.method is None else request.method
    method = get_method(name, **_method_settings(name, request))
    request.outputs.check_maps(name, method.maps)
    if request.refine_strength is not None:
        from panfocus.refine import check_strength

        check_strength(request.refine_strength)
    check_choice("align", request.align, ("off", *CHOICES))
    check_choice("borders", request.borders, BORDERS)
    check_corrections(request.hot_pixels, request.exposure)
    check_choice("decide_channels", request.decide_channels, CHANNEL_CHOICES)
    check_bits(request.bits)
    JpegSettings(request.jpeg_quality, request.jpeg_subsampling)
    for setting, number in (("channel", request.channel), ("time", request.time)):
        if number is not None:
            check_integer(setting, number, at_least=1)
    if request.step is not None:
        DepthScale.parse(request.step)
    parse_slabs(request.slabs)
    _check_apply_to(request, method.maps)
    _check_combinations(request)
    return name, method


def is_refined(request: Request) -> bool:
    """Whether the image is refined; a strength implies it."""
    return request.refine or request.refine_strength is not None


def parse_slabs(text: str | None) -> tuple[int, int] | None:
    """Return size and overlap of slabs, written as SIZE:OVERLAP."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,6}):(\d{1,6})", text.strip())
    if not match:
        raise InputError(
            f"`slabs` must be two whole numbers, SIZE:OVERLAP, such as 10:3; got {text!r}.",
            setting="slabs",
            got=text,
        )
    return int(match[1]), int(match[2])


def unused_options(request: Request) -> list[Notice]:
    """Return a notice for every option that has no effect on this request."""
    outputs, defaults = request.outputs, Request(inputs=(), outputs=request.outputs)
    pictures = [path for path in (outputs.image, *outputs.applied) if path]
    no_jpeg = not any(path.suffix.lower() in (".jpg", ".jpeg") for path in pictures)
    no_depth = not (outputs.depth or outputs.depth_colour or outputs.report)
    notices = [
        Notice(f"`{name}` has no effect: {reason}.")
        for name, is_unused, reason in (
            ("jpeg_quality", no_jpeg, "no JPEG is written"),
            ("jpeg_subsampling", no_jpeg, "no JPEG is written"),
            ("step", no_depth, "depth is not written"),
            ("borders", request.align == "off", "the frames are not aligned"),
        )
        if is_unused and getattr(request, name) != getattr(defaults, name)
    ]
    if request.align == "off" and request.reference is not None:
        notices.append(Notice("`reference` chooses only whose metadata is kept: the frames are not aligned."))
    return notices


def _check_combinations(request: Request) -> None:
    """Refuse options that cannot be combined."""
    for first, is_first, second, is_second in (
        ("slabs", request.slabs, "confidence", request.outputs.confidence),
        ("skip_bad", request.skip_bad, "apply_to", request.apply_to),
        ("skip_bad", request.skip_bad, "slabs", request.slabs),
        ("apply_to", request.apply_to, "refine", is_refined(request)),
        ("retouch", request.retouch, "preview", request.preview),
        ("retouch", request.retouch, "apply_to", request.apply_to),
        ("retouch", request.retouch, "skip_bad", request.skip_bad),
    ):
        if is_first and is_second:
            raise InputError(f"`{first}` cannot be combined with `{second}`.", setting=first, other=second)


def _check_apply_to(request: Request, maps: Sequence[str]) -> None:
    n_sets, n_outputs = len(request.apply_to), len(request.outputs.applied)
    if n_sets != n_outputs:
        raise InputError(
            f"`apply_to` and `apply_output` must be given equally often, got {n_sets} and {n_outputs}.",
            setting="apply_to",
            got=(n_sets, n_outputs),
        )
    if n_sets and "labels" not in maps:
        raise InputError(
            "`apply_to` needs a method that computes labels. Choose another method.", setting="apply_to"
        )


def parse_method_texts(request: Request) -> dict[str, str]:
    """Return the settings of the method as texts by name; the dictionary is one of them."""
    from panfocus.methods import parse_assignments

    texts = parse_assignments(request.settings)
    if "dictionary" in texts:
        raise InputError("Choose the dictionary by `dictionary`, not by `settings`.", setting="dictionary")
    if request.dictionary:
        texts["dictionary"] = str(request.dictionary)
    return texts


def _method_settings(method: str, request: Request) -> dict[str, Any]:
    """Return the settings of the method, converted to their types."""
    from panfocus.methods import parse_settings, setting_names

    texts = parse_method_texts(request)
    if request.dictionary and "dictionary" not in setting_names(method):
        raise InputError(
            f"The method {method} takes no `dictionary`.", setting="dictionary", got=str(request.dictionary)
        )
    return parse_settings(method, texts)


def _check_destinations(
    request: Request, sources: Sequence[FrameSource], n_slabs: int, *, force: bool
) -> None:
    """Refuse output files that cannot be written or would overwrite something."""
    from panfocus.io.atomic_files import check_destination

    inputs = [path for source in sources for path in source.paths]
    inputs += filter(None, (request.dictionary, request.retouch))
    for path in request.outputs.files(n_slabs).values():
        check_destination(path, force=force, inputs=inputs)
    request.outputs.check_steps(n_slabs, inputs, force=force)


def _check_formats(request: Request, sources: Sequence[FrameSource], reference: int) -> None:
    """Refuse file formats that cannot hold the images."""
    from panfocus._checks import blank
    from panfocus.io.encode import check_format
    from panfocus.io.headers import read_metadata

    images = (request.outputs.picture, *request.outputs.applied)
    for path, source in zip(images, sources, strict=True):
        first = source.headers[0].frame.image
        written = blank(first.shape, output_dtype(request.bits, first.dtype))
        check_format(path, written, read_metadata(source.headers[reference]))


def _plan(
    request: Request,
    name: str,
    method: "FusionMethod",
    source: FrameSource,
    maps: Sequence[str],
    *,
    n_layers: int,
    spans: Sequence[range],
    n_separate: int,
) -> MemoryPlan:
    return make_plan(
        name,
        method,
        source.blank_frames,
        # Maps of separate channels are merged by confidence, whether they are wanted or not.
        maps=[kept for kept in (method.maps if n_separate else maps) if kept in ENCODED],
        refine=is_refined(request),
        align=request.align != "off",
        max_memory=request.max_memory,
        n_layers=n_layers,
        spans=spans,
        n_separate=n_separate,
        reduced_from=source.headers[0].frame.image.nbytes if source.reduce > 1 else None,
    )


def _check_disk_space(
    request: Request, plan: MemoryPlan, source: FrameSource, others: Sequence[FrameSource]
) -> None:
    """Refuse frames that do not fit on the scratch disk."""
    on_disk = 0 if plan.in_memory else source.blank_frames.nbytes
    on_disk += max((other.blank_frames.nbytes for other in others), default=0)  # one set at a time
    if on_disk:
        from panfocus.io.disk_array import check_room

        check_room(on_disk * (1 if request.align == "off" else 2))  # aligned frames take the same again


def _needed_maps(
    request: Request, maps: Sequence[str], layers: Sequence[str], *, every_map: bool
) -> tuple[list[str], list[str]]:
    """Return the maps and layers of the method that the outputs need."""
    needed = request.outputs.maps()
    if request.apply_to:
        needed |= {"votes"} if "votes" in layers else {"labels"}
    if request.outputs.steps:
        needed |= {*maps, *layers}
    if every_map:
        needed |= {*maps, "votes"}
    return [name for name in maps if name in needed], [name for name in layers if name in needed]
