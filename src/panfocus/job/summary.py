"""Lines for people: what a job would do, and what it did. Front ends name settings in their own terms."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from panfocus.errors import Notice
from panfocus.job.memory_plan import format_size
from panfocus.job.prepare import Job
from panfocus.stack import count_and_size

if TYPE_CHECKING:
    from panfocus.job.apply_to import AppliedSet
    from panfocus.stack import Stack

Lines = list[Notice | str]

LEAST_REPORTED_GAIN = 0.005  # fraction of a frame's brightness: smaller corrections are not counted


def describe_job(job: Job) -> Lines:
    """Return what a job would do."""
    from panfocus.io.disk_array import scratch_folder

    plan, frames, request = job.plan, job.source.blank_frames, job.request
    size = format_size(frames.nbytes)
    lines: Lines = [
        f"Would fuse {count_and_size(frames.shape)}, {frames.dtype.name}, with about "
        f"{format_size(plan.memory)} of memory:",
        *(f"  {header.name}" for header in job.source.headers),
    ]
    if request.skip_bad:
        lines.append(
            "Damaged frames, copies, frames of another scene and frames that cannot be aligned are skipped; "
            "they are found when pixels are read."
        )
    if job.source.reduce > 1:
        lines.append(f"Preview: frames are reduced to 1/{job.source.reduce} of their size.")
    place = "in memory" if plan.in_memory else f"in a scratch file in {scratch_folder()}"
    lines.append(f"Frames are held {place}, {size}.")
    if plan.side:
        lines.append(f"Tiles have at most {plan.side} x {plan.side} pixels.")
    if plan.seconds:
        lines.append(f"Expected time: {_duration(plan.seconds)}.")
    if request.align != "off":
        copy = "" if plan.in_memory else f" It takes a second scratch file, {size}."
        lines.append(f"Alignment: {request.align}, if needed.{copy}")
    settings = ", ".join(f"{name}={value}" for name, value in vars(job.method).items())
    lines.append(f"Method: {job.method_name} ({settings}).")
    if job.separate:
        lines.append(f"The {len(job.separate)} channels are fused separately.")
    if job.spans:
        spans = ", ".join(f"{span.start} to {span.stop - 1}" for span in job.spans)
        lines.append(f"Slabs of frames {spans}, counted from 0.")
    if job.strokes:
        lines.append(f"Retouching: {request.retouch}.")
    for other in job.others:
        by = "the same weights" if "votes" in job.maps else "the labels, with hard borders"
        lines.append(f"Compose {len(other.headers)} frames from {other.headers[0].name} on by {by}.")
    lines.append(f"Output: {request.outputs.names(len(job.spans))}")
    return lines


def summarize(
    job: Job, stack: "Stack", report: dict[str, Any], applied: "Sequence[AppliedSet]" = ()
) -> Lines:
    """Return what a job did, except for the list of written files."""
    lines: Lines = [*stack.notices]
    by_slabs = f" in {len(job.spans)} slabs" if job.spans else ""
    lines += fusion_lines(stack.frames.shape, report, by_slabs)
    lines += _border_lines(report)
    if refined := report.get("refine"):
        line = (
            f"Refined with strength {refined['strength']:g}: {refined['changed_share']:.1%} of the values "
            f"changed, by at most {refined['largest_change']:.2g} of full scale."
        )
        lines.append(line if refined["changed_share"] else Notice(line, hint="refine_more"))
    if job.strokes:
        n = len(job.strokes.strokes)
        lines.append(f"Retouched with {n} stroke{'' if n == 1 else 's'} from {job.request.retouch}.")
    if job.request.preview:
        lines.append(
            Notice(f"This is a preview at 1/{job.source.reduce} of full size.", hint="no_preview")
            if job.source.reduce > 1
            else "The frames are small, so the preview has full size."
        )
    if job.others:
        n = len(job.others)
        lines.append(f"{_applied(job)} to {n} other set{'' if n == 1 else 's'} of frames.")
    for other in applied:
        lines += [f"{other.path}: {line}" for line in (*other.notices, *_correction_lines(other.corrections))]
    return lines


def fusion_lines(shape: tuple[int, ...], report: dict[str, Any], by_slabs: str = "") -> list[str]:
    """Return how frames of a shape were fused and what was corrected in them."""
    facts = [f"Fused {count_and_size(shape)}{by_slabs}"]
    if channels := report.get("separate_channels"):
        facts.append(f"{len(channels)} channels separately")
    if shares := report.get("frame_shares"):
        facts.append(f"sharpest in each: {', '.join(f'{share:.1%}' for share in shares)}")
    if unfocused := report.get("never_in_focus_share"):
        facts.append(f"never in focus: {f'{unfocused:.1%}' if unfocused >= 0.001 else 'under 0.1%'}")
    return ["; ".join(facts) + ".", *_correction_lines(report)]


def _border_lines(report: dict[str, Any]) -> Lines:
    """Say how much alignment cropped from the frames, or filled at their borders."""
    height, width = report["shape"][:2]
    size = f"Output: {width} x {height} pixels"
    alignment = report.get("alignment")
    if not alignment:
        return [f"{size}."]
    if alignment["model"] == "none":
        return [describe_no_alignment(height, width), f"{size}."]
    share = alignment["border_share"]
    if alignment["borders"] == "crop":
        return [f"{size}; {share:.1%} of the area was cropped."]
    if share < 0.0005:
        return [f"{size}."]
    filled = f"{share:.1%} of the area (at the borders) was missing in some frames and was filled from others"
    return [Notice(f"{size}; {filled}.", hint="crop_borders")]


def describe_no_alignment(height: int, width: int) -> str:
    """Return why frames of this size were not moved."""
    from panfocus.registration.alignment import SMALLEST

    if min(height, width) < SMALLEST:
        return f"The frames are too small to align: each side needs at least {SMALLEST} pixels."
    return "The frames needed no alignment."


def _correction_lines(report: dict[str, Any]) -> list[str]:
    """Return what was corrected in the frames before fusion."""
    lines = []
    channels = report.get("separate_channels", [report])  # or one report for all
    found = [channel["hot_pixels"] for channel in channels if "hot_pixels" in channel]
    kinds = ("fixed", "single", "clusters", "doubtful_clusters")
    fixed, single, clusters, doubtful = (sum(hot[kind] for hot in found) for kind in kinds)
    if fixed or single or clusters:
        clustered = f", {clusters} clusters" if clusters else ""
        lines.append(f"Hot pixels repaired: {fixed} in all frames, {single} in single frames{clustered}.")
    if doubtful:
        lines.append(
            f"Possible clusters of hot pixels, not repaired as they may be detail: {doubtful}. "
            "Set `hot_pixels` to on to repair them."
        )
    gains = [channel["exposure"]["gains"] for channel in channels if "exposure" in channel]
    # The largest change of each frame, in any channel.
    frames = zip(*gains, strict=True)  # the gains of each frame in all channels
    changes = [max(abs(gain - 1) for channel in frame for gain in channel) for frame in frames]
    if n_changed := sum(change >= LEAST_REPORTED_GAIN for change in changes):
        several = f"{n_changed} frame{'s' if n_changed > 1 else ''}"
        lines.append(f"Exposure of {several} corrected by up to {max(changes):.0%}.")
    return lines


def _applied(job: Job) -> str:
    return "Applied the same weights" if "votes" in job.maps else "Applied the labels, with hard borders,"


def _duration(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 120 else f"{round(seconds / 60)} min"
