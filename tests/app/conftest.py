"""Servers for all tests that do not mind what others have left in them, and a browser."""

import os
import shutil

import page_steps
import pytest
import small_stacks
from app_server import running_server


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server for all tests that do not mind what others have left in it."""
    place = tmp_path_factory.mktemp("app")
    root = place / "pictures"
    small_stacks.write(root / "small")
    (place / "outside").mkdir()
    shutil.copy(root / "small" / "frame-1.png", place / "outside" / "secret.png")
    (root / "way out").symlink_to(place / "outside")
    with running_server(place / "work", root, "--port", "0", "--max-upload", "2MB") as running:
        yield running


@pytest.fixture(scope="session")
def serves(tmp_path_factory):
    """One server for all tests in a browser; unlike the other it takes large files."""
    place = tmp_path_factory.mktemp("page")
    small_stacks.write(place / "pictures" / "beetle")
    with running_server(place / "work", place / "pictures") as running:
        yield running


@pytest.fixture(scope="module")  # not longer: asyncio cannot be used beside it
def chromium():
    """Debian's chromium without a window, driven by Playwright."""
    if not shutil.which("chromium"):
        reason = "no browser; on Debian: apt-get install chromium"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with page_steps.browser() as launched:
        yield launched
