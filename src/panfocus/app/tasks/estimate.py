"""What a fusion would take, and whether it can be done at all, without reading a pixel."""

from typing import TYPE_CHECKING, Any

from panfocus.app.tasks.progress_events import Tell

if TYPE_CHECKING:
    from panfocus.job.request import Request

SECONDS_TO_COMPILE = 20.0  # what a fusion needs, once after installing: 15 on two quiet cores, more on older


def run(task: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Check and plan what `request` asks for; what keeps it from being done is `error`, in one line."""
    from panfocus._threads import limit_threads
    from panfocus.errors import PanfocusError
    from panfocus.job.prepare import prepare
    from panfocus.job.serialization import from_plain

    request = from_plain(task["request"])
    nothing = {
        "seconds": None,
        "compiling": 0.0,
        "memory": None,
        "n_frames": None,
        "width": None,
        "height": None,
    }
    try:
        with limit_threads(request.threads):
            job = prepare(request, force=True, every_map=True)
    except PanfocusError as error:
        return nothing | {"warnings": getattr(error, "__notes__", []), "error": " ".join(str(error).split())}
    n_frames, height, width = job.source.blank_frames.shape[:3]
    compiling = 0.0 if _is_compiled(request) else SECONDS_TO_COMPILE
    return {
        "seconds": None if job.plan.seconds is None else job.plan.seconds + compiling,
        "compiling": compiling,
        "memory": job.plan.memory,
        "n_frames": n_frames,
        "width": width,
        "height": height,
        "warnings": job.warnings,
        "error": None,
    }


def _is_compiled(request: "Request") -> bool:
    """Tell whether an earlier run has left the compiled code of what takes longest to compile."""
    from panfocus._numba import any_kept
    from panfocus.methods import DEFAULT_METHOD

    parts = ["registration"] if request.align != "off" else []
    if request.method in (None, DEFAULT_METHOD):
        parts.append("decide")
    return not parts or any_kept(*parts)
