"""Check the fusion of a store before any pixel is read, and plan it."""

import dataclasses
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus._checks import blank, check_choice, check_kind
from panfocus.errors import FileError, InputError, usage_errors
from panfocus.io.atomic_files import check_destination, check_store_destination, digest
from panfocus.io.input_files import ZARR_SUFFIXES, is_zarr
from panfocus.io.ome_zarr import is_zipped, store_state
from panfocus.io.tiled_tiff import TIFF_SUFFIXES, open_large_image
from panfocus.job.memory_plan import format_size
from panfocus.job.prepare import parse_method_texts
from panfocus.job.request import Request
from panfocus.job.write_outputs import DepthScale
from panfocus.result import MAPS
from panfocus.tiled_store.checkpoint import find_checkpoint
from panfocus.tiled_store.outputs import find_committed
from panfocus.tiled_store.tile_plan import (
    DEFAULT_MEMORY,
    choose_chunk_side,
    has_separate_channels,
    list_units,
    search_side,
)

if TYPE_CHECKING:
    from panfocus.io.ome_zarr import ZarrFrames, ZarrImage
    from panfocus.methods import FusionMethod
    from panfocus.parallel import Cluster

_SUPPORTED = {"inputs", "outputs", "method", "settings", "dictionary", "hot_pixels", "align", "exposure"}
_SUPPORTED |= {"decide_channels", "step", "channel", "time", "max_memory", "threads"}
_SUPPORTED_OUTPUTS = {"image", "report", *MAPS}
_URL = re.compile(r"\w[\w+.-]+:/")  # a path keeps one of its slashes; one letter is a drive of Windows
_NEEDS_WHOLE = "it needs the whole image at once, and stores are fused tile by tile"
_REASONS = {  # other reasons why a setting is refused
    "reference": "slices of a store are not aligned",
    "borders": "slices of a store are not aligned",
    "bits": "the output has the data type of the slices",
    "skip_bad": "slices cannot be skipped",
    "jpeg_quality": "no JPEG is written",
    "jpeg_subsampling": "no JPEG is written",
}


@dataclass(frozen=True)
class StoreJob:
    """A checked fusion of a store."""

    request: Request
    image: "ZarrImage"
    outputs: dict[str, Path]  # image and maps, by kind
    targets: dict[str, Path]  # final paths of all outputs, including the report
    folder: Path  # the checkpoint; absolute, because workers may have another working directory
    plan: dict[str, Any]  # plain data for the workers; a run with the same plan can be resumed
    max_memory: int  # bytes, for each worker
    missing: int  # number of chunks of the input without a file

    @property
    def notices(self) -> list[str]:
        """Notices about the input, and about metadata that a TIFF output cannot hold."""
        from panfocus.io.tiff_writer import describe_tiff_losses

        to_tiff = any(path.suffix.lower() in TIFF_SUFFIXES for path in self.outputs.values())
        return [*self.image.notices, *(describe_tiff_losses(self.image) if to_tiff else [])]


def _checkpoint_path(output: Path) -> Path:
    return output.with_name(f"{output.name}.part")


def prepare(request: Request, *, force: bool, cluster: "Cluster | None" = None) -> StoreJob:
    """Check everything but the pixels, and plan the fusion for the memory of the workers."""
    from panfocus.show.pyramid import n_levels

    with usage_errors():
        check_settings(request)
        max_memory, limit = _memory_limit(request, cluster)
        settings = _method_settings(request)
        outputs = _output_paths(request)
    image = _open_image(Path(request.inputs[0]))
    separate = has_separate_channels(image, request.decide_channels, request.channel)
    units = list_units(image, request.channel, request.time, separate=separate)
    frames = image.frames(units[0].time, units[0].channels)  # other units have the same shape and type
    _check_frames(frames)
    method = _get_method(request, settings, frames)
    report = request.outputs.report
    paths = {**outputs, "report": report} if report else outputs
    targets = {k: path.resolve() if path.is_symlink() else path.absolute() for k, path in paths.items()}
    folder = _checkpoint_path(outputs["image"].absolute())
    earlier = find_checkpoint(folder)
    committed = find_committed(earlier, targets) if earlier else set()
    _check_destinations(request, paths, committed, force=force)
    state = store_state(image)
    plan = {
        **_origin(request, image, settings),
        "state": state.digest,
        "decide_channels": "separate" if separate else "together",
        "units": [[unit.time, list(unit.channels)] for unit in units],
        "size": [frames.shape[1], frames.shape[2]],
        "levels": n_levels(frames.shape[1], frames.shape[2]),
        "chunk": choose_chunk_side(method, frames, max_memory, limit),
        "searched": search_side(image),
        "max_memory": max_memory,
        "outputs": list(outputs),
    }
    if earlier and not request.max_memory and _needs_less_memory(earlier.plan, plan):
        plan = earlier.plan  # the present workers can resume it
    if earlier and earlier.plan != plan:
        _check_destinations(request, paths, (), force=force)
    missing = image.count_missing(state.n_files)
    return StoreJob(request, image, outputs, targets, folder, plan, plan["max_memory"], missing)


