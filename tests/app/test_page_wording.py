"""Wording of the page: errors and notices name controls, and hints are clicks."""

import pytest

from panfocus.app.wording import PAGE, describe_error, page_text, setting_label
from panfocus.errors import PYTHON, AlignmentError, FileError, InputError, Notice


def test_settings_are_named_by_their_controls(message):
    error = InputError(
        "`max_memory` must be at least 1 MB, got 12.", hint="more_memory", setting="max_memory"
    )
    message("page-setting", page_text(error))


def test_settings_without_a_control_are_named_by_their_command():
    assert setting_label("skip_bad") == "panfocus fuse --skip-bad"
    assert setting_label("max_upload") == "panfocus app --max-upload"


def test_hints_of_unusable_frames_point_to_the_frame(message):
    message("page-unusable-frame", page_text(FileError("a.png: the file is truncated.", hint="skip_bad")))
    message("page-alignment", page_text(AlignmentError("Frame 3 cannot be aligned.", hint="align_off")))


def test_every_hint_has_a_sentence_on_the_page():
    assert PYTHON.hints.keys() - PAGE.hints.keys() == set()


def test_notices_are_worded_like_errors():
    assert page_text(Notice("Set `borders`.")) == "Set “Borders”."


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(12, "Cannot allocate memory", "a.tif"),
        ZeroDivisionError("a\nb"),
        InputError("a\nb"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_error_is_one_line(error):
    line = describe_error(error)
    assert line and "\n" not in line
    assert getattr(error, "filename", None) is None or error.filename in line
