"""Exports: files made of a job's results, to be downloaded, and the command that writes the same.

Each export has a folder of its own: another one may have files of the same names.
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

from panfocus.app.file_stamps import is_as_fused
from panfocus.app.jobs import EXPORTS
from panfocus.app.request_builder import shown_command
from panfocus.app.responses import Answer, Refusal, json_body
from panfocus.app.retouching import one_at_a_time, retouching_of
from panfocus.app.tasks.fuse import REPORT
from panfocus.app.work_folder import ID, new_name
from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import make_folder, read_json, read_text, write_files
from panfocus.job import request as requests
from panfocus.job.request import Outputs
from panfocus.job.serialization import from_plain, to_plain

if TYPE_CHECKING:
    from panfocus.app.server import App

FORMATS = ("tif", "png", "jpg", "webp")
MAPS = ("labels", "confidence", "depth", "depth_colour", "never_in_focus")
WHAT = ("image", *MAPS, "report", "retouch")
SECONDS_KEPT = (
    600.0  # that an export can be downloaded at least; the newest of a job as long as that is there
)
_EXPORTED_STROKES = "exported-strokes.json"
_LONGEST_NAME = 150  # bytes of a stack's: with what comes behind, less than the 255 that a file's may have
_WITH_ALL_VALUES = ("confidence", "depth")  # as floats in a TIFF, else with 16 bits


def wanted_files(stem: str, wanted: dict[str, Any]) -> tuple[Outputs, dict[str, Any], list[str]]:
    """Return the files that are wanted, by names without a folder; options of writing; and what is wanted."""
    ending, what = wanted.get("format", "tif"), wanted.get("what", ["image"])
    if ending not in FORMATS:
        raise Refusal(400, f"format: needed is one of {', '.join(FORMATS)}")
    if not (isinstance(what, list) and what and all(name in WHAT for name in what)):
        raise Refusal(400, f"what: needed is a list of {', '.join(WHAT)}")
    bits, quality = wanted.get("bits"), wanted.get("quality", 95)
    if type(bits) not in (int, type(None)) or type(quality) is not int:
        raise Refusal(400, "bits and quality: needed are whole numbers")
    of_values = "png" if ending == "png" else "tif"
    maps: dict[str, Any] = {
        name: Path(f"{stem}-{name.replace('_', '-')}.{of_values if name in _WITH_ALL_VALUES else 'png'}")
        for name in MAPS
        if name in what
    }
    report = Path(f"{stem}-report.json") if "report" in what else None
    outputs = Outputs(image=Path(f"{stem}.{ending}"), **maps, report=report)
    return outputs, {"bits": bits, "jpeg_quality": quality}, what


def _placed(outputs: Outputs, folder: Path) -> Outputs:
    """Return the same files in a folder."""
    files: dict[str, Any] = {
        field.name: folder / path
        for field in dataclasses.fields(outputs)
        if isinstance(path := getattr(outputs, field.name), Path)
    }
    return Outputs(**files)


def _stem(stack: str) -> str:
    """Return what the names of a stack's files begin with, as files may be named everywhere."""
    plain_name = re.sub(r"[^\w.-]+", "-", stack).strip("-.").encode()[:_LONGEST_NAME]
    return f"{plain_name.decode(errors='ignore')}-fused".lstrip("-")


async def _export(request: Request) -> Answer:
    app = request.app.state.app
    job = app.store.jobs.get(request.path_params["id"])
    wanted = await json_body(request)
    _check_done(job)
    stack = app.store.stacks.get(job["stack"])
    stem = _stem(stack["name"])
    outputs, options, what = wanted_files(stem, wanted)
    done: requests.Request = from_plain(job["task"]["request"])
    shown = dataclasses.replace(done, outputs=outputs, **options)
    async with app.jobs.exporting:
        _check_done(app.store.jobs.get(job["id"]))  # others were waited for
        async with _strokes_of_now(app, job) as strokes:
            if strokes:
                shown = dataclasses.replace(shown, retouch=Path(f"{stem}-retouch.json"))
            elif what == ["retouch"]:
                raise Refusal(409, "this picture is not retouched: there are no strokes to export")
            with _new_folder(app, job) as into:
                told = await _written(app, job, shown, strokes, into, picture="image" in what)
            await run_in_threadpool(_remove_older, into)
    base = f"/api/jobs/{job['id']}/exports/{into.name}/"
    files = [file | {"url": base + quote(file["name"])} for file in told["files"]]
    said = [app.store.as_known(line) for line in told["said"]]
    command = await run_in_threadpool(shown_command, shown, stack["folder"])
    changed = await run_in_threadpool(_changed, app, job)
    return Answer({"files": files, "said": said, "command": command, "changed": changed})


