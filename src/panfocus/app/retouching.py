"""Retouching of a job's picture: its strokes, and the layer that shows them; only changes are painted.

Each change of the strokes is a file of its own, by the version that it makes. Which one counts is said by the
job alone, when the layer shows it: until then a change that fails, or a kill, has changed nothing.
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

from panfocus.app.responses import Answer, Refusal, json_body
from panfocus.app.result_layers import changed_layer, keep_layer
from panfocus.app.tasks.fuse import ARRAYS
from panfocus.app.work_folder import now
from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import read_json, write_files
from panfocus.io.disk_array import ArrayFolder
from panfocus.io.encode import encode_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from panfocus.retouch import Stroke, Strokes

LAYER = "retouched"
EVERY_VERSION = "retouch-*.json"
_PAINTING = "painting"  # there while the layer is painted: who finds it later knows that it was cut short

_CHANGED = "the strokes were changed elsewhere, as in another tab; these are made from older ones"

_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by job, as long as one is in use


class Retouching:
    """The strokes of a job, and its retouched layer. Methods take a while; one at a time for a job."""

    def __init__(self, folder: Path, version: int) -> None:
        self._folder = folder
        self._version = version  # 0 before the first change
        self._kept = ArrayFolder(folder / ARRAYS)
        self._painting = self._kept.folder / _PAINTING

    @property
    def file(self) -> Path:
        """Return where the strokes are, as `panfocus fuse --retouch` reads them."""
        return self._file_of(self._version)

    def strokes(self) -> "Strokes":
        """Return the strokes as they were last saved; none before that."""
        from panfocus.retouch import Strokes, parse_strokes

        if self._version:
            return parse_strokes(read_json(self.file))
        with self._kept.array("frames") as frames:
            n_frames, height, width = frames.shape[:3]
        return Strokes(width, height, n_frames)

    def change(self, data: dict[str, Any], version: int, keep: Callable[["Strokes"], object]) -> "Strokes":
        """Show other strokes, with the gains that they ask for, and `keep` them as the job's of this version.

        If anything of that fails, all is as it was.
        """
        before, after = self.strokes(), self._asked(data)
        was_shown = self._is_shown()
        file = self._file_of(version)
        write_files({file: encode_json(after.plain(), indent=None)}, force=True)
        try:
            write_files({self._painting: b""}, force=True)
            if was_shown:
                self._paint_changes(before, after)
            else:
                self._show_all(after)
            keep(after)
        except BaseException:
            with suppress(PanfocusError, OSError):  # what is not mended now is by `ensure_shown`
                file.unlink()
                if was_shown:
                    self._paint(before, after, before.strokes, over="fused")
                    self._painting.unlink(missing_ok=True)
                elif not self._version:
                    self.ensure_shown()
            raise
        self._tidy_up(file)
        return after

    def ensure_shown(self) -> None:
        """Let the layer show the strokes: a server that was killed may have left it half painted."""
        if self._painting.exists():
            if self._version:
                self._show_all(self.strokes())
            else:
                for path in self._kept.folder.glob(f"{LAYER}.*"):
                    path.unlink()
            self._tidy_up(self.file)

    def warm_up(self) -> None:
        """Load, and on a new machine compile, what paints: the first stroke is not to wait for it."""
        from panfocus.retouch import Stroke, painted

        with self._kept.array("fused") as fused, self._kept.array("frames") as frames:
            painted(fused[:1, :1], frames, [Stroke(0, ((0.0, 0.0),), 1.0)])

    def _file_of(self, version: int) -> Path:
        return self._folder / f"retouch-{version}.json"

    def _asked(self, data: dict[str, Any]) -> "Strokes":
        """Return strokes that fit the picture, with the gains that they ask for."""
        from panfocus.retouch import parse_strokes, with_gains
        from panfocus.stack import colours

        asked = parse_strokes(data, matching=True)
        with self._kept.array("frames") as frames, self._kept.array("fused") as fused:
            n_frames, height, width = frames.shape[:3]
            asked.check_frames(n_frames, colours(frames[0, :1, :1]).shape[2])
            asked.check_size(width, height)
            return with_gains(asked, fused, frames)

    def _is_shown(self) -> bool:
        return self._version > 0 and LAYER in self._kept and not self._painting.exists()

    def _tidy_up(self, file: Path) -> None:
        """Leave the file that counts; the mark at last, so that what a kill leaves is found."""
        for path in self._folder.glob(EVERY_VERSION):
            if path != file:
                path.unlink(missing_ok=True)
        self._painting.unlink(missing_ok=True)

    def _show_all(self, strokes: "Strokes") -> None:
        from panfocus.retouch import Strokes

        with self._kept.array("fused") as fused:
            keep_layer(self._kept, LAYER, fused)
        none = Strokes(strokes.width, strokes.height, strokes.n_frames)
        self._paint(none, strokes, strokes.strokes, over=LAYER)

    def _paint_changes(self, before: "Strokes", after: "Strokes") -> None:
        """Paint new strokes over the layer, or all over what was fused where some are taken back."""
        from panfocus.retouch import count_alike

        n_before = len(before.strokes)
        if count_alike(before, after) == n_before:
            self._paint(before, after, after.strokes[n_before:], over=LAYER)
        else:
            self._paint(before, after, after.strokes, over="fused")

    def _paint(self, before: "Strokes", after: "Strokes", strokes: "Sequence[Stroke]", *, over: str) -> None:
        """Paint strokes over a layer, where two lists differ."""
        from panfocus._threads import for_all
        from panfocus.retouch import changed_parts, painted

        with self._kept.array(over) as below, self._kept.array("frames") as frames:

            def paint(part: tuple[slice, slice]) -> None:
                rows, cols = part
                picture = painted(below[part], frames, strokes, (rows.start, cols.start))
                with changed_layer(self._kept, LAYER, rows, cols) as layer:
                    layer[part] = picture

            for_all(paint, changed_parts(before, after))


def one_at_a_time(job: str) -> asyncio.Lock:
    """Return what whoever retouches a job has to hold."""
    return _locks.setdefault(job, asyncio.Lock())


async def _get(request: Request) -> Response:
    job, _ = _found(request)
    async with one_at_a_time(job["id"]):
        job, retouching = _found(request)  # others may have removed or changed it while they were waited for

        def look() -> dict[str, Any]:
            retouching.ensure_shown()
            return retouching.strokes().plain()

        plain = await asyncio.to_thread(look)
        plain["version"] = _version(job)
    return Answer(plain, background=BackgroundTask(retouching.warm_up))


async def _put(request: Request) -> Response:
    app = request.app.state.app
    job, _ = _found(request)
    data = await json_body(request)
    made_from = data.pop("version", None)  # a script that does not say means: whatever there is
    async with one_at_a_time(job["id"]):
        # Others may have removed or changed it, or begun it anew, while they were waited for.
        job, retouching = _found(request)
        if made_from not in (None, _version(job)):
            present = await asyncio.to_thread(retouching.strokes)
            told = {"error": _CHANGED, "version": _version(job), "strokes": present.plain()}
            return Answer(told, 409)
        # Rises from run to run too: browsers keep tiles by it.
        version = max(_version(job) + 1, int(now()))

        def keep(strokes: "Strokes") -> None:
            app.store.jobs.save(job, retouch={"version": version, "n_strokes": len(strokes.strokes)})

        strokes = await asyncio.to_thread(retouching.change, data, version, keep)
        app.events.tell({"kind": "job", "job": app.jobs.public(job)})
    return Answer({"version": version, "strokes": strokes.plain()})


def retouching_of(folder: Path, job: dict[str, Any]) -> Retouching:
    """Return what retouches a job that has this folder, as it is now."""
    return Retouching(folder, _version(job))


def _version(job: dict[str, Any]) -> int:
    """Return which change of a job's strokes counts; 0 before the first."""
    return int((job.get("retouch") or {"version": 0})["version"])


def _found(request: Request) -> tuple[dict[str, Any], Retouching]:
    """Return a job whose picture is there, and what retouches it."""
    jobs, name = request.app.state.app.store.jobs, request.path_params["job"]
    job: dict[str, Any] = jobs.get(name)
    if job["kind"] != "fuse" or job["state"] != "done":
        raise Refusal(409, "this job has no picture to retouch; wait until it is done, or start it again")
    return job, retouching_of(jobs.folder(name), job)


routes = [
    Route("/api/jobs/{job}/retouch", _get, methods=["GET"]),
    Route("/api/jobs/{job}/retouch", _put, methods=["PUT"]),
]
