"""Exports: files of a job's result to download, and the command that writes the same.

Every export has its own folder, as several may have files of the same names.
"""

import dataclasses
import re
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route

from panfocus.app.request_builder import short_command
from panfocus.app.responses import JsonAnswer, RequestError, json_body
from panfocus.app.retouching import job_lock, open_retouching
from panfocus.app.saved_result import is_unchanged
from panfocus.app.state import EXPORTS, REPORT, PageJob
from panfocus.app.tasks import ExportSummary
from panfocus.app.work_folder import ID, new_id
from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import make_folder, read_json, read_text, write_files
from panfocus.job import request as requests
from panfocus.job.request import Outputs
from panfocus.job.serialization import from_plain, to_plain

if TYPE_CHECKING:
    from panfocus.app.server import App

FORMATS = ("tif", "png", "jpg", "webp")
MAPS = ("labels", "confidence", "depth", "depth_colour", "never_in_focus")
CONTENTS = ("image", *MAPS, "report", "retouch")
SECONDS_KEPT = 600.0  # for which an older export can be downloaded; the newest stays with its job
_STROKES_COPY = "exported-strokes.json"
_MAX_STEM_BYTES = 150  # with a suffix, less than the 255 bytes that file systems allow
_FLOAT_MAPS = ("confidence", "depth")  # floats in a TIFF, 16 bits in a PNG


def parse_export(stem: str, wanted: dict[str, Any]) -> tuple[Outputs, dict[str, Any], list[str]]:
    """Return the files of an export without their folder, settings of writing, and the wanted contents."""
    suffix, contents = wanted.get("format", "tif"), wanted.get("what", ["image"])
    if suffix not in FORMATS:
        raise RequestError(400, f"`format` must be one of {', '.join(FORMATS)}.")
    if not (isinstance(contents, list) and contents and all(name in CONTENTS for name in contents)):
        raise RequestError(400, f"`what` must be a list of {', '.join(CONTENTS)}.")
    bits, quality = wanted.get("bits"), wanted.get("quality", 95)
    if type(bits) not in (int, type(None)) or type(quality) is not int:
        raise RequestError(400, "`bits` and `jpeg_quality` must be integers.")
    float_suffix = "png" if suffix == "png" else "tif"
    maps: dict[str, Any] = {
        name: Path(f"{stem}-{name.replace('_', '-')}.{float_suffix if name in _FLOAT_MAPS else 'png'}")
        for name in MAPS
        if name in contents
    }
    report = Path(f"{stem}-report.json") if "report" in contents else None
    outputs = Outputs(image=Path(f"{stem}.{suffix}"), **maps, report=report)
    return outputs, {"bits": bits, "jpeg_quality": quality}, contents


def _move_outputs(outputs: Outputs, folder: Path) -> Outputs:
    """Return the same files in a folder."""
    files: dict[str, Any] = {
        field.name: folder / path
        for field in dataclasses.fields(outputs)
        if isinstance(path := getattr(outputs, field.name), Path)
    }
    return Outputs(**files)


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
    stem = _file_stem(stack.name)
    outputs, settings, contents = parse_export(stem, wanted)
    fused: requests.Request = from_plain(job.task["request"])
    shown = dataclasses.replace(fused, outputs=outputs, **settings)
    async with app.jobs.exporting:
        _check_done(app.store.jobs.get(job.id))  # may have changed while this waited
        async with _copy_strokes(app, job) as strokes:
            if strokes:
                shown = dataclasses.replace(shown, retouch=Path(f"{stem}-retouch.json"))
            elif contents == ["retouch"]:
                raise RequestError(409, "This image is not retouched; there are no strokes to export.")
            with _new_folder(app, job) as folder:
                summary = await _write(app, job, shown, strokes, folder, picture="image" in contents)
            await run_in_threadpool(_remove_older, folder)
    for file in summary["files"]:
        file["url"] = f"/api/jobs/{job.id}/exports/{folder.name}/{quote(file['name'])}"
    notices = [app.store.shorten_paths(line) for line in summary["notices"]]
    command = await run_in_threadpool(short_command, shown, stack.folder)
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
        raise RequestError(409, "This job has no result to export.")


@contextmanager
def _new_folder(app: "App", job: PageJob) -> Iterator[Path]:
    """Make a folder for an export, and remove it if that fails."""
    app.store.jobs.get(job.id)  # refuses a job that was removed
    folder = app.store.jobs.folder(job.id) / EXPORTS / new_id()
    make_folder(folder)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _remove_older(newest: Path) -> None:
    """Remove the old exports of a job."""
    for path in newest.parent.glob("*"):
        with suppress(OSError):  # the job is being removed
            if path != newest and time.time() - path.stat().st_mtime >= SECONDS_KEPT:
                shutil.rmtree(path)


@asynccontextmanager
async def _copy_strokes(app: "App", job: PageJob) -> AsyncIterator[Path | None]:
    """Yield a copy of a job's strokes, or None: the strokes may change during the export."""
    folder = app.store.jobs.folder(job.id)
    copy = None
    async with job_lock(job.id):
        if job.retouch and job.retouch["n_strokes"]:
            copy = folder / _STROKES_COPY
            text = await run_in_threadpool(read_text, open_retouching(folder, job).file)
            await run_in_threadpool(write_files, {copy: text.encode()}, force=True)
    try:
        yield copy
    finally:
        if copy:
            copy.unlink(missing_ok=True)


async def _write(
    app: "App", job: PageJob, shown: requests.Request, strokes: Path | None, folder: Path, *, picture: bool
) -> ExportSummary:
    """Write files into a folder, in a worker process; `shown` names them without the folder."""
    request = dataclasses.replace(shown, outputs=_move_outputs(shown.outputs, folder), retouch=strokes)
    task = {
        "task": "export",
        "folder": str(app.store.jobs.folder(job.id)),
        "request": to_plain(request),
        "shown": to_plain(shown),
        "picture": picture,
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
            raise RequestError(404, f"There is no export {export[:40]}.")
        folder /= export
    name = request.path_params["name"]
    for path in folder.glob("*"):  # compared with existing files: the name could lead elsewhere
        if path.name == name and path.is_file() and not name.startswith("."):
            return FileResponse(path, filename=name)
    raise RequestError(404, f"This job has no file {name[:100]}.")


routes = [
    Route("/api/jobs/{id}/export", _export, methods=["POST"]),
    Route("/api/jobs/{id}/exports/{export}/{name}", _download),
    Route("/api/jobs/{id}/exports/{name}", _download),  # files of learning
]
