"""Forms show what the methods and the command line have, and nothing that they refuse."""

import json

import pytest
from typer.main import get_command

from panfocus.cli._commands import commands as command
from panfocus.errors import InputError
from panfocus.job import option_schema
from panfocus.methods import get_method, method_names, parse_settings, setting_names


def test_every_method_has_a_form_of_all_its_settings():
    of_name = {form["name"]: form for form in option_schema.methods()}
    assert sorted(of_name) == method_names()
    assert next(iter(of_name)) == "panfocus"
    for name, form in of_name.items():
        assert [field["name"] for field in form["fields"]] == setting_names(name)
        assert form["summary"].endswith(".")
        assert all(field["help"] for field in form["fields"])


def test_every_choice_and_default_is_taken_by_the_method():
    for form in option_schema.methods():
        for field in form["fields"]:
            for value in field.get("choices", []):
                get_method(form["name"], **{field["name"]: value})
            if field["kind"] in ("number", "integer", "boolean"):
                typed = str(field["default"]).lower()
                parsed = parse_settings(form["name"], {field["name"]: typed})
                assert parsed[field["name"]] == field["default"]


def test_a_choice_that_is_not_listed_is_refused():
    chosen = [(form, f) for form in option_schema.methods() for f in form["fields"] if f["kind"] == "choice"]
    assert chosen
    for form, field in chosen:
        with pytest.raises(InputError):
            get_method(form["name"], **{field["name"]: "something else"})


def test_options_have_the_command_lines_words_and_defaults():
    fuse = get_command(command).commands["fuse"]
    options = {parameter.name: parameter for parameter in fuse.params}
    for field in option_schema.options():
        assert field["help"] == options[field["name"]].help
        assert field["default"] == options[field["name"]].default


def test_kinds_are_those_that_a_page_knows_and_all_is_plain_data():
    methods = option_schema.methods()
    fields = [field for form in methods for field in form["fields"]] + option_schema.options()
    assert {f["kind"] for f in fields} == {"number", "integer", "boolean", "choice", "text", "dictionary"}
    json.dumps([methods, option_schema.options()])
