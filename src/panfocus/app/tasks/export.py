"""Files of a fusion that was kept: those, byte for byte, that the command line writes."""

from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.app.tasks.fuse import ARRAYS, KEPT, REPORT
from panfocus.app.tasks.progress_events import Tell

if TYPE_CHECKING:
    from panfocus.io.disk_array import ArrayFolder
    from panfocus.job.request import Request
    from panfocus.result import FusionResult
    from panfocus.stack import Frames


def run(task: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Write what `request` asks for of the job in `folder`; `picture` says whether the picture is wanted.

    The request's outputs are the files; `shown` is the same request with the names that a user would type.
    """
    from panfocus._threads import limit_threads
    from panfocus.app.saved_result import Kept
    from panfocus.io.atomic_files import read_json
    from panfocus.io.disk_array import ArrayFolder
    from panfocus.io.encode import encode_json
    from panfocus.job.run_report import versions
    from panfocus.job.serialization import from_plain
    from panfocus.job.write_outputs import file_kinds, output_contents, output_notices, write_outputs

    folder, request = Path(task["folder"]), from_plain(task["request"])
    kept: Kept = from_plain(read_json(folder / KEPT), Kept)
    arrays = ArrayFolder(folder / ARRAYS)
    kept.check(request)
    with limit_threads(request.threads), ExitStack() as rooms:
        stack = kept.stack(rooms.enter_context(arrays.array("frames")))
        slabs = rooms.enter_context(arrays.array("slabs")) if kept.n_slabs else None
        result = _result(arrays, request, stack.frames)
        strokes = task["shown"]["retouch"] and encode_json(read_json(request.retouch))
        said = output_notices(request.outputs.picture, stack, request.bits)
        contents = output_contents(request, result, stack, slabs, kept.depth_scale)
        if not task["picture"]:
            del contents[request.outputs.picture]
        report = read_json(folder / REPORT) if request.outputs.report else {}
        report.pop("stamps", None)  # for `exports`
        if report:
            for entry in report["inputs"]:  # the report goes where nobody knows; files may be put beside it
                entry["from_report"] = Path(entry["path"]).name
            report |= {
                "request": task["shown"],
                "versions": versions(),
                "warnings": [*kept.notices, *map(str, said)],
            }
        kinds = file_kinds(request, kept.n_slabs)
        if strokes:
            copy = request.outputs.picture.parent / task["shown"]["retouch"]
            contents[copy] = strokes
            kinds[copy] = "retouch"
            if report:
                place = {"path": copy.name, "from_report": copy.name}
                report["retouch"] = place | {"sha256": sha256(strokes).hexdigest()}
        write_outputs(
            request,
            contents,
            report or None,
            kinds=kinds,
            user_path=lambda path: Path(path.name),
            force=True,
        )
    paths = [*contents]
    return {
        "files": [{"name": path.name, "bytes": path.stat().st_size} for path in paths],
        "said": [str(notice) for notice in said],
    }


def _result(arrays: "ArrayFolder", request: "Request", frames: "Frames") -> "FusionResult":
    """Read the picture, retouched if it is, and the maps that are wanted."""
    from panfocus.job.prepare import check_stroke_size, read_strokes
    from panfocus.result import FusionResult
    from panfocus.retouch import painted

    def read(name: str) -> Any:
        with arrays.array(name) as array:
            return array[...]

    result = FusionResult(image=read("fused"), **{name: read(name) for name in request.outputs.maps()})
    strokes = read_strokes(request, frames)
    if strokes is None:
        return result
    check_stroke_size(strokes, frames, request.retouch)
    return replace(result, image=painted(result.image, frames, strokes.strokes))
