"""panfocus: one picture that is sharp everywhere, from frames that are sharp somewhere.

The public names; each is imported when it is first used, so that `import panfocus` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from panfocus.errors import AlignmentError, FileError, InputError, PanfocusError

if TYPE_CHECKING:
    from panfocus import metrics
    from panfocus.dictionary import CoupledDictionary
    from panfocus.pipeline import apply, fuse, fuse_slabs
    from panfocus.registration.alignment import Aligned, align
    from panfocus.result import FusionResult

    __version__: str

__all__ = [
    "Aligned",
    "AlignmentError",
    "CoupledDictionary",
    "FileError",
    "FusionResult",
    "InputError",
    "PanfocusError",
    "align",
    "apply",
    "fuse",
    "fuse_slabs",
    "metrics",
]

_HOME_OF = {
    "Aligned": "panfocus.registration.alignment",
    "align": "panfocus.registration.alignment",
    "CoupledDictionary": "panfocus.dictionary",
    "FusionResult": "panfocus.result",
    "apply": "panfocus.pipeline",
    "fuse": "panfocus.pipeline",
    "fuse_slabs": "panfocus.pipeline",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("panfocus")
    if name == "metrics":
        return import_module("panfocus.metrics")
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'panfocus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
