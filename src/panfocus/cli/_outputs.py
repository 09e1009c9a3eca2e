"""The files that a fusion writes: their names, checked beforehand, and their contents."""

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from panfocus.io.files import Content
    from panfocus.methods import FusionResult
    from panfocus.stack import Stack


# What a method may or may not give, and how to say that it does not.
_MAPS = {
    "labels": "labels",
    "confidence": "confidence",
    "depth": "depth",
    "never_in_focus": "map of what is never in focus",
}


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Where the results of a fusion go; None for what is not wanted."""

    image: Path
    labels: Path | None = None
    confidence: Path | None = None
    depth: Path | None = None
    never_in_focus: Path | None = None
    report: Path | None = None

    def paths(self) -> dict[str, Path]:
        """Return what is wanted, by kind."""
        every = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {kind: path for kind, path in every.items() if path is not None}

    def maps(self) -> list[str]:
        """Return which maps are wanted."""
        return [kind for kind in _MAPS if kind in self.paths()]

    def check_names(self) -> None:
        """Refuse names that do not say a format which can hold the result, and names given twice."""
        from panfocus.io.files import check_suffix
        from panfocus.io.write import (
            CONFIDENCE_SUFFIXES,
            DEPTH_SUFFIXES,
            IMAGE_SUFFIXES,
            LABEL_SUFFIXES,
            MASK_SUFFIXES,
        )

        suffixes = {
            "image": IMAGE_SUFFIXES,
            "labels": LABEL_SUFFIXES,
            "confidence": CONFIDENCE_SUFFIXES,
            "depth": DEPTH_SUFFIXES,
            "never_in_focus": MASK_SUFFIXES,
            "report": (".json",),
        }
        paths = self.paths()
        for kind, path in paths.items():
            check_suffix(path, suffixes[kind])
        if len({os.path.realpath(path) for path in paths.values()}) < len(paths):
            raise InputError("two outputs have the same name")

    def check_maps(self, method: str, maps: Sequence[str]) -> None:
        """Refuse a map that the method does not give, before it has worked for minutes."""
        for kind, words in _MAPS.items():
            if kind in self.paths() and kind not in maps:
                option = f"--{kind.replace('_', '-')}"
                raise InputError(f"the method {method} gives no {words}; leave {option} out")

    def encode(self, result: "FusionResult", stack: "Stack") -> "dict[Path, Content]":
        """Return what each file is to hold."""
        from panfocus.io.write import (
            encode_confidence,
            encode_image,
            encode_json,
            encode_labels,
            encode_mask,
        )

        contents = {self.image: encode_image(self.image, result.image, like=stack)}
        if self.labels:
            contents[self.labels] = encode_labels(_given(result.labels), len(stack.frames))
        if self.confidence:
            contents[self.confidence] = encode_confidence(self.confidence, _given(result.confidence))
        if self.depth:
            contents[self.depth] = encode_image(self.depth, _given(result.depth))
        if self.never_in_focus:
            contents[self.never_in_focus] = encode_mask(_given(result.never_in_focus))
        if self.report:
            contents[self.report] = encode_json(result.report)
        return contents

    def __str__(self) -> str:
        return ", ".join(map(str, self.paths().values()))


def _given(result_map: "NDArray[Any] | None") -> "NDArray[Any]":
    """Return a map that `check_maps` has promised."""
    assert result_map is not None
    return result_map
