"""The wording of the command: flags for settings, sentences for hints."""

import ast
from pathlib import Path

import panfocus
from panfocus.cli._wording import COMMAND, running
from panfocus.errors import InputError, Notice

SOURCE = Path(panfocus.__file__).parent


def test_settings_are_named_by_their_flags():
    text = "`max_memory` `settings` `inputs` `output` `hot_pixels` `table` `stride`"
    assert COMMAND.text(InputError(text)) == "--max-memory --set INPUT -o --hot-pixels --csv stride"
    assert COMMAND.text(Notice("A notice.", hint="no_preview")).startswith("A notice. ")


def test_only_flags_of_the_running_command_are_named(folder, fails):
    fails("fuse", "a.png", "b.png", "--method", "dwt", "--set", "levels=x", code=2, names=[" levels "])
    assert COMMAND.text("`levels`") == "--levels"  # no command runs


def test_hint_names_the_option_of_the_running_command():
    notice = Notice("", hint="align_similarity")
    assert "--align similarity" in COMMAND.text(notice)
    token = running.set("align")
    assert "--model similarity" in COMMAND.text(notice)
    running.reset(token)


def test_every_hint_has_a_sentence():
    keys = {
        argument.value.value
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        for argument in node.keywords
        if argument.arg == "hint" and isinstance(argument.value, ast.Constant) and argument.value.value
    }
    assert keys - COMMAND.hints.keys() == set()
