"""What the files of a fusion hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.job.prepare import Job

if TYPE_CHECKING:
    from panfocus.io.files import Content
    from panfocus.methods import FusionResult
    from panfocus.stack import Frames, Stack


def contents_of(
    job: Job, result: "FusionResult", stack: "Stack", slabs: "Frames | None"
) -> "dict[Path, Content]":
    """Return what each file is to hold, but for the report and what is applied to other frames."""
    return {path: content for path, content in _contents(job, result, stack, slabs) if path is not None}


def _contents(
    job: Job, result: "FusionResult", stack: "Stack", slabs: "Frames | None"
) -> "Iterator[tuple[Path | None, Content]]":
    from panfocus.io.animation import encode_animation
    from panfocus.io.depth import encode_depth, encode_depth_colours
    from panfocus.io.write import encode_confidence, encode_image, encode_labels, encode_mask
    from panfocus.show.sweep import MILLISECONDS, sweep

    outputs, scale, n_frames = job.request.outputs, job.depth_scale, len(stack.frames)
    unit: dict[str, Any] = {"step": scale.step, "unit": scale.unit}
    yield outputs.image, encode_image(outputs.picture, result.image, like=stack, jpeg=job.jpeg)
    if result.labels is not None:
        yield outputs.labels, encode_labels(result.labels, n_frames)
    if outputs.confidence and result.confidence is not None:
        yield outputs.confidence, encode_confidence(outputs.confidence, result.confidence)
    if result.depth is not None:
        if outputs.depth:
            level = scale.level(n_frames)
            yield outputs.depth, encode_depth(outputs.depth, result.depth, level=level, **unit)
        if outputs.depth_colour:
            yield outputs.depth_colour, encode_depth_colours(result.depth, largest=n_frames - 1, **unit)
        if outputs.sweep:
            pictures = sweep(result.image, result.depth, n_frames)
            yield outputs.sweep, encode_animation(outputs.sweep, pictures, milliseconds=MILLISECONDS)
    if outputs.never_in_focus and result.never_in_focus is not None:
        yield outputs.never_in_focus, encode_mask(result.never_in_focus)
    files = outputs.files(len(job.spans))
    for s in range(len(job.spans)):
        path = files[f"slab {s + 1}"]
        yield path, _slab(path, slabs, s, stack)


def _slab(path: Path, slabs: "Frames | None", s: int, stack: "Stack") -> "Content":
    """Return a content that is read from the scratch file when it is written."""
    from panfocus.io.write import encode_image

    def write(file: Any) -> None:
        assert slabs is not None
        content = encode_image(path, slabs[s], like=stack)
        assert callable(content)  # as TIFF is
        content(file)

    return write
