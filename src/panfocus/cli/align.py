"""`panfocus align`: align the frames of a stack and write them."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from panfocus._progress import Progress
from panfocus.cli._console import console, count
from panfocus.cli._options import (
    INPUT_HELP,
    Borders,
    Debug,
    Force,
    OutputFolder,
    Quiet,
    Reference,
    SkipBad,
    Threads,
)
from panfocus.errors import InputError, usage_errors

if TYPE_CHECKING:
    from panfocus.io.atomic_files import Content
    from panfocus.io.headers import Header
    from panfocus.preprocess.frame_checks import BadFrames
    from panfocus.stack import Stack

REPORT = "alignment.json"
_IN_MEMORY = 1_000_000_000  # bytes; larger stacks go through a scratch file


def align(
    *,
    inputs: Annotated[list[str], typer.Argument(metavar="INPUT", help=INPUT_HELP)],
    output: OutputFolder,
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Transform: auto (the simplest that fits), shift, similarity, affine or homography.",
        ),
    ] = "auto",
    reference: Reference = None,
    borders: Borders = "full",
    skip_bad: SkipBad = False,
    threads: Threads = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Align the frames of a stack.

    Each frame keeps its name and bit depth. TIFF and float frames are written as TIFF, others as PNG.
    """
    with console(quiet=quiet, debug=debug) as terminal:
        from panfocus._checks import one_of
        from panfocus._threads import limit_threads
        from panfocus.io.atomic_files import check_destination, create_folder, trial_folder, write_files
        from panfocus.io.encode import encode_json
        from panfocus.io.headers import read_headers, select_matching
        from panfocus.io.input_files import find_inputs
        from panfocus.job.inputs import find_reference, reference_among
        from panfocus.job.runner import allocator
        from panfocus.pipeline import alignment_report, apply_stack_alignment, find_stack_alignment
        from panfocus.preprocess.frame_checks import BadFrames
        from panfocus.registration import BORDERS, CHOICES

        with usage_errors():
            one_of("model", model, CHOICES)
            one_of("borders", borders, BORDERS)
            left_out: list[str] = []
            paths = find_inputs(inputs, warn=left_out.append)
            for line in left_out:
                terminal.warn(line)
            bad = BadFrames(skip=skip_bad)
            headers = select_matching(read_headers(paths, bad), bad)
            middle = find_reference(reference, headers)
        targets = _targets(output, headers)
        with trial_folder(output):
            for path in (*targets, output / REPORT):
                check_destination(path, force=force, inputs=paths)
        with limit_threads(threads), ExitStack() as room:
            stack = _read(headers, room, terminal.progress, bad)
            middle = reference_among(middle, headers, stack)
            stack, found = find_stack_alignment(
                stack, model, reference=middle, borders=borders, bad=bad, progress=terminal.progress
            )
            stack = apply_stack_alignment(
                stack, found, borders, allocate=allocator(room), overwrite=True, progress=terminal.progress
            )
            left = _left(stack.names, headers, targets)
            contents: dict[Path, Content] = {
                path: _later(path, stack, header, k) for k, (path, header) in enumerate(left)
            }
            contents[output / REPORT] = encode_json(
                {
                    "frames": list(stack.names),
                    **alignment_report(found),
                    "warnings": [*left_out, *map(str, stack.notices)],
                    "dropped": bad.report(),
                }
            )
            terminal.finish()
            with create_folder(output):
                write_files(contents, force=force)
        for warning in bad.warnings:
            terminal.warn(warning)
        for notice in stack.notices:
            terminal.say(notice)
        if found.model == "none":
            terminal.say("The frames needed no alignment.")
        terminal.say(f"Wrote {count(len(left), 'frame')} and {REPORT} to {output}")


def _read(headers: "Sequence[Header]", room: ExitStack, progress: Progress, bad: "BadFrames") -> "Stack":
    """Decode the frames into memory, or into a scratch file that `room` closes."""
    import numpy as np

    from panfocus._checks import blank
    from panfocus.io.disk_array import scratch_frames
    from panfocus.io.read_stack import read_into

    first = headers[0].frame.image
    like = blank((len(headers), *first.shape), first.dtype)
    if like.nbytes <= _IN_MEMORY:
        return read_into(np.empty(like.shape, like.dtype), headers, progress=progress, bad=bad)
    frames = room.enter_context(scratch_frames(like.shape, like.dtype))
    return read_into(frames, headers, progress=progress, bad=bad)


def _targets(folder: Path, headers: "Sequence[Header]") -> list[Path]:
    """Return an output file for each frame, with the page number if its file has several."""
    paths = [header.path for header in headers]
    names: list[Path] = []
    for k, header in enumerate(headers):
        floats = header.frame.image.dtype.kind == "f"
        suffix = ".tif" if floats or header.path.suffix.lower() in (".tif", ".tiff") else ".png"
        number = paths[:k].count(header.path) + 1
        page = f"-page{number:04}" if paths.count(header.path) > 1 else ""
        names.append(folder / f"{header.path.stem}{page}{suffix}")
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InputError(
                f"{name}: two frames have this output name. Rename one of the frames.", file=str(name)
            )
    return names


def _left(
    names: Sequence[str], headers: "Sequence[Header]", targets: Sequence[Path]
) -> "list[tuple[Path, Header]]":
    """Return the files and headers of the frames that were not skipped."""
    coming = iter(zip(targets, headers, strict=True))
    return [next((path, header) for path, header in coming if header.name == name) for name in names]


def _later(path: Path, stack: "Stack", header: "Header", k: int) -> "Callable[[BinaryIO], object]":
    """Return a writer that encodes one frame with its own metadata; only one is in memory at a time."""
    from panfocus.io.encode import encode_image
    from panfocus.io.headers import read_metadata

    def write(file: BinaryIO) -> object:
        own = replace(stack, metadata=read_metadata(header), icc_profile=header.frame.icc_profile)
        data = encode_image(path, stack.frames[k], like=own)
        if callable(data):
            return data(file)
        return file.writelines([data] if isinstance(data, bytes) else data)

    return write
