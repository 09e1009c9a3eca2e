"""Lines of the package in the page's words: what is an option of the command line is a control there."""

import errno
import os
import re

# Options that the page has too, by the names of its controls.
CONTROLS = {
    "--align": "Align",
    "--bits": "Bits per channel",
    "--borders": "Borders",
    "--confidence": "Confidence",
    "--depth": "Depth",
    "--depth-colour": "Depth in colours",
    "--dictionary": "Dictionary",
    "--exposure": "Exposure",
    "--hot-pixels": "Hot pixels",
    "--jpeg-quality": "Quality",
    "--labels": "Labels",
    "--max-memory": "Max memory",
    "--method": "Method",
    "--never-in-focus": "Places that are in focus in no frame",
    "--refine": "Refine",
    "--refine-strength": "Refine strength",
    "--report": "Report of the fusion",
    "--retouch": "Retouch",
    "--set": "Settings",
    "--slabs": "Slabs",
    "--step": "Step",
}
# Those that it lacks, by the command that has them.
COMMANDS = dict.fromkeys(
    (
        "--apply-output",
        "--apply-to",
        "--channel",
        "--decisions",
        "--force",
        "--from-report",
        "--jpeg-subsampling",
        "--output",
        "--preview",
        "--reference",
        "--save-steps",
        "--skip-bad",
        "--sweep",
        "--threads",
        "--time",
    ),
    "panfocus fuse",
) | {"--max-upload": "panfocus app"}
MAKE_ROOM = "delete results or stacks that you no longer need"
_OTHERS_OUT = "untick “Use” of those that differ"
# Remedies that are another thing on the page.
REMEDIES = {
    "leave it out, as --skip-bad does,": "untick its “Use” to leave it out,",
    "choose another by --reference,": "untick its “Use” to leave it out,",
    "; leave it out, or use --skip-bad": "; untick its “Use” to leave it out",
    ", --skip-bad leaves it out": "; untick its “Use” to leave it out",
    ", or overwrite it with --force": "",
    "make room, or use another folder": MAKE_ROOM,
    "; convert them to one colour model": f"; {_OTHERS_OUT}, or convert them to one colour model",
    "all frames need one bit depth": f"all frames need one bit depth: {_OTHERS_OUT}, or convert them",
    "all frames need one size: crop them": f"all frames need one size: {_OTHERS_OUT}, or crop them",
}
# Of errors that say why, and not what to do.
_NO_ROOM = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT), "the disk is full")
OPTION = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*(?![\w-])")


def on_page(line: str) -> str:
    """Return a line as the page says it: with its controls for options, and its remedies."""
    for said, there in REMEDIES.items():
        line = line.replace(said, there)
    if any(reason in line for reason in _NO_ROOM) and not ("make room" in line or MAKE_ROOM in line):
        line = f"{line}; {MAKE_ROOM}"
    return OPTION.sub(_named, line)


def _named(found: re.Match[str]) -> str:
    option = found[0]
    if option in CONTROLS:
        return f"“{CONTROLS[option]}”"
    command = COMMANDS.get(option)
    if command is None or found.string[: found.start()].endswith(f"{command} "):
        return option
    return f"{command} {option}"
