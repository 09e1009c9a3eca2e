"""A run that has been checked before a pixel is read: what there is to do, what tiles cannot do."""

import dataclasses
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.errors import FileError, InputError, usage_errors
from panfocus.job.memory_plan import format_size
from panfocus.job.prepare import parse_method_texts
from panfocus.job.request import Request
from panfocus.job.write_outputs import DepthScale
from panfocus.tiled_store.checkpoint import run_in
from panfocus.tiled_store.commit import placed
from panfocus.tiled_store.tile_plan import DECISIONS, DEFAULT_MEMORY, chunk_side, searched_side, units_of

if TYPE_CHECKING:
    from panfocus.io.ome_zarr import ZarrFrames, ZarrImage
    from panfocus.methods import FusionMethod
    from panfocus.parallel import Cluster

MAPS = ("labels", "confidence", "depth", "never_in_focus")
_TAKEN = {"inputs", "outputs", "method", "settings", "dictionary", "hot_pixels", "align", "exposure", "step"}
_TAKEN |= {"channel", "time", "max_memory", "threads"}
_URL = re.compile(r"\w[\w+.-]+:/")  # of which a path keeps one slash; a single letter is a drive of Windows
_TAKEN_OUTPUTS = {"image", "report", *MAPS}
_WHOLE = "stores are fused tile by tile, and this needs the whole image at once"
_WHY_REFUSED = {  # where it is not that
    "reference": "slices are fused as they lie on each other",
    "borders": "slices are fused as they lie on each other",
    "bits": "the picture has the type of its slices",
    "skip_bad": "no slice is left out, and one that cannot be read ends the run",
    "jpeg_quality": "no JPEG is written",
    "jpeg_subsampling": "no JPEG is written",
}


@dataclass(frozen=True)
class GiantJob:
    """What is known before the first pixel is read."""

    request: Request
    image: "ZarrImage"
    outputs: dict[str, Path]  # the picture and maps, by kind
    plan: dict[str, Any]  # plain data: what workers go by, and by which a run knows that it may go on
    max_memory: int  # bytes of each worker
    missing: int  # chunks of the input that have no file

    @property
    def folder(self) -> Path:
        """Where the run keeps what it has done."""
        return part_of(self.outputs["image"].absolute())  # workers may be in another folder

    @property
    def targets(self) -> dict[str, Path]:
        """Where all outputs are to be in the end, the report too."""
        return targets_of(self.request, self.outputs)

    @property
    def notices(self) -> list[str]:
        """What is to be said of the input, and of what a TIFF among the outputs cannot have of it."""
        from panfocus.io.tiled_tiff import TIFF_SUFFIXES, describe_tiff_losses

        to_tiff = any(path.suffix.lower() in TIFF_SUFFIXES for path in self.outputs.values())
        return [*self.image.notices, *(describe_tiff_losses(self.image) if to_tiff else [])]


def part_of(picture: Path) -> Path:
    """Return the folder in which a picture is made."""
    return picture.with_name(f"{picture.name}.part")


def targets_of(request: Request, outputs: Mapping[str, Path]) -> dict[str, Path]:
    """Name the places of all outputs, the report too."""
    report = request.outputs.report
    every = {**outputs, "report": report} if report else outputs
    return {kind: path.resolve() if path.is_symlink() else path.absolute() for kind, path in every.items()}


