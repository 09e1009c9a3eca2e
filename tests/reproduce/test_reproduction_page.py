"""The page in a browser: light and dark, wide and narrow."""

import pytest

from panfocus.reproduce import write_report


@pytest.fixture
def page(browser, reproduction, tmp_path):
    write_report(reproduction, tmp_path)
    browser.open(tmp_path / "index.html")
    yield browser
    assert browser.logged("browser") == []  # nothing refused by the policy


def test_every_picture_loads_and_no_request_leaves_the_file(page):
    broken = page.ask(
        "[...document.images].filter((image) => !image.complete || !image.naturalWidth)"
        ".map((image) => image.alt)"
    )
    assert broken == []
    requests = page.requests()
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in requests if url.startswith("file:")]) == 1


def test_page_and_drawings_follow_light_and_dark(page):
    """The first drawing is put on a canvas: its lines are dark on light, and light on dark."""

    def look(scheme):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        page.driver.refresh()
        ground = page.ask("getComputedStyle(document.body).backgroundColor")
        ink = page.driver.execute_async_script(
            "const done = arguments[0], image = new Image();"
            "image.src = document.querySelector('#diagram img').src;"
            "image.decode().then(() => {"
            " const canvas = document.createElement('canvas');"
            " [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];"
            " const context = canvas.getContext('2d'); context.drawImage(image, 0, 0);"
            " const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;"
            " let total = 0, count = 0;"
            " for (let i = 0; i < pixels.length; i += 4)"
            "  if (pixels[i + 3] > 200) { total += pixels[i]; count += 1; }"
            " done(total / count); });"
        )
        return ground, ink

    try:
        light, dark = look("light"), look("dark")
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert light[0] == "rgb(255, 255, 255)"
    assert dark[0] == "rgb(22, 24, 28)"
    assert light[1] > dark[1] + 100  # the blocks' filling prevails


def test_a_narrow_window_scrolls_tables_but_not_the_page(page):
    page.driver.set_window_size(500, 800)
    try:
        assert page.ask("document.documentElement.scrollWidth <= innerWidth")
    finally:
        page.driver.set_window_size(1200, 900)
