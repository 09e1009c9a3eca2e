"""panfocus: focus stacking. Fuse frames of different focus into one image that is sharp everywhere.

Public names are imported on first use, so that `import panfocus` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from panfocus.errors import AlignmentError, FileError, InputError, PanfocusError

if TYPE_CHECKING:
    from panfocus import metrics
    from panfocus.dictionary import CoupledDictionary
    from panfocus.job.inputs import read_stack
    from panfocus.methods import method_names
    from panfocus.metrics import metric_names
    from panfocus.pipeline import apply, fuse
    from panfocus.registration.aligned_frames import Aligned, align
    from panfocus.result import FusionResult
    from panfocus.stack import Stack

    __version__: str

__all__ = [
    "Aligned",
    "AlignmentError",
    "CoupledDictionary",
    "FileError",
    "FusionResult",
    "InputError",
    "PanfocusError",
    "Stack",
    "align",
    "apply",
    "fuse",
    "method_names",
    "metric_names",
    "metrics",
    "read_stack",
]

_MODULE_OF = {
    "Aligned": "panfocus.registration.aligned_frames",
    "align": "panfocus.registration.aligned_frames",
    "CoupledDictionary": "panfocus.dictionary",
    "FusionResult": "panfocus.result",
    "apply": "panfocus.pipeline",
    "fuse": "panfocus.pipeline",
    "method_names": "panfocus.methods",
    "metric_names": "panfocus.metrics",
    "read_stack": "panfocus.job.inputs",
    "Stack": "panfocus.stack",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("panfocus")
    if name == "metrics":
        return import_module("panfocus.metrics")
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module 'panfocus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
