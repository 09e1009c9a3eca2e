"""The commands and the Python code of README.md run, and its links exist."""

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
                # The time and the notes of the compiler differ.
                lines = [line for line in ran.out.splitlines() if not line.startswith("compiling")]
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
