"""The report of a run: how to write it, and how to repeat a run from it."""

import dataclasses
import os
import platform
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.errors import FileError, InputError
from panfocus.job.inputs import FrameSource
from panfocus.job.prepare import Job
from panfocus.job.request import NOT_REPEATED, Outputs, Request
from panfocus.job.serialization import from_plain, to_plain

if TYPE_CHECKING:
    from panfocus.pipeline import Fusion

FORMAT = 1


def run_report(job: Job, fusion: "Fusion", digests: "dict[Path, str]") -> dict[str, Any]:
    """Return all facts of a finished fusion; `digests` are those of its input files, if they were taken."""
    stack = fusion.stack
    n_frames, height, width = stack.frames.shape[:3]
    scale = job.depth_scale
    return {
        "format": FORMAT,
        **fusion.result.report,
        "versions": versions(),
        "request": to_plain(
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
        "warnings": [line for source in (job.source, *job.others) for line in source.skipped]
        + [str(notice) for notice in stack.notices],
        "dropped": job.bad.report(),
    }


def input_digests(job: Job) -> dict[Path, str]:
    """Return the SHA-256 digest of every file that the result depends on."""
    from panfocus._threads import map_blocks
    from panfocus.io.atomic_files import digest

    paths = [path for source in (job.source, *job.others) for path in source.used_paths]
    if job.request.dictionary and job.request.dictionary.exists():  # else the name of a shipped one
        paths.append(job.request.dictionary)
    if job.request.retouch:
        paths.append(job.request.retouch)
    paths = list(dict.fromkeys(paths))
    return dict(zip(paths, map_blocks(digest, paths), strict=True))


def versions() -> dict[str, str]:
    """Return the versions of panfocus and of the libraries that affect the result."""
    from importlib.metadata import version

    libraries = ("panfocus", "numpy", "scipy", "numba", "pillow", "tifffile", "imagecodecs", "PyWavelets")
    return {
        **{name: version(name) for name in libraries},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
    }


def repeat_request(path: Path, given: Request) -> tuple[Request, list[str]]:
    """Return the request of a report, if its inputs have not changed, and notices.

    `given` may name other outputs, which replace those of the report, and options that change no pixel.
    """
    from panfocus.io.atomic_files import read_json

    _check_given(given)
    report = read_json(path)
    if isinstance(report, dict) and "units" in report:
        raise FileError(
            f"{path}: runs on stores cannot be repeated from a report. Repeat the command; its settings "
            "are in the report.",
            file=path,
        )
    try:
        if report["format"] > FORMAT:
            raise FileError(f"{path}: written by a newer version of panfocus. Update panfocus.", file=path)
        files = [entry for entry in _every_file(report) if entry is not None]
        moved = _follow_moved(path, files)
        digests: dict[str, str] = {entry["path"]: entry["sha256"] for entry in files}
        request = _request_again(path, report, given, moved)
        notices = [*_version_notices(report["versions"])]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileError(f"{path}: This is not a report of a fusion, or it is damaged.", file=path) from error
    _check_digests(path, digests)
    if moved:
        notices.insert(
            0, f"{len(moved)} of {len(digests)} files have moved and were found next to the report."
        )
    return request, notices


def _check_given(given: Request) -> None:
    """Refuse options that cannot be combined with a report."""
    if given.inputs:
        raise InputError("`from_report` cannot be combined with `inputs`.", setting="from_report")
    defaults = Request(inputs=(), outputs=given.outputs)
    for field in dataclasses.fields(Request):
        if field.name not in NOT_REPEATED and getattr(given, field.name) != getattr(defaults, field.name):
            raise InputError(
                f"`from_report` cannot be combined with `{field.name}`: the report has the settings.",
                setting="from_report",
                other=field.name,
            )
    if given.outputs != Outputs() and given.outputs.image is None:
        raise InputError(
            "`from_report` with other outputs needs the name of the fused image.",
            hint="name_output",
            setting="output",
        )


def _every_file(report: Any) -> Iterator[dict[str, str] | None]:
    for files in (report["inputs"], *report["applied_to"]):
        yield from files
    yield from (report["dictionary"], report.get("retouch"))


def _request_again(path: Path, report: Any, given: Request, moved: dict[str, str]) -> Request:
    request: Request = from_plain(report["request"])
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
    """Find missing files relative to the report, and return their old and new paths."""
    moved = {}
    for entry in files:
        before = Path(entry["path"])
        now = os.path.normpath(report.absolute().parent / entry.get("from_report", before.name))
        if not before.exists() and Path(now).exists():
            moved[entry["path"]] = now
            entry["path"] = now
    return moved


def _outputs_again(report: Path, outputs: Outputs) -> Outputs:
    """Return where the outputs are written again: at their old places, or relative to a moved report."""
    now, before = report.absolute(), outputs.report

    def place(path: Path) -> Path:
        if before is None or not path.is_absolute():  # reports of the page name files next to them
            return now.parent / path
        if before.exists() and before.samefile(now):
            return path
        try:
            return Path(os.path.normpath(now.parent / os.path.relpath(path, before.parent)))
        except ValueError:  # another drive on Windows
            return path

    return outputs.at(place)


def _moved_reference(reference: str | None, moved: dict[str, str]) -> str | None:
    """Return the name of a frame, which begins with the path of its file, with the new path."""
    for before, now in moved.items():
        if reference is not None and (reference == before or reference.startswith(f"{before} (page ")):
            return now + reference.removeprefix(before)
    return reference


def _check_digests(report: Path, digests: dict[str, str]) -> None:
    from panfocus.io.atomic_files import digest

    for path, before in digests.items():
        if digest(Path(path)) != before:
            raise FileError(
                f"{path} has changed since {report} was written. Restore it, or fuse without the report.",
                file=path,
            )


def _version_notices(before: dict[str, str]) -> Iterator[str]:
    now = versions()
    changed = [
        f"{name} {now[name]} (was {before.get(name, 'not installed')})"
        for name in now
        if now[name] != before.get(name)
    ]
    if changed:
        yield f"Versions differ from those of the report, so the result may differ: {', '.join(changed)}."


def _reference(job: Job) -> str | None:
    """Return the name of the reference with the full path of its file; a number stays a number."""
    name = job.request.reference
    if name is None or job.reference is None or name.isdecimal():
        return name
    header = job.source.headers[job.reference]
    return header.name.replace(str(header.path), str(header.path.absolute()), 1)


def _files(job: Job, source: FrameSource, digests: dict[Path, str]) -> list[dict[str, Any]]:
    entries = []
    times_given = Counter(source.used_paths)
    n_frames = Counter(header.path for header in source.headers)
    size = {header.path: header.frame.image.shape[:2] for header in source.headers}
    for path in source.used_paths:
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
    """Return where a file is, also relative to the report, with which it may be moved."""
    report = job.request.outputs.report
    try:
        seen = Path(os.path.relpath(path, report.parent if report else None)).as_posix()
    except ValueError:  # another drive on Windows
        seen = path.name
    place = {"path": str(path.absolute()), "from_report": seen}
    return place | ({"sha256": digests[path]} if path in digests else {})


def _paths(files: Iterable[dict[str, str]]) -> tuple[str, ...]:
    return tuple(entry["path"] for entry in files)
