"""A fusion whose results are kept as arrays, to be looked at and written later."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.app.file_stamps import Stamp, stamps_of
from panfocus.app.tasks.progress_events import LiveMap, Tell, Teller, compiling_told

if TYPE_CHECKING:
    from panfocus.job.prepare import Job
    from panfocus.pipeline import Fusion

# What a job's folder holds.
ARRAYS, KEPT, REPORT, LIVE = "arrays", "kept.json", "report.json", "live.png"
MAPS = ("labels", "depth", "confidence", "never_in_focus", "votes")


def run(task: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Do the fusion that `request` asks for, and keep its results in `folder`."""
    from panfocus._malloc import keep_freed_memory
    from panfocus._threads import limit_threads
    from panfocus.app.result_layers import check_room
    from panfocus.io.disk_array import ArrayFolder
    from panfocus.job.prepare import prepare
    from panfocus.job.runner import fused
    from panfocus.job.serialization import from_plain
    from panfocus.job.summary import summarize

    keep_freed_memory()
    request, folder = from_plain(task["request"]), Path(task["folder"])
    teller = Teller(tell)
    stamps = stamps_of([*request.inputs, str(request.dictionary)])  # before they are read
    with limit_threads(request.threads), compiling_told(teller):
        teller.progress("check", 0.0)
        job = prepare(request, force=True, every_map=True)
        check_room(ArrayFolder(folder / ARRAYS), job.source.blank_frames)
        live = LiveMap(folder / LIVE, job.source.blank_frames.shape, tell)
        with fused(job, teller.progress, watch=live.watch) as (fusion, digests):
            live.finish()
            result = _keep(job, fusion, digests, folder, teller, stamps)
            for warning in job.warnings:
                teller.warn(warning)
            for line in summarize(job, fusion.stack, fusion.result.report):
                teller.say(str(line))
    return result


def _keep(
    job: "Job",
    fusion: "Fusion",
    digests: dict[Path, str],
    folder: Path,
    teller: Teller,
    stamps: dict[str, Stamp],
) -> dict[str, Any]:
    from panfocus.app.result_layers import keep_display, keep_layer, layers_of
    from panfocus.app.saved_result import Kept
    from panfocus.io.atomic_files import write_files
    from panfocus.io.disk_array import ArrayFolder
    from panfocus.io.encode import encode_json
    from panfocus.job.run_report import run_report
    from panfocus.job.serialization import to_plain
    from panfocus.show.pyramid import TILE

    arrays = ArrayFolder(folder / ARRAYS)
    found = {name: getattr(fusion.result, name) for name in MAPS}
    layers = {"fused": fusion.result.image, "frames": fusion.frames} | {
        name: values for name, values in found.items() if values is not None
    }
    for number, (name, values) in enumerate(layers.items()):
        teller.progress("keep", number / len(layers))
        keep_layer(arrays, name, values)
    if fusion.slabs is not None:
        with arrays.create("slabs", fusion.slabs.shape, fusion.slabs.dtype) as slabs:
            for s in range(len(fusion.slabs)):
                slabs[s] = fusion.slabs[s]
    keep_display(arrays, fusion.stack.icc_profile)
    teller.progress("keep", 1.0)
    report = run_report(job, fusion, digests) | {"times": fusion.times}
    kept = to_plain(Kept.of(job, fusion.stack))
    now = stamps_of(stamps)
    steady = {path: stamp if stamp == now[path] else None for path, stamp in stamps.items()}
    told = encode_json(report | {"stamps": steady})
    write_files({folder / KEPT: encode_json(kept), folder / REPORT: told}, force=True)
    names, levels = layers_of(arrays)
    n_frames, height, width = fusion.frames.shape[:3]
    return {
        "width": width,
        "height": height,
        "n_frames": n_frames,
        "names": [Path(name).name.removesuffix(",") for name in fusion.stack.names],
        "dtype": fusion.frames.dtype.name,
        "levels": levels,
        "tile": TILE,
        "layers": names,
        "seconds": fusion.result.report["seconds"],
        "report": report,
    }
