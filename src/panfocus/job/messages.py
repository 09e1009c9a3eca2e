"""What `panfocus fuse` says: beforehand, of what it would do, and of what it has done."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from panfocus.job.byte_size import format_size
from panfocus.job.listener import Listener
from panfocus.job.prepare import Job

if TYPE_CHECKING:
    from panfocus.job.apply_to import Applied
    from panfocus.stack import Stack


LEAST_SAID = 0.005  # of a frame's brightness: what is corrected by less is not counted


def describe(listener: Listener, job: Job) -> None:
    """Say what would be done."""
    from panfocus.io.disk_array import scratch_folder

    plan = job.plan
    frames = job.source.like_frames
    kind = f"{_frames(frames.shape)}, {frames.dtype.name}"
    listener.say(f"would fuse {kind}, with about {format_size(plan.memory)} of memory:")
    for header in job.source.headers:
        listener.say(f"  {header.name}")
    if job.request.skip_bad:
        listener.say(
            "less those that are damaged inside, copies, of another scene or not to be aligned (--skip-bad): "
            "that shows when their pixels are read"
        )
    if job.source.reduce > 1:
        listener.say(f"reduced to 1/{job.source.reduce} of their size, for a preview")
    size = format_size(frames.nbytes)
    listener.say(
        f"held in memory, {size}"
        if plan.in_memory
        else f"kept in a scratch file in {scratch_folder()}, {size}"
    )
    if plan.side:
        listener.say(f"in tiles of at most {plan.side} x {plan.side} pixels")
    if plan.seconds:
        listener.say(f"in about {_duration(plan.seconds)}")
    if job.request.align != "off":
        again = "" if plan.in_memory else f", with a second scratch file, {size}"
        listener.say(f"aligned first ({job.request.align}), where that is needed{again}")
    listener.say(f"by the method {job.method_name} ({_listed(vars(job.method) | job.refinement)})")
    if job.spans:
        spans = ", ".join(f"{span.start} to {span.stop - 1}" for span in job.spans)
        listener.say(f"by slabs of the frames {spans}, counted from 0, then those slabs")
    if job.strokes:
        listener.say(f"then retouched by {job.request.retouch}")
    for other in job.others:
        listener.say(
            f"and {_how_applied(job)} to {len(other.headers)} frames from {other.headers[0].name} on"
        )
    listener.say(f"into {job.request.outputs.names(len(job.spans))}")


def summarise(
    listener: Listener, job: Job, stack: "Stack", report: dict[str, Any], applied: "Sequence[Applied]" = ()
) -> None:
    """Say what was done, but for the files that were written."""
    for notice in stack.notices:
        listener.say(notice)
    by_slabs = f", by {len(job.spans)} slabs," if job.spans else ""
    for sentence in sentences_on(stack.frames.shape, report, by_slabs):
        listener.say(sentence)
    if refined := report.get("refine"):
        listener.say(
            f"refined with strength {refined['strength']:g}, which changed {refined['changed_share']:.1%} "
            f"of the values, by {refined['largest_change']:.2g} of full scale at most"
            + (
                ""
                if refined["changed_share"]
                else "; a larger --refine-strength, such as 0.01, smooths visibly"
            )
        )
    if job.strokes:
        n = len(job.strokes.strokes)
        listener.say(f"retouched by {n} stroke{'' if n == 1 else 's'} of {job.request.retouch}")
    if job.request.preview:
        listener.say(
            f"a preview, at 1/{job.source.reduce} of the frames' size; without --preview it has all of it"
            if job.source.reduce > 1
            else "no preview: the frames are small enough to be fused at their full size"
        )
    if job.others:
        listener.say(
            f"{_how_applied(job)} to {len(job.others)} other sets of frames".replace(
                "1 other sets", "1 other set"
            )
        )
    for other in applied:
        for sentence in (*other.notices, *_corrections(other.corrections)):
            listener.say(f"{other.path}: {sentence}")


def sentences_on(shape: tuple[int, ...], report: dict[str, Any], by_slabs: str = "") -> list[str]:
    """Say of frames of a shape how they were fused, and what was changed in them before."""
    said = [f"fused {_frames(shape)}{by_slabs} in {report['seconds']:.1f} s"]
    if shares := report.get("frame_shares"):
        said.append(f"sharpest in each: {', '.join(f'{share:.1%}' for share in shares)}")
    if unfocused := report.get("never_in_focus_share"):
        said.append(f"never in focus: {f'{unfocused:.1%}' if unfocused >= 0.001 else 'under 0.1%'}")
    return ["; ".join(said), *_corrections(report)]


def _corrections(report: dict[str, Any]) -> list[str]:
    """Say what was changed in the frames before they were fused."""
    said = []
    if any((hot := report.get("hot_pixels", {})).values()):
        said.append(f"hot pixels repaired: {hot['fixed']} of all frames, {hot['single']} of single ones")
    changes = [max(abs(gain - 1) for gain in gains) for gains in report.get("exposure", {}).get("gains", [])]
    if n_changed := sum(change >= LEAST_SAID for change in changes):
        frames = f"{n_changed} frame{'s' if n_changed > 1 else ''}"
        said.append(f"exposure of {frames} corrected by up to {max(changes):.0%}")
    return said


def _how_applied(job: Job) -> str:
    exactly = "votes" in job.maps
    return "applied the same weights" if exactly else "applied the labels, with hard borders,"


def _duration(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 120 else f"{round(seconds / 60)} min"


def _frames(shape: tuple[int, ...]) -> str:
    n_frames, height, width = shape[:3]
    return f"{n_frames} frames of {width} x {height}"


def _listed(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())
