"""Saved result: the facts, besides arrays, from which files are written later, and stamps of its inputs."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from panfocus.io.atomic_files import digest
from panfocus.io.checkpoint import FileStamp, file_stamp
from panfocus.job.prepare import Job
from panfocus.job.request import Request
from panfocus.job.write_outputs import DepthScale, check_bits, output_notices
from panfocus.stack import Frames, Metadata, Stack


@dataclass(frozen=True, kw_only=True)
class SavedResult:
    """A finished fusion, stored as JSON; the files of its frames are no longer needed."""

    request: Request
    method: str
    maps: tuple[str, ...]  # that the method returns
    n_slabs: int
    depth_scale: DepthScale
    names: tuple[str, ...]
    notices: tuple[str, ...]  # except those that depend on the output file
    icc_profile: bytes | None
    metadata: Metadata

    @classmethod
    def from_job(cls, job: Job, stack: Stack) -> "SavedResult":
        """Return what to save of a finished job; `stack` is the one that was fused."""
        of_output = output_notices(job.request.outputs.picture, stack, job.request.bits)
        return cls(
            request=job.request,
            method=job.method_name,
            maps=tuple(job.maps),
            n_slabs=len(job.spans),
            depth_scale=job.depth_scale,
            names=stack.names,
            notices=tuple(str(notice) for notice in stack.notices if notice not in of_output),
            icc_profile=stack.icc_profile,
            metadata=stack.metadata,
        )

    def stack(self, frames: Frames) -> Stack:
        """Return the stack that was fused, with its saved frames."""
        return Stack(
            frames=frames,
            names=self.names,
            icc_profile=self.icc_profile,
            notices=self.notices,
            metadata=self.metadata,
        )

    def check(self, request: Request) -> None:
        """Raise UsageError if a requested file cannot be written from this result."""
        from panfocus.errors import usage_errors
        from panfocus.io.jpeg_webp import JpegSettings

        with usage_errors():
            request.outputs.check_names(self.n_slabs)
            request.outputs.check_maps(self.method, self.maps)
            check_bits(request.bits)
            JpegSettings(request.jpeg_quality, request.jpeg_subsampling)


def file_stamps(paths: Iterable[str]) -> dict[str, FileStamp]:
    """Return the stamps of files by path."""
    return {path: file_stamp(Path(path)) for path in paths}


def is_unchanged(entry: dict[str, Any], stamps: dict[str, FileStamp]) -> bool:
    """Return whether the file of a report's entry is the one that was fused.

    `stamps` were taken then; None means that the file changed while it was read.
    """
    path = entry["path"]
    then, now = stamps.get(path, []), file_stamp(Path(path))
    if now is None or then is None:
        return False
    return now == then or digest(Path(path)) == entry["sha256"]  # the digest last: it reads the whole file
