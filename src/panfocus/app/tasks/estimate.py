"""What a fusion would take, and whether it can be done at all, without reading a pixel."""

from typing import Any

from panfocus.app.tasks.telling import Tell


def run(task: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Check and plan what `request` asks for; what keeps it from being done is `error`, in one line."""
    from panfocus._threads import limit_threads
    from panfocus.errors import PanfocusError
    from panfocus.job.plain import restored
    from panfocus.job.prepare import prepare

    request = restored(task["request"])
    warnings: list[str] = []
    nothing = {"seconds": None, "memory": None, "n_frames": None, "width": None, "height": None}
    try:
        with limit_threads(request.threads):
            job = prepare(request, force=True, warn=warnings.append, every_map=True)
    except PanfocusError as error:
        return nothing | {"warnings": warnings, "error": " ".join(str(error).split())}
    n_frames, height, width = job.source.like_frames.shape[:3]
    return {
        "seconds": job.plan.seconds,
        "memory": job.plan.memory,
        "n_frames": n_frames,
        "width": width,
        "height": height,
        "warnings": warnings,
        "error": None,
    }
