"""Errors and notices: facts, hints and their wording in each front end."""

import pickle
import re
from pathlib import Path

import pytest

from panfocus.app.wording import PAGE
from panfocus.cli._wording import COMMAND
from panfocus.errors import (
    PYTHON,
    AlignmentError,
    FileError,
    InputError,
    MissingExtraError,
    Notice,
    PanfocusError,
    UsageError,
    missing_extra,
    usage_errors,
    warnings_as_notes,
)

SOURCE = Path(__file__).resolve().parents[1] / "src" / "panfocus"
FRONT_ENDS = ("cli", "app", "napari_plugin")


def test_errors_survive_pickling_with_their_facts():
    for kind in (InputError, FileError, AlignmentError, MissingExtraError):
        error = pickle.loads(pickle.dumps(kind("Wrong.", hint="skip_bad", file="a.png")))
        assert type(error) is kind
        assert (error.message, error.hint, error.facts) == ("Wrong.", "skip_bad", {"file": "a.png"})


def test_each_front_end_names_settings_and_hints_in_its_own_terms():
    error = InputError("`max_memory` is too small.", hint="more_memory", setting="max_memory")
    assert "`max_memory`" in str(error)
    assert COMMAND.text(error).startswith("--max-memory is too small. ")
    assert "`" not in PAGE.text(error)
    assert len({wording.text(error) for wording in (PYTHON, COMMAND, PAGE)}) == 3


def test_every_hint_has_a_sentence_in_the_command_and_on_the_page():
    used = {
        hint for path in SOURCE.rglob("*.py") for hint in re.findall(r'hint="(\w+)"', path.read_text("utf-8"))
    }
    used |= PYTHON.hints.keys()
    assert used - COMMAND.hints.keys() == set()
    assert PYTHON.hints.keys() - PAGE.hints.keys() == set()


def test_hints_use_the_facts_of_the_error():
    error = missing_extra("A RAW file", "rawpy", "raw")
    assert error.facts == {"extra": "raw"}
    assert "panfocus[raw]" in str(error)


def test_no_module_below_the_front_ends_names_a_flag():
    # A flag in a string; not a CSS variable (--ink: ...; var(--ink)).
    flag = re.compile(r"""["'][^"'\n]*(?<![\w(-])--[a-z][a-z-]*+(?!:)[^"'\n]*["']""")
    found = [
        f"{path.relative_to(SOURCE)}: {match[0]}"
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in (*FRONT_ENDS, "__main__.py")
        for match in flag.finditer(path.read_text("utf-8"))
    ]
    assert found == []


def test_usage_errors_keep_facts_and_notes():
    with pytest.raises(UsageError) as caught, usage_errors(), warnings_as_notes(lambda: ["Skipped a.txt."]):
        raise InputError("Wrong.", hint="skip_bad", setting="align")
    assert (caught.value.hint, caught.value.facts) == ("skip_bad", {"setting": "align"})
    assert caught.value.__notes__ == ["Skipped a.txt."]


def test_notices_are_worded_like_errors():
    notice = Notice("Only shifts were searched.", hint="align_similarity")
    assert str(notice).startswith("Only shifts were searched. ")
    assert "--align similarity" in COMMAND.text(notice)


def test_bad_arguments_are_also_value_errors_and_bad_files_os_errors():
    assert issubclass(InputError, ValueError)
    assert issubclass(FileError, OSError)
    assert issubclass(AlignmentError, PanfocusError)
