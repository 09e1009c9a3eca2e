"""Sets of frames: the one that is fused, and others that follow it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.errors import InputError
from panfocus.job.request import Request

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from panfocus.io.headers import Header
    from panfocus.preprocess.frame_checks import BadFrames

PREVIEW_SIDE = 1000  # pixels, at most


@dataclass(frozen=True, eq=False)
class Source:
    """A set of frames that was found: the one that is fused, or another that follows it."""

    paths: list[Path]
    headers: "list[Header]"
    reduce: int  # factor by which frames are made smaller
    left_out: tuple[str, ...] = ()  # lines on pictures in its folders that are not read

    @property
    def used(self) -> list[Path]:
        """The files that frames come from: those of `paths` that could be read and fit, repeats too."""
        read = {header.path for header in self.headers}
        return [path for path in self.paths if path in read]

    @property
    def like_frames(self) -> "NDArray[Any]":
        """What reading will give, blank and without memory."""
        from panfocus._checks import blank
        from panfocus._downscale import reduced_size

        first = self.headers[0].frame.image
        return blank((len(self.headers), *reduced_size(first.shape, self.reduce)), first.dtype)


def find_source(
    inputs: Sequence[str],
    request: Request,
    warn: Callable[[str], None],
    *,
    channel: int | None = None,
    bad: "BadFrames | None" = None,
) -> Source:
    """Find the frames that are meant; those that cannot be used are an error, or what `bad` makes of them."""
    from panfocus._downscale import reduction
    from panfocus.io.headers import read_headers, select_matching
    from panfocus.io.input_files import find_inputs

    if not inputs:
        raise InputError("Missing argument 'INPUT'")
    left_out: list[str] = []
    paths = find_inputs(inputs, warn=left_out.append)
    for line in left_out:
        warn(line)
    headers = read_headers(paths, bad, channel=channel, time=request.time)
    if bad and bad.skip:
        headers = select_matching(headers, bad)
    size = headers[0].frame.image.shape
    reduce = reduction(size, PREVIEW_SIDE) if request.preview else 1
    return Source(paths, headers, reduce, tuple(left_out))


def check_chosen(request: Request, source: Source) -> None:
    """Refuse to choose a channel or a time point of files that have none: it would change nothing."""
    from panfocus.io.headers import read_metadata

    for option, number in (("--channel", request.channel), ("--time", request.time)):
        if number is not None and read_metadata(source.headers[0]).acquisition is None:
            raise InputError(
                f"{option} {number}: {source.headers[0].path} is no file of a microscope; leave it out"
            )


def check_alike(source: Source, others: Sequence[Source]) -> None:
    """Refuse frames that are no stack, and others that do not match it one by one."""
    from panfocus.io.headers import check_headers

    expected = source.like_frames.shape[:3]
    for found in (source, *others):
        check_headers(found.headers)
        n_frames, height, width = found.like_frames.shape[:3]
        if (n_frames, height, width) != expected:
            raise InputError(
                f"--apply-to: {found.headers[0].name} is the first of {n_frames} frames of {width} x "
                f"{height}, the fused ones are {expected[0]} of {expected[2]} x {expected[1]}; "
                "needed are as many, of the same size"
            )
