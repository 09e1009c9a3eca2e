"""Encode the outputs of a fusion, and write all of them or none."""

import dataclasses
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.errors import InputError, Notice
from panfocus.job.request import Request

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from panfocus.io.atomic_files import Content
    from panfocus.result import FusionResult
    from panfocus.stack import Acquisition, Frames, Stack

BITS = (8, 16)
_ROWS_AT_ONCE = 64  # rows converted at a time: floats of the whole image would take several times its memory
_UNITS = {"um": "um", "µm": "um", "μm": "um", "mm": "mm"}  # the micro sign has two code points


@dataclass(frozen=True)
class DepthScale:
    """Distance between frames; without a known distance, depth is in frames."""

    step: float = 1.0
    unit: str = "frames"

    @classmethod
    def parse(cls, text: str) -> "DepthScale":
        """Return the scale for a distance such as 5um or 0.1mm."""
        match = re.fullmatch(r"(\d{1,12}(?:\.\d*)?|\.\d+)\s*(\w+)", text.strip().lower())
        if not match or match[2] not in _UNITS or float(match[1]) == 0:
            raise InputError(
                f"`step` must be a distance with its unit, such as 5um or 0.1mm, got {text!r}.",
                setting="step",
                got=text,
            )
        return cls(float(match[1]), _UNITS[match[2]])

    @classmethod
    def of(cls, acquisition: "Acquisition | None") -> "DepthScale":
        """Return the scale that a microscopy file states, or frames."""
        if acquisition and acquisition.step and acquisition.unit in _UNITS:
            return cls(acquisition.step, _UNITS[acquisition.unit])
        return cls()

    def level(self, n_frames: int) -> float:
        """Return the distance between two values of a 16-bit depth map, whose last frame is 65535."""
        return (n_frames - 1) * self.step / 65535


def check_bits(bits: int | None) -> None:
    """Refuse an unsupported bit depth."""
    if bits is not None and bits not in BITS:
        raise InputError(f"`bits` must be 8 or 16, got {bits}.", setting="bits", got=bits)


def output_dtype(bits: int | None, dtype: "np.dtype[Any]") -> "np.dtype[Any]":
    """Return the type of the written values for frames of this type."""
    import numpy as np

    return dtype if bits is None else np.dtype(f"uint{bits}")


def convert_bits(image: "NDArray[Any]", stack: "Stack", bits: int | None) -> "tuple[NDArray[Any], Stack]":
    """Convert an image to a bit depth, full scale to full scale and rounded; return also its stack.

    The stack loses the PNG chunk on significant bits, which is then no longer true.
    """
    import numpy as np

    from panfocus._intensity import IntensityScale

    target = output_dtype(bits, image.dtype)
    if target == image.dtype:
        return image, stack
    source, scale = IntensityScale.of(image.dtype), IntensityScale.of(target)
    converted = np.empty(image.shape, target)
    for top in range(0, len(image), _ROWS_AT_ONCE):
        rows = slice(top, top + _ROWS_AT_ONCE)
        converted[rows] = scale.from_unit(source.to_unit(image[rows]))
    chunks = tuple(chunk for chunk in stack.metadata.png_colour if chunk[0] != b"sBIT")
    metadata = dataclasses.replace(stack.metadata, png_colour=chunks)
    return converted, dataclasses.replace(stack, metadata=metadata)


def output_notices(path: Path, stack: "Stack", bits: int | None) -> "list[Notice | str]":
    """Return notices on what the file of the fused image cannot keep from the frames."""
    from panfocus.io.encode import describe_losses

    notices: list[Notice | str] = [*describe_losses(path, stack)]
    dtype = stack.frames.dtype
    target = output_dtype(bits, dtype)
    if target != dtype and (dtype.kind != "u" or target.itemsize < dtype.itemsize):
        clipped = " and clipped to the range 0 to 1" if dtype.kind == "f" else ""
        notices.append(Notice(f"Values of type {dtype.name} are rounded to {bits} bits{clipped}."))
    return notices


def image_content(path: Path, image: "NDArray[Any]", stack: "Stack", request: Request) -> "Content":
    """Return the content of the file of a fused image."""
    from panfocus.io.encode import encode_image
    from panfocus.io.jpeg_webp import JpegSettings

    image, stack = convert_bits(image, stack, request.bits)
    jpeg = JpegSettings(request.jpeg_quality, request.jpeg_subsampling)
    return encode_image(path, image, like=stack, jpeg=jpeg)


