"""Fixtures of the whole suite: image sets, a seeded generator, small scenes, the command, and a browser."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import browser
from panfocus.cli import main
from small_sets import SMALL, write_averages, write_scenes, write_small_sets

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("PANFOCUS_DATA", ROOT.parent / "shared" / "data"))
GOLDEN = DATA.parent / "golden"
BROWSER_LOOP = pytest.StashKey()  # the event loop of Playwright
Ran = namedtuple("Ran", "code out err")


def pytest_addoption(parser):
    parser.addoption("--update-messages", action="store_true", help="rewrite tests/messages.json")


@pytest.fixture
def message(request):
    """Compare a text that users read with its entry in tests/messages.json.

    `message(name, text, **values)`: each of the values in the text, such as a path, is replaced by its name
    in angle brackets. `make messages` rewrites the file.
    """
    file = Path(__file__).parent / "messages.json"

    def check(name, text, **values):
        for key, value in sorted(values.items(), key=lambda item: -len(str(item[1]))):
            text = text.replace(str(value), f"<{key}>")
        known = json.loads(file.read_text("utf-8"))
        if request.config.getoption("--update-messages"):
            known[name] = text
            file.write_text(json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
        assert known.get(name) == text, "the wording changed; if it is better, run: make messages"

    return check


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260101)


@pytest.fixture
def chunks_read(monkeypatch) -> list[str]:
    """The files of chunks that zarr reads, each as often as it does."""
    from zarr.storage import LocalStore

    read: list[str] = []
    get = LocalStore.get

    async def watched(self, key, *rest, **named):
        if key.rpartition("/")[2].replace(".", "").isdecimal():
            read.append(f"{self.root}/{key}")
        return await get(self, key, *rest, **named)

    monkeypatch.setattr(LocalStore, "get", watched)
    return read


@pytest.fixture(scope="session")
def data_dir() -> Path:
    if not DATA.is_dir():
        pytest.skip("no image sets: set PANFOCUS_DATA to their folder")
    return DATA


@pytest.fixture(scope="session")
def golden_dir() -> Path:
    if not GOLDEN.is_dir():
        pytest.skip("no golden values: they are looked for in a folder 'golden' beside PANFOCUS_DATA")
    return GOLDEN


@pytest.fixture(scope="session")
def small_scenes() -> dict[str, np.ndarray]:
    """Colour scenes by name, (frames A and B, reference; 40 x 33): A is sharp on the left, B on the right."""
    rng = np.random.default_rng(11)
    scenes = {}
    for name in ("box-2", "box-10", "cup"):
        sharp = gaussian_filter(rng.random((40, 33, 3)), (0.6, 0.6, 0))
        a, b = sharp.copy(), sharp.copy()
        soft = gaussian_filter(sharp, (2, 2, 0))
        a[:, 16:], b[:, :16] = soft[:, 16:], soft[:, :16]
        scenes[name] = np.rint(255 * np.stack([a, b, sharp])).astype(np.uint8)
    return scenes


@pytest.fixture
def scenes_dir(tmp_path, small_scenes) -> Path:
    """A folder `scenes` with these pictures."""
    return write_scenes(tmp_path / "scenes", small_scenes)


@pytest.fixture
def average_dir(tmp_path, small_scenes) -> Path:
    """A folder `average` with results, as another program would have written them."""
    return write_averages(tmp_path / "average", small_scenes)


@pytest.fixture(scope="session")
def small_data(tmp_path_factory) -> Path:
    """A folder with all sets that a reproduction needs, in small."""
    data = tmp_path_factory.mktemp("data")
    write_small_sets(data)
    return data


@pytest.fixture(scope="session")
def reproduction(small_data):
    """What comes of the small sets."""
    from panfocus.reproduce import reproduce

    return reproduce(small_data, experiment=SMALL)


@pytest.fixture(scope="session")
def small_cluster(tmp_path_factory):
    """A Dask cluster of this machine, with two workers of 2 GB and one thread each."""
    pytest.importorskip("distributed")
    from small_clusters import start_cluster

    with start_cluster(tmp_path_factory.mktemp("dask"), "2GB", "2GB") as cluster:
        yield cluster


@pytest.fixture
def run(monkeypatch, capfd):
    """Run the command line in this process."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["panfocus", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            main()
        captured = capfd.readouterr()
        return Ran(exit_.value.code or 0, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def command():
    """Start the installed command in a process of its own."""

    def command(*arguments, **options):
        # The parent may ignore SIGINT, as under nohup; here Ctrl-C must work.
        start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
        return subprocess.Popen(
            [sys.executable, "-c", f"{start}; from panfocus.cli import main; main()", *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            # No bytecode: under a limit on files Python keeps half of it, and later imports fail.
            env=os.environ | {"PYTHONWARNINGS": "default", "PYTHONDONTWRITEBYTECODE": "1"}, **options,
        )  # fmt: skip

    return command


@pytest.fixture(scope="session")
def chromium(pytestconfig):
    """The one browser of all tests."""
    if not shutil.which("chromium"):
        reason = "no browser; on Debian: apt-get install chromium"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with browser.launch_chromium() as launched:
        pytestconfig.stash[BROWSER_LOOP] = asyncio.get_running_loop()
        yield launched
        asyncio._set_running_loop(pytestconfig.stash[BROWSER_LOOP])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Mark Playwright's event loop as running in the tests that use it alone: others may use asyncio."""
    if "chromium" in item.fixturenames:
        asyncio._set_running_loop(item.config.stash.get(BROWSER_LOOP, None))
    try:
        return (yield)
    finally:
        asyncio._set_running_loop(None)


@pytest.fixture
def open_file(chromium):
    """Open an HTML file in a browser of 1200 x 900 pixels; fail if the console shows an error at the end."""
    context = browser.new_context(chromium, width=1200, height=900)

    def open_file(path):
        page = context.new_page()
        page.goto(path.as_uri())
        return page

    yield open_file
    context.close()
    assert context.complaints == []  # such as an exception, or a request that the policy blocked
