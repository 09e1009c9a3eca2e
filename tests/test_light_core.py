"""Batches, giant images, lazy arrays, the page and napari are extras: who does not use them does not pay."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
OPTIONAL = (
    "dask",
    "distributed",
    "magicgui",
    "matplotlib",
    "napari",
    "npe2",
    "ome_zarr",
    "qtpy",
    "rawpy",
    "starlette",
    "uvicorn",
    "zarr",
)
RUN = """
from panfocus.cli import main
sys.argv[1:] = {arguments}
try:
    main()
except SystemExit as ended:
    assert not ended.code
"""


def imported_of(names, statements, folder):
    """Run statements in a new interpreter; return which packages it then holds."""
    asked = f"print('imported:', *sorted({set(names)} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{statements}\n{asked}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1].removeprefix("imported:").split()


@pytest.mark.parametrize(
    "statements",
    [
        "import panfocus, panfocus.napari_plugin",
        RUN.format(arguments=["--help"]),
        RUN.format(arguments=["batch", "--help"]),
        RUN.format(arguments=["fuse", "a.png", "b.png", "-o", "fused.png"]),
    ],
    ids=["import", "help", "help of batch", "fuse"],
)
def test_no_extra_is_imported(statements, tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        Image.fromarray(rng.integers(0, 256, (48, 48), np.uint8)).save(tmp_path / f"{name}.png")
    assert imported_of(OPTIONAL, statements, tmp_path) == []
    assert (tmp_path / "fused.png").exists() == ("fused.png" in statements)


def test_page_server_starts_without_compiled_code(tmp_path):
    assert imported_of(("numba",), "import panfocus.app.server", tmp_path) == []


def test_what_is_looked_for_can_be_found(tmp_path):
    assert imported_of(OPTIONAL, "import qtpy, dask", tmp_path) == ["dask", "qtpy"]


def test_the_default_install_needs_what_the_documentation_lists_and_no_more():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {re.match(r"[\w-]+", dependency)[0] for dependency in project["dependencies"]}
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    (sentence,) = re.findall(r"The default install needs (.+?); ", page)
    assert set(re.findall(r"`([\w-]+)`", sentence)) == needed
    extras = project["optional-dependencies"].keys() - {"test", "lint", "bench"}
    assert set(re.findall(r"^\| `(\w+)`:", page, re.MULTILINE)) == extras
