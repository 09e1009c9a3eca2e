"""Fuse a stack, and save the result as arrays that the page shows and exports."""

from pathlib import Path
from typing import Any

from panfocus._memory import keep_freed_memory
from panfocus._threads import limit_threads
from panfocus.app.result_layers import check_space, list_layers, save_display, save_layer
from panfocus.app.saved_result import SavedResult, file_stamps
from panfocus.app.state import ARRAYS, LIVE, REPORT, SAVED_RESULT
from panfocus.app.tasks import FusionSummary, Send
from panfocus.app.tasks.progress_events import LiveMap, ProgressEvents
from panfocus.errors import warnings_as_notes
from panfocus.io.atomic_files import write_files
from panfocus.io.checkpoint import FileStamp
from panfocus.io.disk_array import ArrayFolder
from panfocus.io.encode import encode_json
from panfocus.job.prepare import Job, prepare
from panfocus.job.run_report import run_report
from panfocus.job.runner import run_fusion
from panfocus.job.serialization import from_plain, to_plain
from panfocus.job.summary import summarize
from panfocus.pipeline import Fusion
from panfocus.show.pyramid import TILE

_MAPS = ("labels", "depth", "confidence", "never_in_focus", "votes")


def run(send: Send, *, folder: str, request: dict[str, Any], reads: list[str]) -> FusionSummary:
    """Run a fusion, and save its result in the job's folder; `reads` is for the server."""
    keep_freed_memory()
    wanted, place = from_plain(request), Path(folder)
    events = ProgressEvents(send)
    stamps = file_stamps([*wanted.inputs, str(wanted.dictionary)])  # before they are read
    with limit_threads(wanted.threads), events.watch_compiling():
        events.progress("check", 0.0)
        job = prepare(wanted, force=True, every_map=True)
        check_space(ArrayFolder(place / ARRAYS), job.source.blank_frames)
        live = LiveMap(place / LIVE, job.source.blank_frames.shape, send)
        with (
            warnings_as_notes(lambda: job.warnings),
            run_fusion(job, events.progress, watch=live.watch) as (fusion, digests),
        ):
            live.finish()
            result = _save(job, fusion, digests, place, events, stamps)
            for warning in job.warnings:
                events.warn(warning)
            for line in summarize(job, fusion.stack, fusion.result.report):
                events.summarize(line)
    return result


def _save(
    job: Job,
    fusion: Fusion,
    digests: dict[Path, str],
    folder: Path,
    events: ProgressEvents,
    stamps: dict[str, FileStamp],
) -> FusionSummary:
    """Save layers, report and facts of a fusion; return its summary."""
    arrays = ArrayFolder(folder / ARRAYS)
    maps = {name: getattr(fusion.result, name) for name in _MAPS}
    layers = {"fused": fusion.result.image, "frames": fusion.frames} | {
        name: values for name, values in maps.items() if values is not None
    }
    for number, (name, values) in enumerate(layers.items()):
        events.progress("keep", number / len(layers))
        save_layer(arrays, name, values)
    if fusion.result.slabs is not None:
        with arrays.create("slabs", fusion.result.slabs.shape, fusion.result.slabs.dtype) as slabs:
            for s in range(len(fusion.result.slabs)):
                slabs[s] = fusion.result.slabs[s]
    save_display(arrays, fusion.stack.icc_profile)
    events.progress("keep", 1.0)
    report = run_report(job, fusion, digests) | {"times": fusion.times}
    now = file_stamps(stamps)
    # No stamp for a file that changed meanwhile: it is unknown which content was read.
    report_with_stamps = report | {
        "stamps": {path: stamp if stamp == now[path] else None for path, stamp in stamps.items()}
    }
    files = {
        folder / SAVED_RESULT: encode_json(to_plain(SavedResult.from_job(job, fusion.stack))),
        folder / REPORT: encode_json(report_with_stamps),
    }
    write_files(files, force=True)
    names, levels = list_layers(arrays)
    n_frames, height, width = fusion.frames.shape[:3]
    return {
        "width": width,
        "height": height,
        "n_frames": n_frames,
        "names": [Path(name).name for name in fusion.stack.names],
        "dtype": fusion.frames.dtype.name,
        "levels": levels,
        "tile": TILE,
        "layers": names,
        "seconds": fusion.result.report["seconds"],
        "report": report,
    }
