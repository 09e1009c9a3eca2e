"""Servers that tests share; a test must not rely on an empty one."""

import shutil

import pytest
import small_stacks
from app_server import running_server


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server of the HTTP tests, which accepts uploads of up to 2 MB."""
    place = tmp_path_factory.mktemp("app")
    root = place / "pictures"
    small_stacks.write(root / "small")
    (place / "outside").mkdir()
    shutil.copy(root / "small" / "frame-1.png", place / "outside" / "secret.png")
    (root / "way out").symlink_to(place / "outside")
    with running_server(place / "work", root, "--port", "0", "--max-upload", "2MB") as running:
        yield running


@pytest.fixture(scope="session")
def page_server(tmp_path_factory):
    """A server of the browser tests, without a limit on uploads."""
    place = tmp_path_factory.mktemp("page")
    small_stacks.write(place / "pictures" / "beetle")
    with running_server(place / "work", place / "pictures") as running:
        yield running