def _changed(app: "App", job: dict[str, Any]) -> list[str]:
    """Name the files of a fusion, frames and dictionary, that are not as they were fused, or gone."""
    report = read_json(app.store.jobs.folder(job["id"]) / REPORT)
    names = []
    for entry in [*report["inputs"], *filter(None, [report["dictionary"]])]:
        try:
            app.folders.check_again(entry["path"])
            same = is_as_fused(entry, report["stamps"])
        except (Refusal, PanfocusError):  # it may not be read, or not any more
            same = False
        if not same:
            names.append(Path(entry["path"]).name)
    return names


def _check_done(job: dict[str, Any]) -> None:
    if job["kind"] != "fuse" or job["state"] != "done":
        raise Refusal(409, "this job has no result that could be exported")


@contextmanager
def _new_folder(app: "App", job: dict[str, Any]) -> Iterator[Path]:
    """Have a folder for an export, which goes if that fails; there is none for a job that was removed."""
    app.store.jobs.get(job["id"])
    folder = app.store.jobs.folder(job["id"]) / EXPORTS / new_name()
    make_folder(folder)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _remove_older(newest: Path) -> None:
    """Remove the exports of a job that nobody downloads any more."""
    for path in newest.parent.glob("*"):
        with suppress(OSError):  # the job is being removed
            if path != newest and time.time() - path.stat().st_mtime >= SECONDS_KEPT:
                shutil.rmtree(path)


@asynccontextmanager
async def _strokes_of_now(app: "App", job: dict[str, Any]) -> AsyncIterator[Path | None]:
    """Have a copy of a job's strokes, as one change has left them: they may be changed while it is used."""
    folder = app.store.jobs.folder(job["id"])
    copy = None
    async with one_at_a_time(job["id"]):
        if (job["retouch"] or {}).get("n_strokes"):
            copy = folder / _EXPORTED_STROKES
            text = await run_in_threadpool(read_text, retouching_of(folder, job).file)
            await run_in_threadpool(write_files, {copy: text.encode()}, force=True)
    try:
        yield copy
    finally:
        if copy:
            copy.unlink(missing_ok=True)


async def _written(
    app: "App",
    job: dict[str, Any],
    shown: requests.Request,
    strokes: Path | None,
    into: Path,
    *,
    picture: bool,
) -> dict[str, Any]:
    """Have files written into a folder, by a process of its own; `shown` names them, without the folder."""
    placed = dataclasses.replace(shown, outputs=_placed(shown.outputs, into), retouch=strokes)
    task = {
        "task": "export",
        "folder": str(app.store.jobs.folder(job["id"])),
        "request": to_plain(placed),
        "shown": to_plain(shown),
        "picture": picture,
    }
    worker = await app.workers.long()
    try:
        return await worker.run(task)
    finally:
        await worker.close()


async def _download(request: Request) -> FileResponse:
    app, name = request.app.state.app, request.path_params["name"]
    job = app.store.jobs.get(request.path_params["id"])
    folder = app.store.jobs.folder(job["id"]) / EXPORTS
    if "export" in request.path_params:
        folder /= _export_name(request.path_params["export"])
    there = [path for path in folder.glob("*") if path.is_file() and not path.name.startswith(".")]
    for path in there:
        if path.name == name:
            return FileResponse(path, filename=name)
    raise Refusal(404, f"there is no file {name[:100]} of this job")


def _export_name(given: str) -> str:
    if not ID.fullmatch(given):
        raise Refusal(404, f"there is no export {given[:40]}")
    return given


routes = [
    Route("/api/jobs/{id}/export", _export, methods=["POST"]),
    Route("/api/jobs/{id}/exports/{export}/{name}", _download),
    Route("/api/jobs/{id}/exports/{name}", _download),  # of what was learned
]
