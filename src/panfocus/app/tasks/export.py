"""Write files of a saved fusion, with the same bytes as the command line writes."""

from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.app.state import ARRAYS, REPORT, SAVED_RESULT
from panfocus.app.tasks import ExportSummary, ExportTask, Send
from panfocus.app.wording import page_text

if TYPE_CHECKING:
    from panfocus.io.disk_array import ArrayFolder
    from panfocus.job.request import Request
    from panfocus.result import FusionResult
    from panfocus.stack import Frames


def run(task: ExportTask, send: Send) -> ExportSummary:
    """Write the outputs of the request; `picture` says whether the image is among them."""
    from panfocus._threads import limit_threads
    from panfocus.app.saved_result import SavedResult
    from panfocus.io.atomic_files import read_json
    from panfocus.io.disk_array import ArrayFolder
    from panfocus.io.encode import encode_json
    from panfocus.job.run_report import versions
    from panfocus.job.serialization import from_plain
    from panfocus.job.write_outputs import file_kinds, output_contents, output_notices, write_outputs

    folder, request = Path(task["folder"]), from_plain(task["request"])
    saved: SavedResult = from_plain(read_json(folder / SAVED_RESULT), SavedResult)
    arrays = ArrayFolder(folder / ARRAYS)
    saved.check(request)
    with limit_threads(request.threads), ExitStack() as files:
        stack = saved.stack(files.enter_context(arrays.array("frames")))
        slabs = files.enter_context(arrays.array("slabs")) if saved.n_slabs else None
        result = _read_result(arrays, request, stack.frames)
        strokes = task["shown"]["retouch"] and encode_json(read_json(request.retouch))
        notices = output_notices(request.outputs.picture, stack, request.bits)
        contents = output_contents(request, result, stack, slabs, saved.depth_scale)
        if not task["picture"]:
            del contents[request.outputs.picture]
        report = read_json(folder / REPORT) if request.outputs.report else {}
        if report:
            del report["stamps"]
            for entry in report["inputs"]:  # where the user saves the report is unknown: paths become names
                entry["from_report"] = Path(entry["path"]).name
            report |= {
                "request": task["shown"],
                "versions": versions(),
                "warnings": [*saved.notices, *map(str, notices)],
            }
        kinds = file_kinds(request, saved.n_slabs)
        if strokes:
            copy = request.outputs.picture.parent / task["shown"]["retouch"]
            contents[copy] = strokes
            kinds[copy] = "retouch"
            if report:
                entry = {"path": copy.name, "from_report": copy.name}
                report["retouch"] = entry | {"sha256": sha256(strokes).hexdigest()}
        write_outputs(
            request,
            contents,
            report or None,
            kinds=kinds,
            user_path=lambda path: Path(path.name),
            force=True,
        )
    return {
        "files": [{"name": path.name, "bytes": path.stat().st_size} for path in contents],
        "said": [page_text(notice) for notice in notices],
    }


def _read_result(arrays: "ArrayFolder", request: "Request", frames: "Frames") -> "FusionResult":
    """Read the image, with its retouching, and the maps that are exported."""
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
