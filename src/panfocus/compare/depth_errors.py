"""Errors of labels, depth and weights on scenes whose true depth is known."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.errors import FileError
from panfocus.io.file_errors import add_path_to_errors, check_regular
from panfocus.io.npy import parse_array
from panfocus.result import FusionResult

FAR = 2  # frames: the weight of a frame farther than this from the true depth is wrong in any stack
_MOST = 0.5  # share of the weight of a pixel

DESCRIPTIONS = {
    "label_error": {
        "title": "Label error",
        "says": "share of labels that are not the frame nearest to the true depth",
    },
    "depth_error": {
        "title": "Depth error",
        "says": "mean absolute error of the depth (of labels without a depth map), in frames",
    },
    "far_share": {
        "title": "Far share",
        "says": "share of pixels whose weight is mostly on frames more than two away from the true depth",
    },
}

# Besides `depth`; rendered stacks have the latter two.
_MASKS = ("counted", "textured", "never_in_focus")
_MAX_HEADER = 4096  # bytes of a .npy header; numpy writes 128
_MAX_VALUE = 16  # bytes of a number


@dataclass(frozen=True, eq=False)
class KnownDepth:
    """True depth (h, w) in frames, and the pixels (h, w) at which errors count."""

    depth: NDArray[Any]
    counted: NDArray[np.bool_]

    def without_border(self, crop: int) -> "KnownDepth":
        """Return the same depth, without counting `crop` pixels on every side."""
        height, width = self.counted.shape
        inside = np.zeros_like(self.counted)
        inside[crop : height - crop, crop : width - crop] = True
        return KnownDepth(self.depth, self.counted & inside)


def find_depth_errors(result: FusionResult, known: KnownDepth, n_frames: int) -> dict[str, float]:
    """Return the errors of a result by key of `DESCRIPTIONS`; those whose maps it lacks are left out.

    A surface beyond the first or last frame counts as being there, because no other frame is nearer. Labels
    stand for the depth and for the weights of a result that has no map of them.
    """
    counted = known.counted
    if not counted.any():
        return {}
    true = np.clip(known.depth[counted].astype(np.float64), 0, n_frames - 1)
    errors = {}
    if result.labels is not None:
        off = np.abs(result.labels[counted] - true)
        # Of two frames at the same distance, both are the nearest.
        errors = {"label_error": off > 0.5, "depth_error": off, "far_share": off > FAR}
    if result.depth is not None:
        errors["depth_error"] = np.abs(result.depth[counted] - true)
    if result.votes is not None:
        errors["far_share"] = _far_weight(result.votes, counted, true) > _MOST
    return {key: float(values.mean()) for key, values in errors.items()}


def _far_weight(votes: Any, counted: NDArray[np.bool_], true: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of weight of far frames at each counted pixel; votes are read frame by frame."""
    far, total = np.zeros(true.shape), np.zeros(true.shape)
    for k in range(len(votes)):
        weight = votes[k][counted]
        total += weight
        far += np.where(np.abs(k - true) > FAR, weight, 0)
    return far / total


def read_known_depth(path: Path, shape: tuple[int, int]) -> KnownDepth:
    """Read `depth` and optionally `counted` of a .npz file for frames (h, w).

    Without `counted`, pixels count that are `textured` and not `never_in_focus`, if the file has these masks.
    """
    with add_path_to_errors(path):
        check_regular(path)
        with zipfile.ZipFile(path) as archive:
            depth = _read(archive, "depth", shape)
            masks = {
                name: _read(archive, name, shape) for name in _MASKS if f"{name}.npy" in archive.namelist()
            }
        if depth.dtype.kind not in "fiu":
            raise FileError(f"`depth` must hold numbers, got {depth.dtype}.", got=depth.dtype.name)
        if not np.isfinite(depth).all():
            raise FileError(
                "`depth` contains NaN or infinite values. Mark pixels of unknown depth in `counted`.",
                problem="not finite",
            )
        for name, mask in masks.items():
            if mask.dtype != bool:
                raise FileError(f"`{name}` must be of type bool, got {mask.dtype}.", got=mask.dtype.name)
    everywhere = np.ones(shape, bool)
    in_focus = masks.get("textured", everywhere) & ~masks.get("never_in_focus", ~everywhere)
    return KnownDepth(depth, masks.get("counted", in_focus))


def _read(archive: zipfile.ZipFile, name: str, shape: tuple[int, int]) -> NDArray[Any]:
    """Return an array of the archive; raise for another shape before an array of any size is unpacked."""
    if f"{name}.npy" not in archive.namelist():
        raise FileError(f"The file has no array `{name}`.", key=name)
    needed = f"`{name}` must have the shape {shape} of the frames"
    if archive.getinfo(f"{name}.npy").file_size > _MAX_HEADER + _MAX_VALUE * shape[0] * shape[1]:
        raise FileError(f"{needed}; it is larger.", key=name, needed=shape)
    array = parse_array(archive.read(f"{name}.npy"))
    if array.shape != shape:
        raise FileError(f"{needed}, got {array.shape}.", key=name, got=array.shape, needed=shape)
    return array
