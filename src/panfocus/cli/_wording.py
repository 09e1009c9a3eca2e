"""How the command names settings and words hints; see `panfocus.errors.Wording`."""

from contextvars import ContextVar
from functools import cache

from panfocus.errors import Wording

# Names of Python that the parameters of the commands do not have.
_OTHER_NAMES = {
    "applied": "--apply-output",
    "image": "-o",
    "inputs": "INPUT",
    "n_atoms": "--atoms",
    "n_levels": "--levels",
    "n_samples": "--samples",
    "output": "-o",
    "outputs": "-o",
    "rng": "--seed",
    "steps": "--save-steps",
}


# The command whose flags are named; None for the flags of all commands.
running: ContextVar[str | None] = ContextVar("panfocus_command", default=None)


def _setting(name: str) -> str:
    """Return the flag of a setting; settings of methods have none and keep their names."""
    command = running.get()
    if command == "align" and name == "align":
        return "--model"
    return _OTHER_NAMES.get(name) or _flags(command).get(name, name)


@cache
def _flags(command: str | None) -> dict[str, str]:
    """Return the flag, or the placeholder, of each parameter of a command, or of all."""
    from typer.main import get_command

    from panfocus.cli._commands import commands

    by_name = get_command(commands).commands  # type: ignore[attr-defined]
    chosen = by_name.values() if command is None else [by_name[command]]
    return {
        each.name: max(each.opts, key=len) if each.param_type_name == "option" else each.metavar or each.name
        for one in chosen
        for each in one.params
    }


COMMAND = Wording(
    setting=_setting,
    hints={
        "choose_channel": "Use .tif, or choose one with --channel.",
        "choose_time": "Choose one with --time, or fuse each with --tiled.",
        "align_off": "Leave the frame out, use --skip-bad, or fuse with --align off.",
        "align_similarity": "Use `align` similarity to allow scale and rotation.",
        "choose_reference": "Choose another frame with --reference.",
        "crop_borders": "Use --borders crop to remove filled borders.",
        "fewer_frames": "Use fewer or smaller frames.",
        "free_scratch_space": "Free some space, set TMPDIR to another folder, or increase --max-memory.",
        "free_space": "Free some space, or use another folder.",
        "install_extra": "Install it with: pip install 'panfocus[{extra}]'.",
        "more_memory": "Increase --max-memory, or use fewer or smaller frames.",
        "name_inputs": "Give files or a folder, such as: panfocus fuse photos/ (see panfocus fuse --help).",
        "name_output": "Name it with -o.",
        "no_preview": "Leave out --preview for full size.",
        "overwrite": "Choose another name, or use --force to overwrite.",
        "refine_more": "A larger --refine-strength, such as 0.01, smooths visibly.",
        "replace_frame": "Every frame needs its counterpart: replace this frame, or leave out the whole set.",
        "skip_bad": "Leave the frame out, or use --skip-bad.",
    },
)
