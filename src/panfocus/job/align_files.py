"""Align a stack from files to files: each frame is written again, with its name and metadata."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from panfocus._progress import Progress, silent
from panfocus.errors import InputError, Notice, usage_errors, warnings_as_notes

if TYPE_CHECKING:
    from panfocus.io.atomic_files import Content
    from panfocus.io.headers import Header
    from panfocus.stack import Stack

REPORT = "alignment.json"
_IN_MEMORY = 1_000_000_000  # bytes; larger stacks go through a scratch file


@dataclass(frozen=True)
class AlignedFiles:
    """Result of `align_files`: the written frames, the model ("none": not moved), warnings and notices."""

    frames: tuple[Path, ...]
    model: str
    size: tuple[int, int]  # height and width of the frames that were read
    warnings: tuple[str, ...]
    notices: tuple[Notice | str, ...]


def align_files(
    inputs: Sequence[str],
    folder: Path,
    *,
    model: str = "auto",
    reference: str | None = None,
    borders: str = "full",
    skip_bad: bool = False,
    threads: int | None = None,
    force: bool = False,
    progress: Progress = silent,
    before_commit: Callable[[], None] = lambda: None,
) -> AlignedFiles:
    """Align frames and write them, with a report, to a folder; all files or none.

    `before_commit` is called before files appear in the folder. The other arguments are the options of
    `panfocus align`.
    """
    from panfocus._checks import check_choice
    from panfocus._threads import limit_threads
    from panfocus.io.atomic_files import check_destination, create_folder, trial_folder, write_files
    from panfocus.io.disk_array import scratch_allocator
    from panfocus.io.encode import encode_json
    from panfocus.io.headers import read_headers, select_matching
    from panfocus.io.input_files import find_inputs
    from panfocus.job.inputs import FrameSource, find_reference, read_frames, reference_among
    from panfocus.preprocess.frame_checks import BadFrames
    from panfocus.registration import BORDERS, CHOICES
    from panfocus.registration.aligned_frames import apply_alignment, find_stack_alignment

    bad = BadFrames(skip=skip_bad)
    skipped: list[str] = []
    with warnings_as_notes(lambda: [*skipped, *bad.warnings]):
        with usage_errors():
            check_choice("model", model, CHOICES)
            check_choice("borders", borders, BORDERS)
            paths = find_inputs(inputs, warn=skipped.append)
            headers = select_matching(read_headers(paths, bad), bad)
            source = FrameSource(paths, headers, reduce=1)
            reference_number = find_reference(reference, headers)
        targets = _targets(folder, headers)
        with trial_folder(folder):
            for path in (*targets, folder / REPORT):
                check_destination(path, force=force, inputs=paths)
        with limit_threads(threads), ExitStack() as scratch:
            in_memory = source.blank_frames.nbytes <= _IN_MEMORY
            stack = read_frames(source, scratch, progress, in_memory=in_memory, bad=bad)
            reference_number = reference_among(reference_number, headers, stack)
            stack, found = find_stack_alignment(
                stack, model, reference=reference_number, borders=borders, bad=bad, progress=progress
            )
            frames = apply_alignment(
                found,
                stack.frames,
                borders,
                allocate=scratch_allocator(scratch),
                overwrite=True,
                progress=progress,
            )
            stack = replace(stack, frames=frames)
            # Frames that were not skipped, in their order.
            candidates = iter(zip(targets, headers, strict=True))
            used = [next(each for each in candidates if each[1].name == name) for name in stack.names]
            contents: dict[Path, Content] = {
                path: _content(path, stack, header, k) for k, (path, header) in enumerate(used)
            }
            contents[folder / REPORT] = encode_json(
                {
                    "frames": list(stack.names),
                    **found.report(),
                    "warnings": [*skipped, *map(str, stack.notices)],
                    "dropped": bad.report(),
                }
            )
            before_commit()
            with create_folder(folder):
                write_files(contents, force=force)
    written = tuple(path for path, _ in used)
    return AlignedFiles(written, found.model, found.size, (*skipped, *bad.warnings), tuple(stack.notices))


def _targets(folder: Path, headers: "Sequence[Header]") -> list[Path]:
    """Return an output file for each frame, with the page number if its file has several."""
    paths = [header.path for header in headers]
    names: list[Path] = []
    for k, header in enumerate(headers):
        is_float = header.frame.image.dtype.kind == "f"
        suffix = ".tif" if is_float or header.path.suffix.lower() in (".tif", ".tiff") else ".png"
        number = paths[:k].count(header.path) + 1
        page = f"-page{number:04}" if paths.count(header.path) > 1 else ""
        name = folder / f"{header.path.stem}{page}{suffix}"
        if name in names:
            raise InputError(
                f"{name}: two frames have this output name. Rename one of the frames.", file=str(name)
            )
        names.append(name)
    return names


def _content(path: Path, stack: "Stack", header: "Header", k: int) -> "Content":
    """Return the file of one frame with its own metadata; only one is in memory at a time."""
    from panfocus.io.atomic_files import deferred
    from panfocus.io.encode import encode_image
    from panfocus.io.headers import read_metadata

    own = replace(stack, metadata=read_metadata(header), icc_profile=header.frame.icc_profile)
    return deferred(lambda: encode_image(path, stack.frames[k], like=own))
