"""Retouching: the strokes of a job and the layer that shows them; only what changes is painted.

Every version of the strokes is a file. The job names the valid version, and does so only after the layer was
painted: a change that fails or is killed before changes nothing.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from panfocus.app.responses import JsonAnswer, RequestError, json_body
from panfocus.app.result_layers import edit_layer, save_layer
from panfocus.app.state import ARRAYS, PageJob
from panfocus.app.work_folder import now
from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import read_json, write_files
from panfocus.io.disk_array import ArrayFolder
from panfocus.io.encode import encode_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from panfocus.app.server import App
    from panfocus.retouch import Stroke, Strokes

LAYER = "retouched"
STROKE_FILES = "retouch-*.json"
_PAINTING = "painting"  # file that exists while the layer is painted, or if that was interrupted

_OUTDATED = "The strokes were changed elsewhere, such as in another tab."

_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by job, while in use


class Retouching:
    """The strokes of a job and its retouched layer. Hold `job_lock` and call it in a thread."""

    def __init__(self, folder: Path, version: int) -> None:
        self._folder = folder
        self._version = version  # 0 before the first change
        self._arrays = ArrayFolder(folder / ARRAYS)
        self._painting = self._arrays.folder / _PAINTING

    @property
    def file(self) -> Path:
        """The file of the strokes, as `panfocus fuse --retouch` reads it."""
        return self._file_of(self._version)

    def strokes(self) -> "Strokes":
        """Return the saved strokes; none before the first change."""
        from panfocus.retouch import Strokes, parse_strokes

        if self._version:
            return parse_strokes(read_json(self.file))
        with self._arrays.array("frames") as frames:
            n_frames, height, width = frames.shape[:3]
        return Strokes(width, height, n_frames)

    def change(self, data: dict[str, Any], version: int, save: Callable[["Strokes"], object]) -> "Strokes":
        """Replace the strokes and paint them; `save` makes this version the valid one of the job.

        If anything fails, the previous strokes and layer are restored.
        """
        before, after = self.strokes(), self._parse(data)
        was_painted = self._is_painted()
        file = self._file_of(version)
        write_files({file: encode_json(after.plain(), indent=None)}, force=True)
        try:
            write_files({self._painting: b""}, force=True)
            if was_painted:
                self._paint_changes(before, after)
            else:
                self._paint_all(after)
            save(after)
        except BaseException:
            with suppress(PanfocusError, OSError):  # then `ensure_painted` repairs it later
                file.unlink()
                if was_painted:
                    self._paint(before, after, before.strokes, over="fused")
                    self._painting.unlink(missing_ok=True)
                elif not self._version:
                    self.ensure_painted()
            raise
        self._remove_others(file)
        return after

    def ensure_painted(self) -> None:
        """Paint the strokes again if a killed server left the layer half painted."""
        if self._painting.exists():
            if self._version:
                self._paint_all(self.strokes())
            else:
                for path in self._arrays.folder.glob(f"{LAYER}.*"):
                    path.unlink()
            self._remove_others(self.file)

    def warm_up(self) -> None:
        """Import and compile the painting code, so that the first stroke does not wait for it."""
        from panfocus.retouch import Stroke, paint_strokes

        with self._arrays.array("fused") as fused, self._arrays.array("frames") as frames:
            paint_strokes(fused[:1, :1], frames, [Stroke(0, ((0.0, 0.0),), 1.0)])

    def _file_of(self, version: int) -> Path:
        return self._folder / f"retouch-{version}.json"

    def _parse(self, data: dict[str, Any]) -> "Strokes":
        """Return strokes that fit the image, with computed gains."""
        from panfocus.retouch import parse_strokes, with_gains
        from panfocus.stack import colours

        strokes = parse_strokes(data, matching=True)
        with self._arrays.array("frames") as frames, self._arrays.array("fused") as fused:
            n_frames, height, width = frames.shape[:3]
            strokes.check_frames(n_frames, colours(frames[0, :1, :1]).shape[2])
            strokes.check_size(width, height)
            return with_gains(strokes, fused, frames)

    def _is_painted(self) -> bool:
        return self._version > 0 and LAYER in self._arrays and not self._painting.exists()

    def _remove_others(self, file: Path) -> None:
        """Remove the files of other versions, and finally the mark that painting is not complete."""
        for path in self._folder.glob(STROKE_FILES):
            if path != file:
                path.unlink(missing_ok=True)
        self._painting.unlink(missing_ok=True)

    def _paint_all(self, strokes: "Strokes") -> None:
        from panfocus.retouch import Strokes

        with self._arrays.array("fused") as fused:
            save_layer(self._arrays, LAYER, fused)
        none = Strokes(strokes.width, strokes.height, strokes.n_frames)
        self._paint(none, strokes, strokes.strokes, over=LAYER)

    def _paint_changes(self, before: "Strokes", after: "Strokes") -> None:
        """Paint new strokes over the layer; if strokes were undone, paint all over the fused image there."""
        from panfocus.retouch import count_alike

        n_before = len(before.strokes)
        if count_alike(before, after) == n_before:
            self._paint(before, after, after.strokes[n_before:], over=LAYER)
        else:
            self._paint(before, after, after.strokes, over="fused")

    def _paint(self, before: "Strokes", after: "Strokes", strokes: "Sequence[Stroke]", *, over: str) -> None:
        """Paint strokes over a layer wherever two lists of strokes differ."""
        from panfocus._threads import for_all
        from panfocus.retouch import changed_parts, paint_strokes

        with self._arrays.array(over) as below, self._arrays.array("frames") as frames:

            def paint(part: tuple[slice, slice]) -> None:
                rows, cols = part
                picture = paint_strokes(below[part], frames, strokes, (rows.start, cols.start))
                with edit_layer(self._arrays, LAYER, rows, cols) as layer:
                    layer[part] = picture

            for_all(paint, changed_parts(before, after))


def job_lock(job: str) -> asyncio.Lock:
    """Return the lock to hold while the strokes of a job are used."""
    return _locks.setdefault(job, asyncio.Lock())


async def _get(request: Request) -> Response:
    job, _ = _requested_job(request)
    async with job_lock(job.id):
        job, retouching = _requested_job(request)  # may have changed while this waited

        def read() -> dict[str, Any]:
            retouching.ensure_painted()
            return retouching.strokes().plain()

        plain = await asyncio.to_thread(read)
        plain["version"] = job.retouch_version
    return JsonAnswer(plain, background=BackgroundTask(retouching.warm_up))


async def _put(request: Request) -> Response:
    app: App = request.app.state.app
    job, _ = _requested_job(request)
    data = await json_body(request)
    made_from = data.pop("version", None)  # without it, any version is replaced
    async with job_lock(job.id):
        job, retouching = _requested_job(request)  # may have changed while this waited
        if made_from not in (None, job.retouch_version):
            current = await asyncio.to_thread(retouching.strokes)
            answer = {"error": _OUTDATED, "version": job.retouch_version, "strokes": current.plain()}
            return JsonAnswer(answer, 409)
        # Rises also when the job runs again: browsers cache tiles by version.
        version = max(job.retouch_version + 1, int(now()))

        def save(strokes: "Strokes") -> None:
            with app.store.jobs.edit(job) as draft:
                draft.retouch = {"version": version, "n_strokes": len(strokes.strokes)}

        strokes = await asyncio.to_thread(retouching.change, data, version, save)
        app.jobs.send(job)
    return JsonAnswer({"version": version, "strokes": strokes.plain()})


def _requested_job(request: Request) -> tuple[PageJob, Retouching]:
    """Return a finished fusion and its retouching."""
    app: App = request.app.state.app
    job = app.store.jobs.get(request.path_params["job"])
    if not job.is_fused:
        message = "This job has no image to retouch. Wait until it is done, or start it again."
        raise RequestError(409, message, job=job.id)
    return job, Retouching(app.store.jobs.folder(job.id), job.retouch_version)


routes = [
    Route("/api/jobs/{job}/retouch", _get, methods=["GET"]),
    Route("/api/jobs/{job}/retouch", _put, methods=["PUT"]),
]
