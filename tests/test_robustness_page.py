"""Every case on docs/robustness.md has its test, and every test of a peer's case is on the page."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
PAGE = TESTS.parent / "docs" / "robustness.md"
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)` \|$")


def rows():
    """Return the rows of all tables whose last column is a test."""
    tables = re.findall(
        r"^\| case .*\| test \|\n\|[-|]+\n((?:\|.*\n)+)", PAGE.read_text("utf-8"), re.MULTILINE
    )
    return [row for table in tables for row in table.splitlines()]


def names_of_tests(path):
    tree = ast.parse(path.read_text("utf-8"))
    return {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_there_are_three_tables():
    assert len(rows()) > 30


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.split("|")[1].strip())
def test_every_case_has_its_test(row):
    file, name = NAMED.search(row).groups()
    assert name in names_of_tests(TESTS.parent / file if "/" in file else TESTS / "cli" / file)


@pytest.mark.parametrize("file", ["test_peer_cases.py", "test_hostile_files.py"])
def test_every_test_of_a_case_is_on_the_page(file):
    told = {match.group(2) for row in rows() if (match := NAMED.search(row)) and match.group(1) == file}
    elsewhere = {"test_first_bad_frame_is_rejected_without_skip_bad"}  # which other rows say
    assert names_of_tests(TESTS / "cli" / file) - elsewhere == told