def prepare(request: Request, *, decisions: str, force: bool, cluster: "Cluster | None" = None) -> GiantJob:
    """Check everything but the pixels, and plan the work, for the workers of a cluster if there is one."""
    from panfocus.io.ome_zarr import count_missing_chunks, description_digest, store_state
    from panfocus.show.pyramid import n_levels

    with usage_errors():
        _check_options(request, decisions)
        max_memory, whose = _memory(request, cluster)
        settings = _settings(request)
        outputs = _outputs(request)
    image = _image(Path(request.inputs[0]))
    units = units_of(image, decisions, request.channel, request.time)
    frames = image.frames(units[0].time, units[0].channels)  # those of other units are alike
    _check_frames(frames)
    method = _method(request, settings, frames, outputs)
    before = run_in(part_of(outputs["image"].absolute()))
    done = placed(before, targets_of(request, outputs)) if before else set()
    _check_places(request, outputs, done, force=force)
    state = store_state(image)
    plan = {
        **_origin(request, image, settings),
        "description": description_digest(image),
        "state": state.digest,
        "decisions": decisions,
        "units": [[unit.time, list(unit.channels)] for unit in units],
        "size": [frames.shape[1], frames.shape[2]],
        "levels": n_levels(frames.shape[1], frames.shape[2]),
        "chunk": chunk_side(method, frames, max_memory, whose),
        "searched": searched_side(image),
        "max_memory": max_memory,
        "outputs": list(outputs),
    }
    if before and not request.max_memory and _differ_by_more_memory(before.plan, plan):
        plan = before.plan  # other workers are there now, and for them it would do too
    if before and before.plan != plan:
        _check_places(request, outputs, (), force=force)
    return GiantJob(request, image, outputs, plan, plan["max_memory"], count_missing_chunks(image, state))


def _memory(request: Request, cluster: "Cluster | None") -> tuple[int, str]:
    """Return the bytes that a worker may take, and what a refusal says of them and how there are more.

    They are as typed, or as the smallest worker of a cluster has, or the default.
    """
    typed = "of --max-memory; allow more"
    if request.max_memory:
        return request.max_memory, typed
    if not (least := cluster and cluster.smallest_worker()):
        return DEFAULT_MEMORY, typed
    threads = "1 thread" if least.threads == 1 else f"{least.threads} threads"
    whose = f"for a task on a worker with a limit of {format_size(least.limit)} and {threads}"
    return least.task_bytes, f"{whose}; give workers more"