def _memory_limit(request: Request, cluster: "Cluster | None") -> tuple[int, str]:
    """Return the bytes that a worker may use, and a phrase that names the limit.

    The limit is `max_memory`, or the memory of the smallest worker of a cluster, or the default.
    """
    smallest = cluster.smallest_worker() if cluster and not request.max_memory else None
    if not smallest:
        return request.max_memory or DEFAULT_MEMORY, "`max_memory` allows"
    threads = "1 thread" if smallest.threads == 1 else f"{smallest.threads} threads"
    worker = f"a worker with a limit of {format_size(smallest.limit)} and {threads}"
    return smallest.task_bytes, f"a task on {worker} may use"


def _needs_less_memory(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether two plans differ only in memory, and the earlier one needs no more."""
    sizes = {name: earlier.get(name) for name in ("chunk", "max_memory")}
    return {**now, **sizes} == earlier and earlier["max_memory"] <= now["max_memory"]


def _open_image(source: Path) -> "ZarrImage":
    if is_zipped(source):
        raise InputError(f"{source}: Zipped stores are not supported. Unpack it.", file=source)
    if source.exists() and not is_zarr(source) and source.suffix.lower() not in TIFF_SUFFIXES:
        raise InputError(
            f"{source}: A store can be made only from another store or from a TIFF z-stack. Choose another "
            "output format.",
            file=source,
        )
    return open_large_image(source)


def _check_frames(frames: "ZarrFrames") -> None:
    """Raise if there are too few slices, or if their pixels are not supported."""
    source = frames.image.path
    if len(frames) < 2:
        raise InputError(
            f"{source}: Fusion needs at least two slices, got {len(frames)}.",
            file=source,
            frames=len(frames),
            needed=2,
        )
    alike = blank(frames.shape[1:], frames.dtype)
    check_kind(alike, str(source), alike, str(source))


def _check_destinations(
    request: Request, paths: Mapping[str, Path], committed: Container[str], *, force: bool
) -> None:
    """Raise if an output cannot be written, or would overwrite something.

    Outputs in `committed` were written by the same run before it was killed.
    """
    source = Path(request.inputs[0])
    for path in (path for kind, path in paths.items() if kind not in committed):
        if path == request.outputs.report or path.suffix.lower() in TIFF_SUFFIXES:
            if source.resolve() in path.resolve().parents:
                raise FileError(f"{path}: The path lies in the input. Choose another one.", file=path)
            check_destination(path, force=force, inputs=(source,))
        else:
            check_store_destination(path, force=force, inputs=(source,))


def _origin(request: Request, image: "ZarrImage", settings: dict[str, str]) -> dict[str, Any]:
    """Return everything that the result depends on, as plain data."""
    from panfocus import __version__
    from panfocus.methods import DEFAULT_METHOD

    dictionary = settings.get("dictionary")
    scale = _depth_scale(request, image)
    return {
        "panfocus": __version__,
        "source": str(image.path.absolute()),
        "method": request.method or DEFAULT_METHOD,
        "settings": settings,
        "dictionary": digest(Path(dictionary)) if dictionary and Path(dictionary).is_file() else None,
        "hot_pixels": request.hot_pixels,
        "exposure": request.exposure,
        "step": scale.step,
        "unit": scale.unit,
    }


def _depth_scale(request: Request, image: "ZarrImage") -> DepthScale:
    """Return the distance between slices: `step`, or from the z axis if that has a unit."""
    if request.step:
        return DepthScale.parse(request.step)
    # Stores state units themselves, so any unit is kept. Depth maps in files (`DepthScale.of`) are only in
    # um, mm or frames: slices that are nanometers apart give other numbers there.
    axis = image.axis("z")
    return DepthScale(axis.scale, axis.unit) if axis and axis.unit else DepthScale()


def check_settings(request: Request, needed_by: str = "tiled") -> None:
    """Raise if a setting is not supported for stores; `needed_by` is the setting that needs a store."""
    from panfocus.channels import CHOICES as CHANNEL_CHOICES
    from panfocus.preprocess.corrections import check_corrections

    paths = [Path(path) for path in (*request.inputs, request.outputs.image) if path]
    from_tiff_to_tiff = len(paths) == 2 and all(path.suffix.lower() in TIFF_SUFFIXES for path in paths)
    if not from_tiff_to_tiff and not any(map(is_zarr, paths)):
        raise InputError(
            f"`{needed_by}` needs an OME-Zarr store, or one TIFF that is fused to a TIFF.", setting=needed_by
        )
    if len(request.inputs) != 1:
        raise InputError(
            f"Only one store can be fused at a time, got {len(request.inputs)} inputs.",
            got=len(request.inputs),
        )
    for path in (*request.inputs, *map(str, request.outputs.files().values())):
        if _URL.match(path):
            raise InputError(f"{path}: Remote stores are not supported. Copy it to a disk.", file=path)
    if request.align not in ("auto", "off"):
        raise InputError(
            f"Slices of a store cannot be aligned (`align` is {request.align!r}). Align them before, and use "
            "off.",
            setting="align",
            got=request.align,
        )
    changed = [
        field.name
        for field in dataclasses.fields(Request)
        if field.default is not dataclasses.MISSING and getattr(request, field.name) != field.default
    ]
    unsupported = [name for name in changed if name not in _SUPPORTED]
    unsupported += [kind for kind in request.outputs.files() if kind not in _SUPPORTED_OUTPUTS]
    unsupported += ["steps"] * (request.outputs.steps is not None)
    if unsupported:
        name = unsupported[0]
        raise InputError(
            f"`{name}` cannot be used for stores: {_REASONS.get(name, _NEEDS_WHOLE)}.", setting=name
        )
    check_choice("decide_channels", request.decide_channels, CHANNEL_CHOICES)
    check_corrections(request.hot_pixels, request.exposure)


def _method_settings(request: Request) -> dict[str, str]:
    """Return the settings of the method as texts, with the absolute path of the dictionary."""
    texts = parse_method_texts(request)
    if request.dictionary and request.dictionary.exists():
        texts["dictionary"] = str(request.dictionary.absolute())
    return texts


def _get_method(request: Request, settings: dict[str, str], frames: "ZarrFrames") -> "FusionMethod":
    """Return the method; raise if it needs the whole image, or lacks a map that is to be written."""
    from panfocus.methods import DEFAULT_METHOD, Surveyor, get_method, parse_settings

    name = request.method or DEFAULT_METHOD
    with usage_errors():
        method = get_method(name, **parse_settings(name, settings))
        height, width = frames.shape[1:3]
        usual = method.plan_surveys((height, width))[0] if isinstance(method, Surveyor) else method
        if usual.halo is None:
            raise InputError(
                f"The method {name} cannot be used for stores: {_NEEDS_WHOLE}. Choose another one, such as "
                "panfocus.",
                setting="method",
                got=name,
            )
    request.outputs.check_maps(name, method.maps)
    return method


def _output_paths(request: Request) -> dict[str, Path]:
    """Return the stores or TIFFs to write, by kind."""
    files = request.outputs.files() | {"image": request.outputs.picture}
    # A folder cannot replace a symbolic link, so the store is made at its target.
    outputs = {
        kind: path.resolve() if path.is_symlink() else path
        for kind, path in files.items()
        if kind in ("image", *MAPS)
    }
    for path in outputs.values():
        if path.suffix.lower() not in (*ZARR_SUFFIXES, *TIFF_SUFFIXES):
            raise InputError(
                f"{path}: The outputs of a store must be stores (.ome.zarr) or TIFFs (.ome.tif).", file=path
            )
    places = [path.resolve() for path in files.values()]
    used = {*places, _checkpoint_path(outputs["image"]).resolve()}
    for path, place in zip(files.values(), places, strict=True):
        if places.count(place) > 1 or set(place.parents) & used:
            raise InputError(
                f"{path}: Two outputs have this path, or it lies in another output. Choose another one.",
                file=path,
            )
    return outputs
