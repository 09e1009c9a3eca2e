"""What a fusion is asked for: the options as they were given."""

from dataclasses import dataclass
from pathlib import Path

from panfocus.cli._outputs import Outputs


@dataclass(frozen=True, kw_only=True)
class Request:
    """Plain data, one field for each option of `panfocus fuse` that has a say in its results."""

    inputs: tuple[str, ...]
    outputs: Outputs
    method: str | None = None
    settings: tuple[str, ...] = ()  # NAME=VALUE
    dictionary: Path | None = None
    align: str = "off"
    refine: bool = False
    refine_strength: float | None = None
    # These change no pixel.
    max_memory: str | None = None
    threads: int | None = None
