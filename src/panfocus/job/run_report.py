"""The report of a run: enough to do it again, and doing so."""

import dataclasses
import os
import platform
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.errors import FileError, InputError
from panfocus.job.inputs import Source
from panfocus.job.outputs import Outputs
from panfocus.job.prepare import Job
from panfocus.job.request import FREE, Request
from panfocus.job.serialization import plain, restored

if TYPE_CHECKING:
    from panfocus.methods import FusionResult
    from panfocus.stack import Stack

FORMAT = 1


def report_of(job: Job, stack: "Stack", result: "FusionResult", digests: "dict[Path, str]") -> dict[str, Any]:
    """Tell all that is known when the fusion is done; `digests` are those of the input files."""
    n_frames, height, width = stack.frames.shape[:3]
    scale = job.depth_scale
    return {
        "format": FORMAT,
        **result.report,
        "versions": versions(),
        "request": plain(
            dataclasses.replace(
                job.request, reference=_reference(job), outputs=job.request.outputs.at(Path.absolute)
            )
        ),
        "inputs": _files(job, job.source, digests),
        "applied_to": [_files(job, other, digests) for other in job.others],
        "dictionary": _file_if_any(job, job.request.dictionary, digests),
        "retouch": _file_if_any(job, job.request.retouch, digests),
        "preview": {"reduced_by": job.source.reduce, "width": width, "height": height}
        if job.request.preview
        else None,
        "depth": {
            "step": scale.step,
            "unit": scale.unit,
            "per_level_of_16_bit": scale.level(n_frames),
        },
        "warnings": [line for source in (job.source, *job.others) for line in source.left_out]
        + list(stack.notices),
        "dropped": job.bad.report(),
    }


def input_digests(job: Job) -> dict[Path, str]:
    """Digest every file that the result depends on."""
    from panfocus._threads import map_blocks
    from panfocus.io.atomic_files import digest

    paths = [path for source in (job.source, *job.others) for path in source.used]
    if job.request.dictionary and job.request.dictionary.exists():  # else one that is shipped, by its name
        paths.append(job.request.dictionary)
    if job.request.retouch:
        paths.append(job.request.retouch)
    paths = list(dict.fromkeys(paths))
    return dict(zip(paths, map_blocks(digest, paths), strict=True))


def versions() -> dict[str, str]:
    """Return the versions of what computes the result."""
    from importlib.metadata import version

    libraries = ("panfocus", "numpy", "scipy", "numba", "pillow", "tifffile", "imagecodecs", "PyWavelets")
    return {
        **{name: version(name) for name in libraries},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
    }


def redone(path: Path, given: Request) -> tuple[Request, list[str]]:
    """Return the request that a report tells of, if its inputs are still the same, and warnings.

    What is `given` beside it may name other outputs, which take the place of the report's, and may say what
    changes no pixel.
    """
    from panfocus.io.atomic_files import read_json

    _check_beside(given)
    report = read_json(path)
    if isinstance(report, dict) and "decisions" in report:
        raise FileError(
            f"{path}: it tells of a store, and what is too large to digest is not done again from a report; "
            "type its command again: the settings are in the report"
        )
    try:
        if report["format"] > FORMAT:
            raise FileError(f"{path}: written by a newer panfocus; update this one")
        files = [entry for entry in _every_file(report) if entry is not None]
        moved = _follow_moved(path, files)
        digests: dict[str, str] = {entry["path"]: entry["sha256"] for entry in files}
        request = _request_again(path, report, given, moved)
        said = [*_differences(report["versions"])]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileError(f"{path}: not a report of panfocus fuse, or damaged") from error
    _check_digests(path, digests)
    if moved:
        found = f"{len(moved)} of {len(digests)} files were not where the report has them, but beside it"
        said.insert(0, found)
    return request, said


def _check_beside(given: Request) -> None:
    """Refuse what has no say beside a report."""
    if given.inputs:
        raise InputError("--from-report has its own inputs; leave INPUT out")
    defaults = Request(inputs=(), outputs=given.outputs)
    for field in dataclasses.fields(Request):
        if field.name not in FREE and getattr(given, field.name) != getattr(defaults, field.name):
            raise InputError(
                "--from-report runs with the settings of the report; "
                f"leave out --{field.name.replace('_', '-').replace('settings', 'set')}"
            )
    if given.outputs != Outputs() and given.outputs.image is None:
        raise InputError("--from-report with other outputs than the report's: name the picture too, by -o")


