"""What the files of a fusion hold."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.job.bit_depth import in_bits, said_bits
from panfocus.job.depth_scale import DepthScale
from panfocus.job.outputs import Outputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from panfocus.io.atomic_files import Content
    from panfocus.io.jpeg_webp import JpegSettings
    from panfocus.methods import FusionResult
    from panfocus.stack import Frames, Stack


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How results are written, and where to."""

    outputs: Outputs
    n_slabs: int
    depth_scale: DepthScale
    jpeg: "JpegSettings"
    bits: int | None


def picture_content(path: Path, image: "NDArray[Any]", stack: "Stack", writing: Writing) -> "Content":
    """Return what a file with a fused picture is to hold."""
    from panfocus.io.encode import encode_image

    image, stack = in_bits(image, stack, writing.bits)
    return encode_image(path, image, like=stack, jpeg=writing.jpeg)


def said_of_picture(path: Path, stack: "Stack", bits: int | None) -> list[str]:
    """Say what of the frames the file of the fused picture will not have."""
    from panfocus.io.encode import describe_losses

    return [*describe_losses(path, stack), *said_bits(bits, stack.frames.dtype)]


def contents_of(
    writing: Writing, result: "FusionResult", stack: "Stack", slabs: "Frames | None"
) -> "dict[Path, Content]":
    """Return what each file is to hold, but for the report and what is applied to other frames."""
    return {path: content for path, content in _contents(writing, result, stack, slabs) if path is not None}


def _contents(
    writing: Writing, result: "FusionResult", stack: "Stack", slabs: "Frames | None"
) -> "Iterator[tuple[Path | None, Content]]":
    from panfocus.io.encode import (
        encode_animation,
        encode_confidence,
        encode_depth,
        encode_labels,
        encode_mask,
    )
    from panfocus.io.png import encode_png
    from panfocus.show.depth_picture import colour_depth
    from panfocus.show.sweep import MILLISECONDS, sweep

    outputs, scale, n_frames = writing.outputs, writing.depth_scale, len(stack.frames)
    unit: dict[str, Any] = {"step": scale.step, "unit": scale.unit}
    yield outputs.image, picture_content(outputs.picture, result.image, stack, writing)
    if result.labels is not None:
        yield outputs.labels, encode_labels(result.labels, n_frames)
    if outputs.confidence and result.confidence is not None:
        yield outputs.confidence, encode_confidence(outputs.confidence, result.confidence)
    if result.depth is not None:
        if outputs.depth:
            level = scale.level(n_frames)
            yield outputs.depth, encode_depth(outputs.depth, result.depth, level=level, **unit)
        if outputs.depth_colour:
            yield outputs.depth_colour, encode_png(colour_depth(result.depth, largest=n_frames - 1, **unit))
        if outputs.sweep:
            pictures = sweep(result.image, result.depth, n_frames)
            yield outputs.sweep, encode_animation(outputs.sweep, pictures, milliseconds=MILLISECONDS)
    if outputs.never_in_focus and result.never_in_focus is not None:
        yield outputs.never_in_focus, encode_mask(result.never_in_focus)
    files = outputs.files(writing.n_slabs)
    for s in range(writing.n_slabs):
        path = files[f"slab {s + 1}"]
        yield path, _slab(path, slabs, s, stack)


def _slab(path: Path, slabs: "Frames | None", s: int, stack: "Stack") -> "Content":
    """Return a content that is read from the scratch file when it is written."""
    from panfocus.io.encode import encode_image

    def write(file: Any) -> None:
        assert slabs is not None
        content = encode_image(path, slabs[s], like=stack)
        assert callable(content)  # as TIFF is
        content(file)

    return write
