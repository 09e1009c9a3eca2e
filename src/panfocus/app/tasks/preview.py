"""Make a large picture of a frame."""

from pathlib import Path

from panfocus.app.tasks import Send
from panfocus.app.tasks.scan_frame import write_picture
from panfocus.io.headers import read_headers
from panfocus.io.read_stack import read_frame

_MAX_SIDE = 2400  # pixels, about a screen


def run(send: Send, *, path: str, picture: str) -> dict[str, int]:
    """Write a picture of the first page of a file; return its size."""
    header = read_headers([Path(path)])[0]
    height, width = write_picture(Path(picture), read_frame(header), header, _MAX_SIDE)
    return {"width": width, "height": height}