def _every_file(report: Any) -> Iterator[dict[str, str] | None]:
    for files in (report["inputs"], *report["applied_to"]):
        yield from files
    yield from (report["dictionary"], report.get("retouch"))


def _request_again(path: Path, report: Any, given: Request, moved: dict[str, str]) -> Request:
    request: Request = restored(report["request"])
    dictionary, retouch = report["dictionary"], report.get("retouch")
    return dataclasses.replace(
        request,
        inputs=_paths(report["inputs"]),
        apply_to=tuple(_paths(files) for files in report["applied_to"]),
        dictionary=Path(dictionary["path"]) if dictionary else request.dictionary,
        retouch=Path(retouch["path"]) if retouch else request.retouch,
        reference=_moved_reference(request.reference, moved),
        outputs=_outputs_again(path, request.outputs) if given.outputs == Outputs() else given.outputs,
        threads=given.threads or request.threads,
        max_memory=given.max_memory or request.max_memory,
    )


def _follow_moved(report: Path, files: Iterable[dict[str, str]]) -> dict[str, str]:
    """Let files that are gone, but lie as they did from the report, be those; return old and new paths."""
    moved = {}
    for entry in files:
        before = Path(entry["path"])
        now = os.path.normpath(report.absolute().parent / entry.get("from_report", before.name))
        if not before.exists() and Path(now).exists():
            moved[entry["path"]] = now
            entry["path"] = now
    return moved


def _outputs_again(report: Path, outputs: Outputs) -> Outputs:
    """Return where a run's files are written again: where they were, or lay as seen from a moved report."""
    now, before = report.absolute(), outputs.report

    def place(path: Path) -> Path:
        if before is None or not path.is_absolute():  # a page's report names files that are saved beside it
            return now.parent / path
        if before.exists() and before.samefile(now):
            return path
        try:
            return Path(os.path.normpath(now.parent / os.path.relpath(path, before.parent)))
        except ValueError:  # on another drive of Windows
            return path

    return outputs.at(place)


def _moved_reference(reference: str | None, moved: dict[str, str]) -> str | None:
    """Return the name of a frame, which begins with its file's path, with the file's new path."""
    for before, now in moved.items():
        if reference is not None and (reference == before or reference.startswith(f"{before},")):
            return now + reference.removeprefix(before)
    return reference


def _check_digests(report: Path, digests: dict[str, str]) -> None:
    from panfocus.io.atomic_files import digest

    for path, before in digests.items():
        if digest(Path(path)) != before:
            raise FileError(f"{path} has changed since {report} was written; restore it, or fuse anew")


def _differences(before: dict[str, str]) -> Iterator[str]:
    now = versions()
    changed = [
        f"{name} {now[name]} (then {before.get(name, 'none')})"
        for name in now
        if now[name] != before.get(name)
    ]
    if changed:
        yield f"Other versions than in the report, so the result may differ in places: {', '.join(changed)}"


def _reference(job: Job) -> str | None:
    """Return how the reference is named where inputs are: by whole paths. A number stays one."""
    typed = job.request.reference
    if typed is None or job.reference is None or typed.isdecimal():
        return typed
    header = job.source.headers[job.reference]
    return header.name.replace(str(header.path), str(header.path.absolute()), 1)


def _files(job: Job, source: Source, digests: dict[Path, str]) -> list[dict[str, Any]]:
    entries = []
    times_given = Counter(source.used)
    n_frames = Counter(header.path for header in source.headers)
    size = {header.path: header.frame.image.shape[:2] for header in source.headers}
    for path in source.used:
        height, width = size[path]
        entries.append(
            {
                **_file(job, path, digests),
                "bytes": path.stat().st_size,
                "frames": n_frames[path] // times_given[path],
                "width": width,
                "height": height,
            }
        )
    return entries


def _file_if_any(job: Job, path: Path | None, digests: dict[Path, str]) -> dict[str, str] | None:
    return _file(job, path, digests) if path and path in digests else None


def _file(job: Job, path: Path, digests: dict[Path, str]) -> dict[str, str]:
    """Tell where a file is, also as seen from the report, with which it may be moved."""
    report = job.request.outputs.report
    try:
        seen = Path(os.path.relpath(path, report.parent if report else None)).as_posix()
    except ValueError:  # on another drive of Windows
        seen = path.name
    return {"path": str(path.absolute()), "from_report": seen, "sha256": digests[path]}


def _paths(files: Iterable[dict[str, str]]) -> tuple[str, ...]:
    return tuple(entry["path"] for entry in files)
