"""A request that has been checked, as far as can be without reading pixels: what there is to do, and how."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from panfocus.errors import InputError, usage_errors
from panfocus.job.alignment import find_reference
from panfocus.job.bit_depth import written_dtype
from panfocus.job.depth_scale import DepthScale
from panfocus.job.inputs import Source, check_alike, check_chosen, find_source
from panfocus.job.memory_plan import ENCODED, Plan, make_plan
from panfocus.job.options import Options, checked_options
from panfocus.job.request import Request
from panfocus.job.retouch import read_strokes
from panfocus.job.write_outputs import Writing

if TYPE_CHECKING:
    from panfocus.io.jpeg_webp import JpegSettings
    from panfocus.methods import FusionMethod
    from panfocus.preprocess.frame_checks import BadFrames
    from panfocus.retouch import Strokes


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
    from panfocus.io.headers import read_metadata
    from panfocus.preprocess.frame_checks import BadFrames
    from panfocus.slabs import slab_spans
    from panfocus.tiling import layers_of

    with usage_errors():
        options = checked_options(request)
        bad = BadFrames(skip=request.skip_bad, warn=warn)
        source = find_source(request.inputs, request, warn, channel=request.channel, bad=bad)
        if len(source.headers) < 2:
            raise InputError(f"fusion needs at least two frames, got only {source.paths[0]}")
        check_chosen(request, source)
        reference = find_reference(request.reference, source.headers)
        spans = slab_spans(len(source.headers), *options.slabs) if options.slabs else ()
        request.outputs.check_names(len(spans))
        others = [find_source(inputs, request, warn) for inputs in request.apply_to]
    _check_destinations(request, [source, *others], len(spans), force=force)
    check_alike(source, others)
    _check_formats(request, [source, *others], reference or 0)
    given = () if spans else layers_of(options.method)
    maps, layers = _needed(request, options.method.maps, given, every_map=every_map)
    plan = _planned(request, options, source, maps, n_layers=len(layers), spans=spans)
    _check_room(request, plan, source, others)
    return Job(
        request=request,
        source=source,
        bad=bad,
        others=others,
        reference=reference,
        spans=spans,
        method_name=options.method_name,
        method=options.method,
        method_options=options.settings,
        refinement=options.refinement,
        maps=[*maps, *layers],
        depth_scale=options.depth_scale or DepthScale.of(read_metadata(source.headers[0]).acquisition),
        jpeg=options.jpeg,
        strokes=read_strokes(request, source.like_frames),
        plan=plan,
    )


def _check_destinations(request: Request, sources: Sequence[Source], n_slabs: int, *, force: bool) -> None:
    """Refuse files that cannot be written, or would replace something to be kept."""
    from panfocus.io.atomic_files import check_destination

    inputs = [path for source in sources for path in source.paths]
    inputs += filter(None, (request.dictionary, request.retouch))
    for path in request.outputs.files(n_slabs).values():
        check_destination(path, force=force, inputs=inputs)
    request.outputs.check_steps(n_slabs, inputs, force=force)


def _check_formats(request: Request, sources: Sequence[Source], reference: int) -> None:
    """Refuse formats that cannot hold the pictures."""
    from panfocus._checks import blank
    from panfocus.io.encode import check_format
    from panfocus.io.headers import read_metadata

    pictures = (request.outputs.picture, *request.outputs.applied)
    for path, source in zip(pictures, sources, strict=True):
        like = source.headers[0].frame.image
        written = blank(like.shape, written_dtype(request.bits, like.dtype))
        check_format(path, written, read_metadata(source.headers[reference]))


def _planned(
    request: Request,
    options: Options,
    source: Source,
    maps: Sequence[str],
    *,
    n_layers: int,
    spans: Sequence[range],
) -> Plan:
    return make_plan(
        options.method_name,
        options.method,
        source.like_frames,
        maps=[kept for kept in maps if kept in ENCODED],
        refine=options.refinement["refine"],
        align=request.align != "off",
        max_memory=options.max_memory,
        n_layers=n_layers,
        spans=spans,
        reduced_from=source.headers[0].frame.image.nbytes if source.reduce > 1 else None,
    )


def _check_room(request: Request, plan: Plan, source: Source, others: Sequence[Source]) -> None:
    """Refuse frames that the disk has no room for while they are worked on."""
    from panfocus.io.disk_array import check_room

    on_disk = 0 if plan.in_memory else source.like_frames.nbytes
    on_disk += max((other.like_frames.nbytes for other in others), default=0)  # one set after the other
    if on_disk:
        check_room(on_disk * (1 if request.align == "off" else 2))  # and once more, aligned


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
