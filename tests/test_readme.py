"""README.md and CONTRIBUTING.md are true: commands and code run, links and files exist."""

import re
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
TEXT = README.read_text("utf-8")


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """A copy of the sample in the current folder, as README.md suggests."""
    shutil.copytree(files("panfocus") / "data" / "sample", tmp_path / "photos")
    monkeypatch.chdir(tmp_path)


def test_commands_run_and_print_what_the_readme_shows(photos, run):
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL):
        for command, shown in re.findall(r"^\$ panfocus (.*)\n((?:[^$].*\n)*)", block, re.MULTILINE):
            ran = run(*command.split())
            assert (ran.code, ran.err) == (0, ""), command
            if shown:
                # Times differ, and slow runs print notes of the compiler and more lines of progress.
                slow = re.compile(r"Compiling |\w+ \d+%$")
                lines = [line for line in ran.out.splitlines() if not slow.match(line)]
                assert re.sub(r"in [\d.]+ s", "", "\n".join(lines)) == re.sub(
                    r"in [\d.]+ s", "", shown.strip()
                )


def test_python_block_runs(photos):
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names = {}
    exec(block, names)
    assert names["result"].labels is not None
    assert Path("fused.tif").exists()


def test_links_exist():
    links = re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", TEXT)
    assert len(links) > 20
    assert [link for link in links if not (README.parent / link).exists()] == []


def test_files_of_contributing_exist():
    package = README.parent / "src" / "panfocus"
    text = (README.parent / "CONTRIBUTING.md").read_text("utf-8")
    table = text[text.index("| where is") : text.index("## Layers")]
    files = re.findall(r"`([\w/]+\.(?:py|js))`", table)
    assert len(files) > 15
    assert [file for file in files if not (package / file).exists()] == []
    for file, name in re.findall(r"`([\w/]+\.py)` \(`(\w+)`", table):
        assert re.search(rf"^\s*(def|class) {name}\b", (package / file).read_text("utf-8"), re.MULTILINE), (
            name
        )
    tree = text[text.index("src/panfocus/\n") : text.index("tests/   ")]
    parts = {path.name for path in package.iterdir() if path.is_dir() and not path.name.startswith("__")}
    assert set(re.findall(r"(\w+)/(?=[ \n])", tree)) - {"panfocus"} == parts
