"""Exports: files of a job's result to download, and the command that writes the same.

Every export has its own folder, as several may have files of the same names.
"""

import dataclasses
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route

from panfocus.app.request_builder import short_command, without_folder
from panfocus.app.responses import JsonAnswer, RequestError, json_body
from panfocus.app.retouching import Retouching, job_lock
from panfocus.app.saved_result import is_unchanged
from panfocus.app.state import EXPORTS, REPORT, PageJob
from panfocus.app.tasks import ExportSummary
from panfocus.app.work_folder import ID, new_id
from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import make_folder, read_json, read_text, write_files
from panfocus.job.request import Outputs
from panfocus.job.request import Request as FusionRequest
from panfocus.job.serialization import from_plain, to_plain

if TYPE_CHECKING:
    from panfocus.app.server import App

FORMATS = ("tif", "png", "jpg", "webp")
MAPS = ("labels", "confidence", "depth", "depth_colour", "never_in_focus")
CONTENTS = ("image", *MAPS, "report", "retouch")
SECONDS_KEPT = 600.0  # for which an older export can be downloaded; the newest stays with its job
_MAX_STEM_BYTES = 150  # with a suffix, less than the 255 bytes that file systems allow
_FLOAT_MAPS = ("confidence", "depth")  # floats in a TIFF, 16 bits in a PNG


def parse_export(stem: Path, wanted: dict[str, Any]) -> tuple[Outputs, dict[str, Any], list[str]]:
    """Return the files of an export, whose paths start with `stem`, settings of writing, and contents."""
    suffix, contents = wanted.get("format", "tif"), wanted.get("what", ["image"])
    if suffix not in FORMATS:
        raise RequestError(400, f"`format` must be one of {', '.join(FORMATS)}.", setting="format")
    if not (isinstance(contents, list) and contents and all(name in CONTENTS for name in contents)):
        raise RequestError(400, f"`what` must be a list of {', '.join(CONTENTS)}.", setting="what")
    bits, quality = wanted.get("bits"), wanted.get("quality", 95)
    for setting, value in (("bits", bits), ("jpeg_quality", quality)):
        if value is not None and type(value) is not int:
            raise RequestError(400, f"`{setting}` must be an integer.", setting=setting)
    float_suffix = "png" if suffix == "png" else "tif"
    maps: dict[str, Any] = {
        name: Path(f"{stem}-{name.replace('_', '-')}.{float_suffix if name in _FLOAT_MAPS else 'png'}")
        for name in MAPS
        if name in contents
    }
    report = Path(f"{stem}-report.json") if "report" in contents else None
    outputs = Outputs(image=Path(f"{stem}.{suffix}"), **maps, report=report)
    return outputs, {"bits": bits, "jpeg_quality": quality}, contents


def _file_stem(stack_name: str) -> str:
    """Return the start of the names of exported files, valid on every system."""
    portable = re.sub(r"[^\w.-]+", "-", stack_name).strip("-.").encode()[:_MAX_STEM_BYTES]
    return f"{portable.decode(errors='ignore')}-fused".lstrip("-")


async def _export(request: Request) -> JsonAnswer:
    app: App = request.app.state.app
    job = app.store.jobs.get(request.path_params["id"])
    wanted = await json_body(request)
    _check_done(job)
    stack = app.store.stacks.get(job.stack)
    folder = app.store.jobs.folder(job.id) / EXPORTS / new_id()
    stem = folder / _file_stem(stack.name)
    outputs, settings, contents = parse_export(stem, wanted)
    export = dataclasses.replace(from_plain(job.task["request"]), outputs=outputs, **settings)
    async with app.jobs.exporting:
        _check_done(app.store.jobs.get(job.id))  # may have changed while this waited
        make_folder(folder)
        try:
            strokes = await _copy_strokes(app, job, Path(f"{stem}-retouch.json"))
            if contents == ["retouch"] and not strokes:
                raise RequestError(409, "This image is not retouched; there are no strokes to export.")
            export = dataclasses.replace(export, retouch=strokes)
            summary = await _write(app, job, export, with_image="image" in contents)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        await run_in_threadpool(_remove_older, folder)
    for file in summary["files"]:
        file["url"] = f"/api/jobs/{job.id}/exports/{folder.name}/{quote(file['name'])}"
    notices = [app.store.shorten_paths(line) for line in summary["notices"]]
    command = await run_in_threadpool(short_command, without_folder(export), stack.folder)
    changed = await run_in_threadpool(_changed_inputs, app, job)
    return JsonAnswer({"files": summary["files"], "said": notices, "command": command, "changed": changed})


def _changed_inputs(app: "App", job: PageJob) -> list[str]:
    """Return the names of frames and dictionary that were changed or removed since the fusion."""
    report = read_json(app.store.jobs.folder(job.id) / REPORT)
    names = []
    for entry in [*report["inputs"], *filter(None, [report["dictionary"]])]:
        try:
            app.folders.check_opened(entry["path"])
            is_same = is_unchanged(entry, report["stamps"])
        except PanfocusError:  # it cannot be read any more
            is_same = False
        if not is_same:
            names.append(Path(entry["path"]).name)
    return names


def _check_done(job: PageJob) -> None:
    if not job.is_fused:
        raise RequestError(409, "This job has no result to export.", job=job.id)


def _remove_older(newest: Path) -> None:
    """Remove the old exports of a job."""
    for path in newest.parent.glob("*"):
        with suppress(OSError):  # the job is being removed
            if path != newest and time.time() - path.stat().st_mtime >= SECONDS_KEPT:
                shutil.rmtree(path)


async def _copy_strokes(app: "App", job: PageJob, copy: Path) -> Path | None:
    """Copy a job's strokes, which may change during the export; return None if there are none."""
    async with job_lock(job.id):
        if not (job.retouch and job.retouch["n_strokes"]):
            return None
        retouching = Retouching(app.store.jobs.folder(job.id), job.retouch_version)
        text = await run_in_threadpool(read_text, retouching.file)
        await run_in_threadpool(write_files, {copy: text.encode()})
    return copy


async def _write(app: "App", job: PageJob, export: FusionRequest, *, with_image: bool) -> ExportSummary:
    """Write the files of an export in a worker process."""
    task = {
        "task": "export",
        "folder": str(app.store.jobs.folder(job.id)),
        "request": to_plain(export),
        "with_image": with_image,
    }
    worker = await app.workers.lend_long()
    try:
        summary: ExportSummary = await worker.run(task)
        return summary
    finally:
        await worker.close()


async def _download(request: Request) -> FileResponse:
    app: App = request.app.state.app
    job = app.store.jobs.get(request.path_params["id"])
    folder = app.store.jobs.folder(job.id) / EXPORTS
    if export := request.path_params.get("export"):
        if not ID.fullmatch(export):
            raise RequestError(404, f"There is no export {export[:40]}.", got=export)
        folder /= export
    name = request.path_params["name"]
    for path in folder.glob("*"):  # compared with existing files: the name could lead elsewhere
        if path.name == name and path.is_file() and not name.startswith("."):
            return FileResponse(path, filename=name)
    raise RequestError(404, f"This job has no file {name[:100]}.", file=name)


routes = [
    Route("/api/jobs/{id}/export", _export, methods=["POST"]),
    Route("/api/jobs/{id}/exports/{export}/{name}", _download),
    Route("/api/jobs/{id}/exports/{name}", _download),  # files of learning
]
