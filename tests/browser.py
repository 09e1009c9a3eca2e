"""Headless Chromium, driven by Playwright: for tests, screenshots of the docs and benchmarks."""

import shutil
from contextlib import contextmanager

TIMEOUT = 60_000  # ms that a step of the page may take on a busy machine
JOB_TIMEOUT = 180_000  # ms that a fusion may take on a busy machine, the first one with compilation


@contextmanager
def launch_chromium():
    """Start Playwright and Chromium; yield the browser."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=TIMEOUT)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-dev-shm-usage"],
        )
        yield launched
        launched.close()


def new_context(chromium, *, width=1280, height=800, **options):
    """Open a browser context that collects `complaints` (console errors) and `requests` (addresses)."""
    context = chromium.new_context(
        viewport={"width": width, "height": height}, reduced_motion="reduce", **options
    )
    context.set_default_timeout(TIMEOUT)
    context.complaints, context.requests = [], []
    context.on("weberror", lambda error: context.complaints.append(str(error.error)))
    context.on("console", lambda line: _collect_console_error(context, line))
    context.on("request", lambda request: context.requests.append(request.url))
    return context


def _collect_console_error(context, line):
    if line.type == "error":
        context.complaints.append(f"{line.text} {line.location['url']}")
