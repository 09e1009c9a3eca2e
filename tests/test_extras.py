"""What is missing is told in one form, which names an extra that there is, and that brings it."""

import ast
import tomllib
from pathlib import Path

import pytest

from panfocus.errors import needs_extra

PROJECT = Path(__file__).resolve().parents[1]
MODULES = sorted((PROJECT / "src" / "panfocus").rglob("*.py"))


def told_needs():
    """Return what the package says is needed: the packages, in words, and the extra."""
    calls = [
        node
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "needs_extra"
    ]
    return [tuple(word.value for word in call.args[1:]) for call in calls]


def test_the_form_is_the_same_throughout():
    assert needs_extra("a RAW file", "rawpy", "raw") == (
        "a RAW file needs rawpy: pip install 'panfocus[raw]'"
    )
    told = [path.name for path in MODULES if "pip install" in path.read_text("utf-8")]
    assert told == ["errors.py"]


@pytest.mark.parametrize(("packages", "extra"), told_needs())
def test_each_extra_brings_what_is_missing(packages, extra):
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    brought = " ".join(extras[extra])
    for name in packages.lower().replace(" 3", "").split(" and "):
        assert name in brought
