"""Find and read the frames of a request: the set that is fused, and other sets that follow its decisions."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus._progress import Progress, silent
from panfocus.errors import InputError, UsageError, warnings_as_notes
from panfocus.job.request import Request

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from panfocus.io.headers import Header
    from panfocus.preprocess.frame_checks import BadFrames
    from panfocus.stack import Stack

PREVIEW_SIDE = 1000  # pixels: longest side of a preview


@dataclass(frozen=True, eq=False)
class FrameSource:
    """A set of frames: their files and headers."""

    paths: list[Path]
    headers: "list[Header]"
    reduce: int  # factor by which frames are reduced
    skipped: tuple[str, ...] = ()  # lines on files in the folders that are not read

    @property
    def used_paths(self) -> list[Path]:
        """Files that frames come from, repeated files too; without those that were dropped."""
        used = {header.path for header in self.headers}
        return [path for path in self.paths if path in used]

    @property
    def blank_frames(self) -> "NDArray[Any]":
        """An array of the shape and type that reading will give; it takes no memory."""
        from panfocus._checks import blank
        from panfocus._downscale import reduced_size

        first = self.headers[0].frame.image
        return blank((len(self.headers), *reduced_size(first.shape, self.reduce)), first.dtype)


def find_frames(
    inputs: Sequence[str],
    request: Request,
    *,
    channel: int | None = None,
    bad: "BadFrames | None" = None,
) -> FrameSource:
    """Find files and read their headers; unusable frames are an error, or handled by `bad`."""
    from panfocus._downscale import reduction
    from panfocus.io.headers import read_headers, select_matching
    from panfocus.io.input_files import find_inputs

    if not inputs:
        raise UsageError("No frames were given.", hint="name_inputs", setting="inputs")
    skipped: list[str] = []
    with warnings_as_notes(lambda: skipped):
        paths = find_inputs(inputs, warn=skipped.append)
        headers = read_headers(paths, bad, channel=channel, time=request.time)
        if bad and bad.skip:
            headers = select_matching(headers, bad)
    size = headers[0].frame.image.shape
    reduce = reduction(size, PREVIEW_SIDE) if request.preview else 1
    return FrameSource(paths, headers, reduce, tuple(skipped))


def read_frames(
    source: FrameSource,
    scratch: ExitStack,
    progress: Progress,
    *,
    in_memory: bool,
    at_once: int | None = None,
    reference: int = 0,
    bad: "BadFrames | None" = None,
) -> "Stack":
    """Decode frames into memory or a scratch file, `at_once` at a time, by default one per core.

    The metadata come from the `reference` frame.
    """
    import numpy as np

    from panfocus.io.disk_array import scratch_allocator
    from panfocus.io.read_stack import read_into

    blank = source.blank_frames
    allocate = np.empty if in_memory else scratch_allocator(scratch)
    return read_into(
        allocate(blank.shape, blank.dtype),
        source.headers,
        at_once=at_once,
        reference=reference,
        reduce=source.reduce,
        progress=silent if in_memory else progress,
        bad=bad,
    )


def read_stack(
    inputs: str | Path | Sequence[str | Path], *, channel: int | None = None, time: int | None = None
) -> "Stack":
    """Read the frames of a stack with their metadata, as the command `panfocus fuse` reads them.

    Parameters
    ----------
    inputs : path or sequence of paths
        Files, folders and patterns of images, multi-page TIFFs and z-stacks, or one OME-Zarr store.
        Frames of a folder are read in natural order.
    channel, time : int, optional
        Channel and time point of a microscopy file, counted from 1; by default all channels.

    Returns
    -------
    Stack
        Frames in memory; those of an OME-Zarr store are read when they are indexed.
    """
    from panfocus._checks import check_integer
    from panfocus.io import read_stack as reading
    from panfocus.preprocess.frame_checks import BadFrames

    given = [inputs] if isinstance(inputs, str | Path) else inputs
    if not isinstance(given, Sequence) or not all(isinstance(path, str | Path) for path in given):
        raise InputError(f"`inputs` must be paths, got {inputs!r}.", setting="inputs", got=inputs)
    numbers = {"channel": channel, "time": time}
    selected = [setting for setting, number in numbers.items() if number is not None]
    for setting in selected:
        check_integer(setting, numbers[setting], at_least=1)
    stack = reading.read_stack(inputs, channel=channel, time=time, bad=BadFrames(skip=False))
    if selected and stack.metadata.acquisition is None:
        raise InputError(
            f"`{selected[0]}` needs a microscopy file; {stack.names[0]} is none.",
            setting=selected[0],
            file=stack.names[0],
        )
    return stack


def find_reference(name: str | None, headers: "Sequence[Header]") -> int | None:
    """Return the number of the reference frame, which is given by file name or by number."""
    if name is None:
        return None
    facts = {"setting": "reference", "got": name}
    matches = [k for k, h in enumerate(headers) if name in (h.name, str(h.path), h.path.name, h.path.stem)]
    numbers = [int(name)] if name.isdecimal() and int(name) < len(headers) else []
    if len(matches) > 1:
        raise InputError(
            f"`reference` {name}: {len(matches)} frames have this name. Give the frame number, from 0.",
            **facts,
        )
    if matches and numbers and matches != numbers:
        raise InputError(
            f"`reference` {name} is ambiguous: it may be the file {headers[matches[0]].name} or frame {name} "
            f"counted from 0, {headers[numbers[0]].name}. Give the full file name.",
            **facts,
        )
    if matches or numbers:
        return (matches or numbers)[0]
    raise InputError(
        f"`reference` {name}: no frame has this name or number. Numbers go from 0 to {len(headers) - 1}.",
        **facts,
    )


def reference_among(reference: int | None, headers: "Sequence[Header]", stack: "Stack") -> int | None:
    """Return the number of the reference among the frames that were read; some may have been dropped."""
    if reference is None or len(stack.names) == len(headers):
        return reference
    name = headers[reference].name
    if name not in stack.names:
        raise InputError(
            f"The reference {name} was skipped because it is unusable.", hint="choose_reference", file=name
        )
    return stack.names.index(name)


def check_microscopy_options(request: Request, source: FrameSource) -> None:
    """Refuse a channel or time point for files that have none."""
    from panfocus.io.headers import read_metadata

    for setting in ("channel", "time"):
        if getattr(request, setting) is not None and read_metadata(source.headers[0]).acquisition is None:
            path = source.headers[0].path
            raise InputError(
                f"`{setting}` needs a microscopy file; {path} is none.", setting=setting, file=path
            )


def check_same_size(source: FrameSource, others: Sequence[FrameSource]) -> None:
    """Refuse frames that are no stack, and other sets that do not match it frame by frame."""
    from panfocus.io.headers import check_headers
    from panfocus.stack import count_and_size

    expected = source.blank_frames.shape[:3]
    for found in (source, *others):
        check_headers(found.headers)
        shape = found.blank_frames.shape[:3]
        if shape != expected:
            raise InputError(
                f"`apply_to` needs {count_and_size(expected)}, as those that are fused; "
                f"{found.headers[0].name} is the first of {count_and_size(shape)}.",
                setting="apply_to",
                file=found.headers[0].path,
                got=shape,
                needed=expected,
            )
