"""Retouching of a job's picture: its strokes, and the layer that shows them; only changes are painted."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from panfocus.app.answers import Answer, Refusal, json_body
from panfocus.app.layers import changed_layer, keep_layer
from panfocus.app.store import now
from panfocus.app.tasks.fuse import ARRAYS, STROKES
from panfocus.io.files import digest, read_json, read_text, write_files
from panfocus.io.kept_arrays import KeptArrays
from panfocus.io.write import encode_json

if TYPE_CHECKING:
    from panfocus.retouch import Strokes

LAYER = "retouched"
_SHOWN = "retouched.txt"  # digest of the strokes that the layer shows: another if painting them was cut short

_CHANGED = "the strokes were changed elsewhere, as in another tab; these are made from older ones"

_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by job, as long as one is in use


class Retouching:
    """The strokes of a job, and its retouched layer. Methods take a while; one at a time for a job."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / STROKES  # as `panfocus fuse --retouch` reads it
        self._kept = KeptArrays(folder / ARRAYS)

    def strokes(self) -> "Strokes":
        """Return the strokes as they were last saved; none before that."""
        from panfocus.retouch import Strokes, parse_strokes

        if self.file.exists():
            return parse_strokes(read_json(self.file))
        with self._kept.array("frames") as frames:
            n_frames, height, width = frames.shape[:3]
        return Strokes(width, height, n_frames)

    def change(self, data: dict[str, Any]) -> "Strokes":
        """Save other strokes in their place, with the gains that they ask for, and show them."""
        from panfocus.retouch import count_alike, parse_strokes, with_gains
        from panfocus.stack import colours

        asked = parse_strokes(data, matching=True)
        with self._kept.array("frames") as frames, self._kept.array("fused") as fused:
            n_frames, height, width = frames.shape[:3]
            asked.check_frames(n_frames, colours(frames[0, :1, :1]).shape[2])
            asked.check_size(width, height)
            strokes = with_gains(asked, fused, frames)
        before = self.strokes() if self._is_shown() else None
        write_files({self.file: encode_json(strokes.plain(), indent=None)}, force=True)
        if before is None:
            self._show_all(strokes)
        elif count_alike(before, strokes) == len(before.strokes):
            self._paint(before, strokes, over=LAYER)
        else:  # something is taken back
            self._paint(before, strokes, over="fused")
        return strokes

    def ensure_shown(self) -> None:
        """Let the layer show the strokes: a server that was killed may have left it half painted."""
        if self.file.exists() and not self._is_shown():
            self._show_all(self.strokes())

    def warm_up(self) -> None:
        """Load, and on a new machine compile, what paints: the first stroke is not to wait for it."""
        from panfocus.retouch import Stroke, painted

        with self._kept.array("fused") as fused, self._kept.array("frames") as frames:
            painted(fused[:1, :1], frames, [Stroke(0, ((0.0, 0.0),), 1.0)])

    def _is_shown(self) -> bool:
        shown = self._kept.folder / _SHOWN
        return (
            LAYER in self._kept
            and self.file.exists()
            and shown.exists()
            and read_text(shown) == digest(self.file)
        )

    def _show_all(self, strokes: "Strokes") -> None:
        from panfocus.retouch import Strokes

        with self._kept.array("fused") as fused:
            keep_layer(self._kept, LAYER, fused)
        none = Strokes(strokes.width, strokes.height, strokes.n_frames)
        self._paint(none, strokes, over=LAYER)

    def _paint(self, before: "Strokes", after: "Strokes", *, over: str) -> None:
        """Paint where the strokes differ: all of them over what was fused, or the new ones over the layer."""
        from panfocus._threads import for_all
        from panfocus.retouch import changed_parts, painted

        strokes = after.strokes if over == "fused" else after.strokes[len(before.strokes) :]
        with self._kept.array(over) as below, self._kept.array("frames") as frames:

            def paint(part: tuple[slice, slice]) -> None:
                rows, cols = part
                picture = painted(below[part], frames, strokes, (rows.start, cols.start))
                with changed_layer(self._kept, LAYER, rows, cols) as layer:
                    layer[part] = picture

            for_all(paint, changed_parts(before, after))
        write_files({self._kept.folder / _SHOWN: digest(self.file).encode()}, force=True)


def one_at_a_time(job: str) -> asyncio.Lock:
    """Return what whoever retouches a job has to hold."""
    return _locks.setdefault(job, asyncio.Lock())


async def _get(request: Request) -> Response:
    job, retouching = _found(request)

    def look() -> dict[str, Any]:
        retouching.ensure_shown()
        return retouching.strokes().plain()

    async with one_at_a_time(job["id"]):
        job, _ = _found(request)  # others may have removed it while they were waited for
        plain = await asyncio.to_thread(look)
        plain["version"] = _version(job)
    return Answer(plain, background=BackgroundTask(retouching.warm_up))


async def _put(request: Request) -> Response:
    app = request.app.state.app
    job, retouching = _found(request)
    data = await json_body(request)
    made_from = data.pop("version", None)  # a script that does not say means: whatever there is
    async with one_at_a_time(job["id"]):
        job, _ = _found(request)  # others may have removed it, or begun it anew, while they were waited for
        if made_from not in (None, _version(job)):
            present = await asyncio.to_thread(retouching.strokes)
            told = {"error": _CHANGED, "version": _version(job), "strokes": present.plain()}
            return Answer(told, 409)
        strokes = await asyncio.to_thread(retouching.change, data)
        job, _ = _found(request)  # again, as that took a while
        # Rises from run to run too: browsers keep tiles by it.
        version = max(_version(job) + 1, int(now()))
        app.store.jobs.save(job, retouch={"version": version, "n_strokes": len(strokes.strokes)})
        app.events.tell({"kind": "job", "job": app.jobs.public(job)})
    return Answer({"version": version, "strokes": strokes.plain()})


def _version(job: dict[str, Any]) -> int:
    """Count the changes of a job's strokes; 0 before the first."""
    return int((job.get("retouch") or {"version": 0})["version"])


def _found(request: Request) -> tuple[dict[str, Any], Retouching]:
    """Return a job whose picture is there, and what retouches it."""
    jobs, name = request.app.state.app.store.jobs, request.path_params["job"]
    job: dict[str, Any] = jobs.get(name)
    if job["kind"] != "fuse" or job["state"] != "done":
        raise Refusal(409, "this job has no picture to retouch; wait until it is done, or start it again")
    return job, Retouching(jobs.folder(name))


routes = [
    Route("/api/jobs/{job}/retouch", _get, methods=["GET"]),
    Route("/api/jobs/{job}/retouch", _put, methods=["PUT"]),
]
