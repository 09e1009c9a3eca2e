"""Lines on the page name its controls, and every option that a message may mention has its words there."""

import ast
import dataclasses
import re
from pathlib import Path

import pytest

from panfocus.app.words import COMMANDS, CONTROLS, OPTION, REMEDIES, on_page
from panfocus.job import option_schema
from panfocus.job.request import Outputs, Request

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "panfocus"
# What the page never shows: other front ends, and modules that write commands or speak in a terminal.
UNSEEN = re.compile(
    r"(cli|batch|giant|compare|reproduce|napari_plugin)/|cluster|app/(command|learning|serve|workers?|words)\.py"
)


def spoken(path):
    """Return the texts of a module, those of f-strings in parts, without its docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    described = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described
    ]


@pytest.fixture(scope="module")
def texts():
    modules = sorted(PACKAGE.rglob("*.py"))
    seen = [path for path in modules if not UNSEEN.match(path.relative_to(PACKAGE).as_posix())]
    return [text for path in seen for text in spoken(path)]


def test_every_option_that_a_message_mentions_has_words_on_the_page(texts):
    mentioned = {option for text in texts for option in OPTION.findall(text)}
    assert "--skip-bad" in mentioned  # they are found at all
    # Options without effect, and maps that a method does not give, are named by their fields.
    fields = [field.name for field in (*dataclasses.fields(Request), *dataclasses.fields(Outputs))]
    by_field = {f"--{name.replace('_', '-')}" for name in fields} - {
        *("--inputs", "--outputs", "--settings", "--image", "--applied", "--steps")
    }
    assert mentioned | by_field <= {*CONTROLS, *COMMANDS}


def test_every_remedy_is_one_of_a_message(texts):
    for remedy in REMEDIES:
        assert any(remedy in text for text in texts), remedy


def test_every_control_is_on_the_page():
    fields = [
        *option_schema.options(),
        *(field for method in option_schema.methods() for field in method["fields"]),
    ]
    labels = {field["name"].replace("_", " ").capitalize() for field in fields}
    static = PACKAGE / "app" / "static"
    written = "".join(path.read_text("utf-8") for path in (static / "index.html", *static.rglob("js/*.js")))
    for option, name in CONTROLS.items():
        assert name in labels or re.search(rf'["`>]{name}[ ":,<`]', written), option
    assert '"Use"' in written


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "cannot align b.png; leave it out, as --skip-bad does, or fuse with --align off",
            "cannot align b.png; untick its “Use” to leave it out, or fuse with “Align” off",
        ),
        (
            "b.png has the same pixels as a.png; it is used all the same, --skip-bad leaves it out.",
            "b.png has the same pixels as a.png; it is used all the same; untick its “Use” to leave it out.",
        ),
        (
            "a.npy: cannot write there (disk full); make room, or use another folder",
            "a.npy: cannot write there (disk full); delete results or stacks that you no longer need",
        ),
        ("a larger --refine-strength, such as 0.01", "a larger “Refine strength”, such as 0.01"),
        ("choose one by --time N", "choose one by panfocus fuse --time N"),
        ("start panfocus app --max-upload SIZE", "start panfocus app --max-upload SIZE"),
        ("a--align.png and --alignment, --align-x", "a--align.png and --alignment, --align-x"),
    ],
)
def test_a_line_is_said_in_the_words_of_the_page(line, shown):
    assert on_page(line) == shown


def test_what_the_page_shows_names_no_option(server):
    options = {"max_memory": "1MB"}
    folder = str(server.root / "small")
    stack = server.client.post("/api/stacks", json={"folder": folder}).raise_for_status().json()["id"]
    told = server.client.post(f"/api/stacks/{stack}/estimate", json=options).json()
    assert "of “Max memory”; allow more" in told["error"]
    assert not [form["help"] for form in server.state()["options"] if "--" in form["help"]]
    server.client.delete(f"/api/stacks/{stack}").raise_for_status()
