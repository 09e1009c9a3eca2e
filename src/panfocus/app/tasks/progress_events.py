"""Who hears of a job in a worker: the server, by events."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

Tell = Callable[[dict[str, Any]], None]

SECONDS_BETWEEN = 0.2  # of progress
SECONDS_BETWEEN_PICTURES = 0.25
MOST_SIDE = 1000  # of the live map, in pixels
COMPILING = "compile"  # the stage


class Teller:
    """A listener of a job that passes on what it hears."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._stage, self._done = "", 0.0
        self._told_at = 0.0

    def say(self, line: str) -> None:
        """Pass on a line of the result."""
        self._tell({"event": "said", "text": line})

    def warn(self, line: str) -> None:
        """Pass on that something is left out."""
        self._tell({"event": "warning", "text": line})

    def progress(self, stage: str, done: float) -> None:
        """Pass on the stage, and now and then how much of it is done."""
        now = time.monotonic()
        if stage != self._stage or done >= 1 or now - self._told_at >= SECONDS_BETWEEN:
            self._stage, self._done, self._told_at = stage, round(done, 4), now
            self._tell({"event": "progress", "stage": stage, "done": self._done})

    def compiling(self, under_way: bool) -> None:
        """Pass on that code is being compiled, for which the stage waits; then that the stage goes on."""
        stage, done = (COMPILING, 0.0) if under_way else (self._stage, self._done)
        self._tell({"event": "progress", "stage": stage, "done": done})

    def finish(self) -> None:
        """Do nothing: an interrupt is never too late, as files appear where nobody waits for them yet."""


def compiling_told(teller: Teller) -> AbstractContextManager[None]:
    """Let users know when a first run compiles its code, which takes a while, as a stage of its own."""
    from panfocus._numba import compiling_watched

    return compiling_watched(teller.compiling)


class LiveMap:
    """Which frame is sharpest, as far as it is decided: a small picture that grows."""

    def __init__(self, path: Path, shape: tuple[int, ...], tell: Tell) -> None:
        import numpy as np

        self._n_frames, height, width = shape[:3]
        self._step = -(-max(height, width) // MOST_SIDE)
        size = -(-height // self._step), -(-width // self._step)
        self._labels = np.zeros(size, np.uint16)
        self._decided = np.zeros(size, bool)
        self._path = path
        self._tell = tell
        self._version = 0
        self._written_at = 0.0
        self._pending = False  # something that the written picture does not show

    def watch(self, rows: slice, cols: slice, part: Any) -> None:
        """Add a part of the result; some methods give no labels."""
        if part.labels is None:
            return
        step = self._step
        first = -rows.start % step, -cols.start % step  # the first pixel of the part that is shown
        shown = part.labels[first[0] :: step, first[1] :: step]
        top, left = (rows.start + first[0]) // step, (cols.start + first[1]) // step
        place = slice(top, top + shown.shape[0]), slice(left, left + shown.shape[1])
        self._labels[place], self._decided[place], self._pending = shown, True, True
        if time.monotonic() - self._written_at >= SECONDS_BETWEEN_PICTURES:
            self._write()

    def finish(self) -> None:
        """Show all that has come."""
        if self._pending:
            self._write()

    def _write(self) -> None:
        """Write the picture as it is now, and tell."""
        import numpy as np

        from panfocus.io.atomic_files import write_files
        from panfocus.io.png import encode_png
        from panfocus.show.map_colors import label_colours

        seen = np.where(self._decided, np.uint8(255), np.uint8(0))
        picture = np.dstack([label_colours(self._labels, self._n_frames), seen])
        write_files({self._path: encode_png(picture)}, force=True)
        self._written_at = time.monotonic()
        self._version += 1
        self._pending = False
        self._tell({"event": "live", "version": self._version})
