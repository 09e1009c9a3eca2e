"""Where the image sets are, a generator of fixed seed, small scenes and sets, the command, and a browser."""

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

from panfocus.cli import main
from panfocus.io.encode import write_image
from small_sets import SMALL, write_small_sets

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("PANFOCUS_DATA", ROOT.parent / "shared" / "data"))
GOLDEN = DATA.parent / "golden"
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
    folder = tmp_path / "scenes"
    folder.mkdir()
    for name, pictures in small_scenes.items():
        for part, picture in zip(("A", "B", "GT"), pictures, strict=True):
            write_image(folder / f"{name}-{part}.png", picture)
    return folder


@pytest.fixture
def average_dir(tmp_path, small_scenes) -> Path:
    """A folder `average` with results, as another program would have written them."""
    folder = tmp_path / "average"
    folder.mkdir()
    for name, pictures in small_scenes.items():
        write_image(folder / f"{name}_fused.png", np.rint(pictures[:2].mean(axis=0)).astype(np.uint8))
    return folder


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

    return reproduce(small_data, plan=SMALL)


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


class Browser:
    """Chromium without a window, and what it asked for and complained about."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, page):
        self.driver.get("about:blank")  # what a fresh browser begins with asks for parts of itself
        self.logged("performance")
        self.logged("browser")
        self.driver.get(page.as_uri())

    def ask(self, script, *arguments):
        return self.driver.execute_script(f"return {script}", *arguments)

    def logged(self, kind):
        return self.driver.get_log(kind)

    def requests(self):
        events = [json.loads(entry["message"])["message"] for entry in self.logged("performance")]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        reason = "no browser; on Debian: apt-get install chromium chromium-driver"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1200,900",
        f"--user-data-dir={tmp_path_factory.mktemp('browser')}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    yield Browser(driver)
    driver.quit()
