"""Estimate the time and memory of a fusion, without reading pixels."""

from typing import Any

from panfocus._numba import is_any_cached
from panfocus._threads import limit_threads
from panfocus.app.tasks import Estimate, Send
from panfocus.app.wording import page_text
from panfocus.errors import PanfocusError
from panfocus.job.prepare import prepare
from panfocus.job.request import Request
from panfocus.job.serialization import from_plain
from panfocus.methods import DEFAULT_METHOD

# Seconds to compile the code of a fusion, once after installation: 15 on two quiet cores, more on older ones.
SECONDS_TO_COMPILE = 20.0


def run(send: Send, *, request: dict[str, Any]) -> Estimate:
    """Check and plan a request; `error` is the reason if it cannot be run."""
    wanted = from_plain(request)
    estimate = Estimate(
        seconds=None,
        compiling=0.0,
        memory=None,
        n_frames=None,
        width=None,
        height=None,
        warnings=[],
        error=None,
    )
    try:
        with limit_threads(wanted.threads):
            job = prepare(wanted, force=True, every_map=True)
    except PanfocusError as error:
        estimate["warnings"] = [page_text(note) for note in getattr(error, "__notes__", [])]
        estimate["error"] = page_text(error)
        return estimate
    estimate["n_frames"], estimate["height"], estimate["width"] = job.source.blank_frames.shape[:3]
    estimate["memory"] = job.plan.memory
    estimate["warnings"] = [page_text(warning) for warning in job.warnings]
    estimate["compiling"] = 0.0 if _is_compiled(wanted) else SECONDS_TO_COMPILE
    if job.plan.seconds is not None:
        estimate["seconds"] = job.plan.seconds + estimate["compiling"]
    return estimate


def _is_compiled(request: Request) -> bool:
    """Return whether an earlier run left the compiled code that takes longest to compile."""
    parts = ["registration"] if request.align != "off" else []
    if request.method in (None, DEFAULT_METHOD):
        parts.append("decide")
    return not parts or is_any_cached(*parts)
