"""napari plugin: a widget that fuses image layers, and the sample that comes with panfocus."""

from typing import Any


def sample_stack() -> list[tuple[Any, dict[str, Any], str]]:
    """Return the frames of the sample (n, h, w, 3) as an image layer."""
    from importlib.resources import as_file, files

    from panfocus.io.input_files import find_inputs
    from panfocus.io.read_stack import read_stack

    with as_file(files("panfocus") / "data" / "sample") as folder:
        frames = read_stack(find_inputs([folder])).frames
    return [(frames, {"name": "panfocus sample", "rgb": True, "axis_labels": ("z", "y", "x")}, "image")]
