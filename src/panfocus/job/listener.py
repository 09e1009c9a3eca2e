"""Who hears of a fusion while it runs: a terminal, a page."""

from typing import Protocol


class Listener(Protocol):
    """Told where a job stands and what it found; `Console` of the command line is one."""

    def say(self, line: str) -> None:
        """Hear a line of the result."""
        ...

    def warn(self, line: str) -> None:
        """Hear that something of the user's is left out."""
        ...

    def progress(self, stage: str, done: float) -> None:
        """Hear the stage at work and the share of it that is done, 0 to 1."""
        ...

    def finish(self) -> None:
        """Hear that files are about to appear: from here on an interrupt comes too late."""
        ...
