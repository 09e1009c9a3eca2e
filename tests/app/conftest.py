"""Servers that tests share; a test must not rely on an empty one."""

import shutil

import pytest
import small_stacks
from app_server import local_server, running_server


def write_pictures(place):
    """Write a folder `pictures` with a stack and a link to another folder; return it."""
    root = place / "pictures"
    small_stacks.write(root / "small")
    (place / "outside").mkdir()
    shutil.copy(root / "small" / "frame-1.png", place / "outside" / "secret.png")
    (root / "way out").symlink_to(place / "outside")
    return root


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server in its own process, which accepts uploads of up to 2 MB."""
    place = tmp_path_factory.mktemp("app")
    root = write_pictures(place)
    with running_server(place / "work", root, "--port", "0", "--max-upload", "2MB") as running:
        yield running


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """A server in the process of the tests."""
    place = tmp_path_factory.mktemp("local")
    with local_server(place / "work", write_pictures(place)) as started:
        yield started


@pytest.fixture(scope="session")
def page_server(tmp_path_factory):
    """A server of the browser tests, without a limit on uploads."""
    place = tmp_path_factory.mktemp("page")
    small_stacks.write(place / "pictures" / "beetle")
    with running_server(place / "work", place / "pictures") as running:
        yield running
