"""The option schema matches the methods and the command line."""

import json

import pytest
from typer.main import get_command

from panfocus.cli._commands import commands as command
from panfocus.cli._wording import COMMAND
from panfocus.errors import InputError
from panfocus.job import option_schema
from panfocus.methods import get_method, method_names, parse_settings, setting_names


def test_schema_has_every_method_with_all_settings():
    of_name = {form["name"]: form for form in option_schema.methods()}
    assert sorted(of_name) == method_names()
    assert next(iter(of_name)) == "panfocus"
    for name, form in of_name.items():
        assert [field["name"] for field in form["fields"]] == setting_names(name)
        assert form["summary"].endswith(".")
        assert all(field["help"] for field in form["fields"])


def test_methods_accept_every_choice_and_default():
    for form in option_schema.methods():
        for field in form["fields"]:
            for value in field.get("choices", []):
                get_method(form["name"], **{field["name"]: value})
            if field["kind"] in ("number", "integer", "boolean"):
                typed = str(field["default"]).lower()
                parsed = parse_settings(form["name"], {field["name"]: typed})
                assert parsed[field["name"]] == field["default"]


def test_methods_reject_choices_that_are_not_listed():
    chosen = [(form, f) for form in option_schema.methods() for f in form["fields"] if f["kind"] == "choice"]
    assert chosen
    for form, field in chosen:
        with pytest.raises(InputError):
            get_method(form["name"], **{field["name"]: "something else"})


def test_options_have_help_and_defaults_of_the_command():
    fuse = get_command(command).commands["fuse"]
    options = {parameter.name: parameter for parameter in fuse.params}
    for field in option_schema.options():
        assert COMMAND.name_settings(field["help"]) == options[field["name"]].help
        assert field["default"] == options[field["name"]].default


def test_schema_is_plain_data_of_known_kinds():
    methods = option_schema.methods()
    fields = [field for form in methods for field in form["fields"]] + option_schema.options()
    assert {f["kind"] for f in fields} == {"number", "integer", "boolean", "choice", "text", "dictionary"}
    json.dumps([methods, option_schema.options()])
