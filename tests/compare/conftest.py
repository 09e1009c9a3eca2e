"""A finished report, and a browser to open it in."""

import json
import os
import shutil

import pytest

from panfocus.compare import (
    Comparison,
    Conditions,
    find_groups,
    parse_methods,
    parse_results,
    plan,
    run_jobs,
    write_report,
)
from panfocus.metrics import CATALOGUE


@pytest.fixture
def report(scenes_dir, average_dir, tmp_path):
    """Write the report of a comparison on two groups, the second one without references."""
    others = tmp_path / "others"
    shutil.copytree(scenes_dir, others, ignore=shutil.ignore_patterns("*-GT.png", "cup*"))
    shutil.copytree(average_dir, average_dir / "others")
    (average_dir / "others" / "box-10_fused.png").unlink()

    groups = find_groups([scenes_dir, others])
    entries = [
        *parse_methods("coupled:stride=4,coupled:stride=7"),
        *parse_results([f"average={average_dir}"], groups),
    ]
    conditions = Conditions(metrics=("NMI", "QABF", "MSE", "PSNR"), crop=2)
    folder = tmp_path / "report"
    jobs = plan(groups, entries, conditions, folder / "results")
    outcomes, _ = run_jobs(jobs, workers=1)
    write_report(Comparison.of(groups, entries, conditions, jobs, outcomes), folder)
    return folder


@pytest.fixture
def wide_report(scenes_dir, average_dir, tmp_path):
    """Write the report of twelve methods by all metrics; the first one has no result for the last scene."""
    other = tmp_path / "other"
    shutil.copytree(average_dir, other)
    (other / "cup_fused.png").unlink()
    groups = find_groups([scenes_dir])
    entries = parse_results([f"m0={other}", *(f"m{i}={average_dir}" for i in range(1, 12))], groups)
    conditions = Conditions(metrics=tuple(metric.key for metric in CATALOGUE))
    folder = tmp_path / "wide"
    jobs = plan(groups, entries, conditions, folder / "results")
    outcomes, _ = run_jobs(jobs, workers=1)
    write_report(Comparison.of(groups, entries, conditions, jobs, outcomes), folder)
    return folder


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