def output_contents(
    request: Request, result: "FusionResult", stack: "Stack", scale: DepthScale
) -> "dict[Path, Content]":
    """Return the content of each output file except the report and the images of other sets of frames."""
    contents = _contents(request, result, stack, scale)
    return {path: content for path, content in contents if path is not None}


def _contents(
    request: Request, result: "FusionResult", stack: "Stack", scale: DepthScale
) -> "Iterator[tuple[Path | None, Content]]":
    from panfocus.io.atomic_files import deferred
    from panfocus.io.encode import (
        encode_animation,
        encode_confidence,
        encode_depth,
        encode_labels,
        encode_mask,
    )
    from panfocus.io.png import encode_png
    from panfocus.show.colormap import colour_depth
    from panfocus.show.steps import MILLISECONDS, sweep

    outputs, n_frames = request.outputs, len(stack.frames)
    unit: dict[str, Any] = {"step": scale.step, "unit": scale.unit}
    yield outputs.image, image_content(outputs.picture, result.image, stack, request)
    if result.labels is not None:
        yield outputs.labels, encode_labels(result.labels, n_frames)
    if outputs.confidence and result.confidence is not None:
        yield outputs.confidence, encode_confidence(outputs.confidence, result.confidence, like=stack)
    if result.depth is not None:
        if outputs.depth:
            level = scale.level(n_frames)
            yield outputs.depth, encode_depth(outputs.depth, result.depth, level=level, like=stack, **unit)
        if outputs.depth_colour:
            yield outputs.depth_colour, encode_png(colour_depth(result.depth, largest=n_frames - 1, **unit))
        if outputs.sweep:
            pictures = sweep(result.image, result.depth, n_frames)
            yield outputs.sweep, encode_animation(outputs.sweep, pictures, milliseconds=MILLISECONDS)
    if outputs.never_in_focus and result.never_in_focus is not None:
        yield outputs.never_in_focus, encode_mask(result.never_in_focus)
    slabs = result.slabs
    if slabs is not None:
        files = outputs.files(len(slabs))
        for s in range(len(slabs)):
            path = files[f"slab {s + 1}"]
            yield path, deferred(partial(_encode_slab, path, slabs, s, stack))


def _encode_slab(path: Path, slabs: "Frames", s: int, stack: "Stack") -> "Content":
    from panfocus.io.encode import encode_image

    return encode_image(path, slabs[s], like=stack)


def step_contents(folder: Path, frames: "Frames", result: "FusionResult") -> "dict[Path, Content]":
    """Return the pictures of all steps of a fusion."""
    from panfocus.io.png import encode_png
    from panfocus.show.steps import step_pictures

    pictures = step_pictures(frames, result)
    return {folder / f"{name}.png": encode_png(picture) for name, picture in pictures}


def write_outputs(
    request: Request,
    contents: "dict[Path, Content]",
    report: Mapping[str, Any] | None,
    *,
    kinds: Mapping[Path, str],
    user_path: Callable[[Path], Path] = Path.absolute,
    before_commit: Callable[[], None] = lambda: None,
    force: bool,
) -> None:
    """Write all files or none, the report last.

    Parameters
    ----------
    report : mapping, optional
        Facts for the report, if one is written. Its list of outputs and the time of writing are added here.
    kinds : mapping
        Kind of each file, for the report; files without one are pictures of steps.
    user_path : callable
        Returns the path by which the report names a file.
    before_commit : callable
        Called when all files are written under temporary names, before they replace anything.
    """
    from panfocus.io.atomic_files import write_files
    from panfocus.io.encode import encode_json

    started = time.perf_counter()
    written: list[dict[str, Any]] = []

    def record(path: Path, digest: str, size: int) -> None:
        kind = kinds.get(path, "step")
        written.append({"kind": kind, "path": str(user_path(path)), "sha256": digest, "bytes": size})

    def write_report(file: Any) -> None:
        facts = dict(report or {})
        times = facts.get("times", {}) | {"write": round(time.perf_counter() - started, 3)}
        file.write(encode_json(facts | {"times": times, "outputs": written}))

    if request.outputs.report and report is not None:
        contents[request.outputs.report] = write_report
    write_files(contents, force=force, ready=before_commit, written=None if report is None else record)


def file_kinds(request: Request, n_slabs: int) -> dict[Path, str]:
    """Return the kind of each output file."""
    return {path: kind for kind, path in request.outputs.files(n_slabs).items()}
