"""What a fusion is asked for: the options as they were given, as plain data that a report can hold."""

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from panfocus.job.outputs import Outputs


def _option(default: Any, text: str) -> Any:
    """Give an option its default and the text that the command line and the page explain it with."""
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, kw_only=True)
class Request:
    """One field for each option of `panfocus fuse` that has a say in its results.

    Fields are texts, numbers, truth values, paths, and tuples of them: reports hold them.
    """

    inputs: tuple[str, ...]
    outputs: Outputs
    method: str | None = None
    settings: tuple[str, ...] = ()  # NAME=VALUE
    dictionary: Path | None = None
    hot_pixels: str = _option("auto", "Repair pixels that are not the scene's: auto, on (in pairs too), off.")
    align: str = _option(
        "auto", "auto, off, shift, similarity, affine or homography; auto takes the simplest that fits."
    )
    reference: str | None = _option(
        None, "Frame that others are aligned to: its file's name, or number from 0; by default the middle."
    )
    borders: str = _option(
        "full",
        "full: the whole reference frame; borders that a frame lacks come from its neighbours. "
        "crop: only the area that all frames show.",
    )
    exposure: str = _option("auto", "Correct frames of other brightness or colour: auto, off.")
    refine: bool = _option(False, "Smooth the fused image by total variation.")
    refine_strength: float | None = _option(
        None, "How much to smooth, on unit-range values: larger is smoother. Implies --refine."
    )
    slabs: str | None = _option(
        None,
        "Fuse overlapping parts of so many frames, then those; each is written beside the output.",
    )  # SIZE:OVERLAP
    retouch: Path | None = None  # strokes
    preview: bool = False
    step: str | None = _option(None, "From frame to frame, such as 5um or 0.1mm: depth is in it.")
    skip_bad: bool = False
    apply_to: tuple[tuple[str, ...], ...] = ()  # inputs of other sets of frames
    channel: int | None = None  # of microscopes' files
    time: int | None = None
    jpeg_quality: int = 95
    jpeg_subsampling: str = "444"
    bits: int | None = _option(
        None, "Depth of the picture's values, 8 or 16; by default that of the frames. Less is rounded."
    )
    # These change no pixel.
    max_memory: str | None = _option(
        None, "Most memory to use, such as 2GB; by default up to a quarter of what is free."
    )
    threads: int | None = None


HELP: dict[str, str] = {
    option.name: option.metadata["help"] for option in dataclasses.fields(Request) if option.metadata
}

# A redone run may have its own.
FREE = ("inputs", "outputs", "max_memory", "threads")
