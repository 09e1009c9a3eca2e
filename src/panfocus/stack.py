"""Stack: the frames of one scene as they were read, and what came with them."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Stack:
    """Frames of one size and type, in the order in which they were given.

    Attributes
    ----------
    frames : ndarray (n, h, w) or (n, h, w, c)
        The frames in the dtype of their files.
    names : tuple of str
        What each frame is called in messages: its file, and its page where the file has several.
    icc_profile : bytes, optional
        Colour profile of the first frame; the fused image is in its colour space.
    notices : tuple of str
        Sentences on what reading left behind.
    """

    frames: NDArray[Any]
    names: tuple[str, ...]
    icc_profile: bytes | None = None
    notices: tuple[str, ...] = ()
