"""Exceptions and notices: a message, its facts, and an optional hint that each front end words itself."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

_SETTING = re.compile(r"`(\w+)`")


class PanfocusError(Exception):
    """Base class of all errors that panfocus raises on purpose.

    Parameters
    ----------
    message : str
        One or two sentences that say what is wrong. A setting is written as its Python name in backticks,
        such as `max_memory`; the command line shows it as a flag, the page as a label.
    hint : str, optional
        Key of a remedy that differs between front ends, such as "skip_bad". See `Wording`.
    **facts
        Values that the message reports, for programs: `file`, `setting`, `got`, `needed`, `frames`.
    """

    def __init__(self, message: str, *, hint: str | None = None, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.facts = facts

    def __str__(self) -> str:
        return PYTHON.text(self)


class InputError(PanfocusError, ValueError):
    """An argument, a setting or the frames themselves cannot be used."""


class UsageError(InputError):
    """The command or the form was filled in wrongly, whatever the files contain."""


class FileError(PanfocusError, OSError):
    """A file cannot be read or written, or its content is not what its name promises."""


class AlignmentError(PanfocusError):
    """Frames cannot be aligned; the fact `frames` lists their numbers, from 0."""


class MissingExtraError(PanfocusError):
    """An optional library is not installed; the fact `extra` names the extra that installs it."""


class NotEnoughMemoryError(InputError):
    """The work needs more memory than is allowed; the fact `needed` is the number of bytes."""


@dataclass(frozen=True)
class Notice:
    """Something users should know about a result that is not an error."""

    message: str
    hint: str | None = None

    def __str__(self) -> str:
        return PYTHON.text(self)


@dataclass(frozen=True)
class Wording:
    """How one front end names settings and words hints.

    Attributes
    ----------
    setting : callable
        Returns the name of a setting for users, such as `--max-memory` for `max_memory`.
    hints : mapping of str to str
        The sentence for each hint key. It may use the error's facts, such as `{file}`.
    """

    setting: Callable[[str], str]
    hints: Mapping[str, str]

    def text(self, statement: "PanfocusError | Notice | str") -> str:
        """Return the text of an error or a notice for users of this front end."""
        if isinstance(statement, str):
            return self.name_settings(statement)
        hint = self.hints.get(statement.hint or "", "")
        facts = statement.facts if isinstance(statement, PanfocusError) else {}
        return self.name_settings(f"{statement.message} {hint.format_map(facts)}".rstrip())

    def name_settings(self, text: str) -> str:
        """Replace every setting in backticks by its name for users."""
        return _SETTING.sub(lambda match: self.setting(match[1]), text)


PYTHON = Wording(
    setting=lambda name: f"`{name}`",
    hints={
        "choose_channel": "Use .tif, or choose one with `channel`.",
        "choose_time": "Choose one with `time`.",
        "align_off": 'Leave the frame out, or fuse with align="off".',
        "align_similarity": 'Use align="similarity" to allow scale and rotation.',
        "choose_reference": "Choose another `reference`.",
        "free_scratch_space": "Free some space, set TMPDIR to another folder, or increase `max_memory`.",
        "free_space": "Free some space, or use another folder.",
        "install_extra": "Install it with: pip install 'panfocus[{extra}]'.",
        "crop_borders": 'Use borders="crop" to remove filled borders.',
        "fewer_frames": "Use fewer or smaller frames.",
        "more_memory": "Increase `max_memory`, or use fewer or smaller frames.",
        "overwrite": "Choose another name, or pass force=True to overwrite.",
        "replace_frame": "Every frame needs its counterpart: replace this frame, or leave out the whole set.",
        "skip_bad": "Leave the frame out.",
    },
)


def missing_extra(feature: str, packages: str, extra: str) -> MissingExtraError:
    """Return the error for a feature whose optional packages are not installed."""
    return MissingExtraError(f"{feature} needs {packages}.", hint="install_extra", extra=extra)


@contextmanager
def warnings_as_notes(warnings: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Add warnings that came before an error to it as notes (`__notes__`), so that users see both."""
    try:
        yield
    except PanfocusError as error:
        for warning in warnings():
            if warning not in getattr(error, "__notes__", ()):
                error.add_note(warning)
        raise


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn every InputError raised inside into a UsageError."""
    try:
        yield
    except UsageError:
        raise
    except InputError as error:
        usage_error = UsageError(error.message, hint=error.hint, **error.facts)
        for note in getattr(error, "__notes__", ()):
            usage_error.add_note(note)
        raise usage_error from error
