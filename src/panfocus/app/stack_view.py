"""A stack as pages see it, and one of its frames alone."""

from typing import Any

_OF_FRAME = (
    "key",
    "name",
    "state",
    "width",
    "height",
    "pages",
    "dtype",
    "channels",
    "bytes",
    "error",
    "excluded",
    "sharpness",
)


def stack_view(stack: dict[str, Any], *, receiving: int) -> dict[str, Any]:
    """Return what a page is told of a stack; `receiving` counts the files that are under way."""
    best = max((frame["sharpness"] or 0.0 for frame in stack["frames"]), default=0.0)
    frames = [
        frame_view(frame)
        | {"score": frame["sharpness"] / best if best and frame["sharpness"] is not None else None}
        for frame in stack["frames"]
    ]
    told = {name: stack[name] for name in ("id", "name", "folder", "created")}
    told["warnings"] = [*stack.get("left_out", []), *stack["warnings"]]  # older stacks have no first ones
    told["unsent"] = list(stack.get("unsent", []))
    return told | {"frames": frames, "in_place": in_place(stack), "receiving": receiving}


def frame_view(frame: dict[str, Any]) -> dict[str, Any]:
    """Return what a page is told of a frame; its score, beside the others, is for who knows them all."""
    return {name: frame[name] for name in _OF_FRAME}


def in_place(stack: dict[str, Any]) -> bool:
    """Tell whether a stack is of files that stay where they are: a folder's, or some that were chosen."""
    return stack["folder"] is not None or any(frame["path"] for frame in stack["frames"])
