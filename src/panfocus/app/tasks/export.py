"""Write files of a saved fusion, with the same bytes as the command line writes."""

from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from panfocus._threads import limit_threads
from panfocus.app.request_builder import without_folder
from panfocus.app.saved_result import SavedResult
from panfocus.app.state import ARRAYS, REPORT, SAVED_RESULT
from panfocus.app.tasks import ExportSummary, Send
from panfocus.app.wording import page_text
from panfocus.io.atomic_files import read_json
from panfocus.io.disk_array import ArrayFolder
from panfocus.io.encode import encode_json
from panfocus.job.request import Request
from panfocus.job.retouching import read_strokes, retouch_image
from panfocus.job.run_report import versions
from panfocus.job.serialization import from_plain, to_plain
from panfocus.job.write_outputs import file_kinds, output_contents, output_notices, write_outputs
from panfocus.result import FusionResult
from panfocus.stack import Frames


def run(send: Send, *, folder: str, request: dict[str, Any], with_image: bool) -> ExportSummary:
    """Write the outputs and the strokes of a request; the image only `with_image`."""
    place, wanted = Path(folder), from_plain(request)
    saved: SavedResult = from_plain(read_json(place / SAVED_RESULT), SavedResult)
    arrays = ArrayFolder(place / ARRAYS)
    saved.check(wanted)
    with limit_threads(wanted.threads), ExitStack() as files:
        stack = saved.stack(files.enter_context(arrays.array("frames")))
        slabs = files.enter_context(arrays.array("slabs")) if saved.n_slabs else None
        result = _read_result(arrays, wanted, stack.frames)
        strokes = wanted.retouch and encode_json(read_json(wanted.retouch))
        notices = output_notices(wanted.outputs.picture, stack, wanted.bits)
        contents = output_contents(wanted, replace(result, slabs=slabs), stack, saved.depth_scale)
        if not with_image:
            del contents[wanted.outputs.picture]
        report = read_json(place / REPORT) if wanted.outputs.report else {}
        if report:
            del report["stamps"]
            for entry in report["inputs"]:  # where the user saves the report is unknown: paths become names
                entry["from_report"] = Path(entry["path"]).name
            report |= {
                "request": to_plain(without_folder(wanted)),
                "versions": versions(),
                "warnings": [*saved.notices, *map(str, notices)],
            }
        kinds = file_kinds(wanted, saved.n_slabs)
        if strokes:
            contents[wanted.retouch] = strokes
            kinds[wanted.retouch] = "retouch"
            if report:
                entry = dict.fromkeys(("path", "from_report"), wanted.retouch.name)
                report["retouch"] = entry | {"sha256": sha256(strokes).hexdigest()}
        write_outputs(
            wanted, contents, report or None, kinds=kinds, user_path=lambda path: Path(path.name), force=True
        )
    return {
        "files": [{"name": path.name, "bytes": path.stat().st_size} for path in contents],
        "notices": [page_text(notice) for notice in notices],
    }


def _read_result(arrays: ArrayFolder, request: Request, frames: Frames) -> FusionResult:
    """Read the image, with its retouching, and the maps that are exported."""

    def read(name: str) -> Any:
        with arrays.array(name) as array:
            return array[...]

    result = FusionResult(image=read("fused"), **{name: read(name) for name in request.outputs.maps()})
    strokes = read_strokes(request, frames)
    if strokes is None:
        return result
    return replace(result, image=retouch_image(strokes, result.image, frames, request.retouch))
