"""Events about a running task for the server: progress, summary, warnings and live pictures."""

import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from panfocus._numba import watch_compiling
from panfocus.app.tasks import Send
from panfocus.app.wording import page_text
from panfocus.errors import Notice
from panfocus.io.atomic_files import write_files
from panfocus.io.png import encode_png
from panfocus.show.colormap import label_colours

_SECONDS_BETWEEN = 0.2  # progress events of one stage
SECONDS_BETWEEN_PICTURES = 0.25
_MAX_SIDE = 1000  # pixels of the live map
_COMPILING = "compile"  # stage


class ProgressEvents:
    """Sends events about a task to the server."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._stage, self._done = "", 0.0
        self._sent_at = 0.0

    def summarize(self, line: Notice | str) -> None:
        """Send a line of the summary."""
        self._send({"event": "summary", "text": page_text(line)})

    def warn(self, line: Notice | str) -> None:
        """Send a warning, such as on a file that was skipped."""
        self._send({"event": "warning", "text": page_text(line)})

    def progress(self, stage: str, done: float) -> None:
        """Send every new stage, and from time to time how much of it is done."""
        now = time.monotonic()
        if stage != self._stage or done >= 1 or now - self._sent_at >= _SECONDS_BETWEEN:
            self._stage, self._done, self._sent_at = stage, round(done, 4), now
            self._send({"event": "progress", "stage": stage, "done": self._done})

    def _compiling(self, is_running: bool) -> None:
        stage, done = (_COMPILING, 0.0) if is_running else (self._stage, self._done)
        self._send({"event": "progress", "stage": stage, "done": done})

    def watch_compiling(self) -> AbstractContextManager[None]:
        """Show compilation, which takes a while in the first run, as a stage inside the block."""
        return watch_compiling(self._compiling)


class LiveMap:
    """A small picture of the labels that grows while they are decided."""

    def __init__(self, path: Path, shape: tuple[int, ...], send: Send) -> None:
        self._n_frames, height, width = shape[:3]
        self._step = -(-max(height, width) // _MAX_SIDE)
        size = -(-height // self._step), -(-width // self._step)
        self._labels = np.zeros(size, np.uint16)
        self._decided = np.zeros(size, bool)
        self._path = path
        self._send = send
        self._version = 0
        self._written_at = 0.0
        self._is_pending = False  # whether the written picture is out of date

    def watch(self, rows: slice, cols: slice, part: Any) -> None:
        """Add a part of the result; methods without labels add nothing."""
        if part.labels is None:
            return
        step = self._step
        first = -rows.start % step, -cols.start % step  # first sampled pixel of the part
        shown = part.labels[first[0] :: step, first[1] :: step]
        top, left = (rows.start + first[0]) // step, (cols.start + first[1]) // step
        place = slice(top, top + shown.shape[0]), slice(left, left + shown.shape[1])
        self._labels[place], self._decided[place], self._is_pending = shown, True, True
        if time.monotonic() - self._written_at >= SECONDS_BETWEEN_PICTURES:
            self._write()

    def finish(self) -> None:
        """Write the complete picture."""
        if self._is_pending:
            self._write()

    def _write(self) -> None:
        alpha = np.where(self._decided, np.uint8(255), np.uint8(0))
        picture = np.dstack([label_colours(self._labels, self._n_frames), alpha])
        write_files({self._path: encode_png(picture)}, force=True)
        self._written_at = time.monotonic()
        self._version += 1
        self._is_pending = False
        self._send({"event": "live", "version": self._version})
