"""What is kept of a fusion, beside its arrays, so that its files can be written later: the same bytes."""

from dataclasses import dataclass

from panfocus.job.prepare import Job
from panfocus.job.request import Request
from panfocus.job.write_outputs import DepthScale, check_bits, output_notices
from panfocus.stack import Frames, Metadata, Stack


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Plain data, as `plain` and `restored` know it: the frames' files are no longer needed."""

    request: Request
    method: str
    maps: tuple[str, ...]  # that the method gives
    n_slabs: int
    depth_scale: DepthScale
    names: tuple[str, ...]
    notices: tuple[str, ...]  # but for what depends on the written file
    icc_profile: bytes | None
    metadata: Metadata

    @classmethod
    def of(cls, job: Job, stack: Stack) -> "Kept":
        """Return what is to be kept of a job that is done; `stack` is the one that was fused."""
        of_the_file = output_notices(job.request.outputs.picture, stack, job.request.bits)
        return cls(
            request=job.request,
            method=job.method_name,
            maps=tuple(job.maps),
            n_slabs=len(job.spans),
            depth_scale=job.depth_scale,
            names=stack.names,
            notices=tuple(str(notice) for notice in stack.notices if notice not in of_the_file),
            icc_profile=stack.icc_profile,
            metadata=stack.metadata,
        )

    def stack(self, frames: Frames) -> Stack:
        """Return the stack that was fused; `frames` are kept elsewhere."""
        return Stack(
            frames=frames,
            names=self.names,
            icc_profile=self.icc_profile,
            notices=self.notices,
            metadata=self.metadata,
        )

    def check(self, request: Request) -> None:
        """Refuse files that cannot be written from this result."""
        from panfocus.errors import usage_errors
        from panfocus.io.jpeg_webp import jpeg_settings

        with usage_errors():
            request.outputs.check_names(self.n_slabs)
            request.outputs.check_maps(self.method, self.maps)
            check_bits(request.bits)
            jpeg_settings(request.jpeg_quality, request.jpeg_subsampling)
