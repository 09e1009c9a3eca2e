"""Check that every missing-package error names an extra that installs the package."""

import ast
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]


def missing_extra_calls():
    """Return (packages, extra) of every `missing_extra` call in the package."""
    calls = [
        node
        for path in sorted((PROJECT / "src" / "panfocus").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "missing_extra"
    ]
    return [tuple(argument.value for argument in call.args[1:]) for call in calls]


@pytest.mark.parametrize(("packages", "extra"), missing_extra_calls())
def test_extra_installs_the_missing_packages(packages, extra):
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    installed = " ".join(project["optional-dependencies"][extra])
    for name in packages.lower().replace(" 3", "").split(" and "):
        assert name in installed
