"""Errors and notices in the terms of the page: labels of controls for settings, clicks for remedies."""

import errno

from panfocus.errors import Notice, PanfocusError, Wording

MAKE_ROOM = "Delete results or stacks that you no longer need."
_EXCLUDE = "Untick “Use” of the frame to leave it out."
EXCLUDE_OTHERS = "Untick “Use” of the frames that differ."

# Controls whose label is not the name of the setting with spaces.
_LABELS = {
    "bits": "Bits per channel",
    "depth": "Depth map",
    "depth_colour": "Depth map in colours",
    "jpeg_quality": "Quality",
    "labels": "Source frames (label map)",
}
# Settings that only the command line has, by command.
_COMMANDS = dict.fromkeys(("max_upload", "port", "work"), "panfocus app") | dict.fromkeys(
    (
        "apply_output", "apply_to", "channel", "force", "from_report", "jpeg_subsampling",
        "output", "preview", "reference", "save_steps", "skip_bad", "sweep", "threads", "tiled", "time",
    ),
    "panfocus fuse",
)  # fmt: skip


def setting_label(name: str) -> str:
    """Return the label of a setting's control, or the command that has the setting."""
    if name in _COMMANDS:
        return f"{_COMMANDS[name]} --{name.replace('_', '-')}"
    return f"“{_LABELS.get(name, name.replace('_', ' ').capitalize())}”"


PAGE = Wording(
    setting=setting_label,
    hints={
        "align_off": "Untick “Use” of the frame to leave it out, or set “Align” to off.",
        "align_similarity": "Set “Align” to similarity to allow scale and rotation.",
        "choose_channel": "Export as TIFF.",
        "choose_reference": _EXCLUDE,
        "choose_time": "Save one time point as a separate file.",
        "crop_borders": "Set “Borders” to crop to remove filled borders.",
        "fewer_frames": "Use fewer or smaller frames.",
        "free_scratch_space": MAKE_ROOM,
        "free_space": MAKE_ROOM,
        "install_extra": "Install it with: pip install 'panfocus[{extra}]'.",
        "more_memory": "Increase “Max memory”, or use fewer or smaller frames.",
        "overwrite": "Choose another name.",
        "refine_more": "Increase “Refine strength” for a stronger effect.",
        "replace_frame": "Every frame needs its counterpart: replace this frame, or leave out the whole set.",
        "skip_bad": _EXCLUDE,
    },
)


def page_text(message: PanfocusError | Notice | str) -> str:
    """Return an error or a notice as one line for the page."""
    text = PAGE.text(message)
    if isinstance(message, PanfocusError) and MAKE_ROOM not in text and _is_disk_full(message):
        text = f"{text} {MAKE_ROOM}"
    return " ".join(text.split())


def describe_error(error: BaseException) -> str:
    """Return one line for the page on an error of any kind."""
    if isinstance(error, PanfocusError):
        return page_text(error)
    if isinstance(error, MemoryError):
        return "Out of memory. Use fewer or smaller frames."
    if isinstance(error, OSError) and error.strerror:
        reason = f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
        return f"{reason} {MAKE_ROOM}" if _is_disk_full(error) else reason
    return " ".join(f"Unexpected {type(error).__name__}: {error}".split())


def _is_disk_full(error: BaseException | None) -> bool:
    """Return whether an error was caused by a full disk or an exhausted quota."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__
    return False