def _differ_by_more_memory(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether two plans are the same, but that there is more memory now."""
    cut = {name: before.get(name) for name in ("chunk", "max_memory")}
    return {**now, **cut} == before and before["max_memory"] <= now["max_memory"]


def _image(source: Path) -> "ZarrImage":
    from panfocus.io.ome_zarr import is_zipped
    from panfocus.io.tiled_tiff import TIFF_SUFFIXES, open_large_image

    if is_zipped(source):
        raise InputError(f"{source}: zipped stores are not read; unpack it, and give the folder")
    if source.is_file() and source.suffix.lower() not in TIFF_SUFFIXES:
        raise InputError(f"{source}: only a store, or a TIFF of slices, is fused to a store; use -o NAME.tif")
    return open_large_image(source)


def _check_frames(frames: "ZarrFrames") -> None:
    """Refuse too few slices, and pixels of a kind that is not fused."""
    from panfocus._checks import blank, check_kind

    source = frames.image.path
    if len(frames) < 2:
        raise InputError(f"{source}: it has {len(frames)} slices; fusion needs at least two")
    alike = blank(frames.shape[1:], frames.dtype)
    check_kind(alike, str(source), alike, str(source))


def _check_places(
    request: Request, outputs: Mapping[str, Path], done: Container[str], *, force: bool
) -> None:
    """Refuse outputs that cannot be written, or would replace something to be kept.

    What is `done`, put in place by an earlier run that was killed then, is this run's own.
    """
    from panfocus.io.atomic_directory import check_store_destination
    from panfocus.io.atomic_files import check_destination
    from panfocus.io.tiled_tiff import TIFF_SUFFIXES

    source = Path(request.inputs[0])
    report = request.outputs.report
    every = {**outputs, "report": report} if report else outputs
    for path in (path for kind, path in every.items() if kind not in done):
        if path == report or path.suffix.lower() in TIFF_SUFFIXES:
            if source.resolve() in path.resolve().parents:
                raise FileError(f"{path} lies in the input; choose another name")
            check_destination(path, force=force, inputs=(source,))
        else:
            check_store_destination(path, force=force, inputs=(source,))


def _origin(request: Request, image: "ZarrImage", settings: dict[str, str]) -> dict[str, Any]:
    """Return what the result depends on, but for how it is cut."""
    from panfocus import __version__
    from panfocus.io.atomic_files import digest
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
    """Return how far it is from slice to slice: as was typed, or by the z axis, if that has a unit."""
    if request.step:
        return DepthScale.parse(request.step)
    axis = image.axis("z")
    return DepthScale(axis.scale, axis.unit) if axis and axis.unit else DepthScale()


def _check_options(request: Request, decisions: str) -> None:
    """Refuse what needs the whole image at once, or makes no sense for stores."""
    from panfocus._checks import one_of
    from panfocus.pipeline import EXPOSURE, HOT_PIXELS

    if len(request.inputs) != 1:
        raise InputError(f"OME-Zarr: one store at a time is fused, got {len(request.inputs)} inputs")
    for typed in (*request.inputs, *map(str, request.outputs.files().values())):
        if _URL.match(typed):
            raise InputError(f"{typed}: stores are read and written as files; copy it to a disk, or mount it")
    if request.align not in ("auto", "off"):
        raise InputError(
            f"--align {request.align}: slices of a store are fused as they lie on each other; "
            "align them before, or use --align off"
        )
    defaults = {
        f.name: f.default for f in dataclasses.fields(Request) if f.default is not dataclasses.MISSING
    }
    given = [name for name, default in defaults.items() if getattr(request, name) != default]
    files = request.outputs.files()
    refused = [name for name in given if name not in _TAKEN]
    refused += [kind for kind in files if kind not in _TAKEN_OUTPUTS]
    refused += ["save-steps"] * (request.outputs.steps is not None)
    if refused:
        option = refused[0].replace("_", "-")
        raise InputError(f"--{option}: {_WHY_REFUSED.get(refused[0], _WHOLE)}; leave it out")
    one_of("--decisions", decisions, DECISIONS)
    one_of("--hot-pixels", request.hot_pixels, HOT_PIXELS)
    one_of("--exposure", request.exposure, EXPOSURE)


def _settings(request: Request) -> dict[str, str]:
    """Return the typed settings of the method, with the absolute path of the dictionary."""
    texts = parse_method_texts(request)
    if request.dictionary and request.dictionary.exists():
        texts["dictionary"] = str(request.dictionary.absolute())
    return texts


def _method(
    request: Request, settings: dict[str, str], frames: "ZarrFrames", outputs: Iterable[str]
) -> "FusionMethod":
    """Return the method; refuse one that needs the whole image, or does not give all outputs."""
    from panfocus.methods import DEFAULT_METHOD, Surveyor, get_method, parse_settings

    name = request.method or DEFAULT_METHOD
    with usage_errors():
        method = get_method(name, **parse_settings(name, settings))
        height, width = frames.shape[1:3]
        usual = method.foreseen((height, width))[0] if isinstance(method, Surveyor) else method
        if usual.halo is None:
            raise InputError(
                f"--method {name}: it needs the whole image at once, and stores are fused tile by tile; "
                "choose another, such as panfocus"
            )
    for kind in outputs:
        if kind != "image" and kind not in method.maps:
            raise InputError(f"the method {name} gives no {kind}; leave --{kind.replace('_', '-')} out")
    return method


def _outputs(request: Request) -> dict[str, Path]:
    """Return the stores, or TIFFs, that are to be written."""
    from panfocus.io.ome_zarr import ZARR_SUFFIXES
    from panfocus.io.tiled_tiff import TIFF_SUFFIXES

    files = request.outputs.files() | {"image": request.outputs.picture}
    # A store that is a link is made where that leads to: folders cannot be given the name of a link.
    outputs = {
        kind: path.resolve() if path.is_symlink() else path
        for kind, path in files.items()
        if kind in ("image", *MAPS)
    }
    for path in outputs.values():
        if path.suffix.lower() not in (*ZARR_SUFFIXES, *TIFF_SUFFIXES):
            raise InputError(f"{path}: a store is fused to another; its name ends in .ome.zarr, or .ome.tif")
    places = [path.resolve() for path in files.values()]
    taken = {*places, part_of(outputs["image"]).resolve()}
    for path, place in zip(files.values(), places, strict=True):
        if places.count(place) > 1 or set(place.parents) & taken:
            raise InputError(
                f"{path}: two outputs have this name, or it lies in another, or where that is made; "
                "choose another name"
            )
    return outputs
