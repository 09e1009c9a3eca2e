"""The Relief tool."""

import io
from importlib.resources import files

import numpy as np
from PIL import Image


def test_relief_is_rotated_by_keys_and_mouse(page):
    canvas = page.locator("#relief canvas")
    page.locator("#relief").scroll_into_view_if_needed()
    canvas.wait_for()
    canvas.focus()

    def shot() -> np.ndarray:
        picture = Image.open(io.BytesIO(canvas.screenshot())).convert("RGB")
        return np.asarray(picture).astype(int)[8:-8, 8:-8]

    def drawn() -> np.ndarray:
        """Wait until two screenshots are equal."""
        page.wait_for_timeout(150)
        before, now = shot(), shot()
        while (before != now).any() or (now == now[5, 5]).all():
            before, now = now, shot()
        return now

    start = drawn()
    assert (start != start[5, 5]).any(axis=2).mean() > 0.05  # the surface is there
    page.keyboard.press("ArrowLeft")
    turned = drawn()
    assert (turned != start).any(axis=2).mean() > 0.01
    page.keyboard.press("ArrowRight")
    assert (drawn() != start).any(axis=2).mean() < 0.001
    page.get_by_label("Height").fill("100")
    assert (drawn() != start).any(axis=2).mean() > 0.01
    page.get_by_role("button", name="Reset").click()
    assert (drawn() != start).any(axis=2).mean() < 0.001
    area = canvas.bounding_box()
    page.mouse.move(area["x"] + 300, area["y"] + 100)
    page.mouse.down()
    page.mouse.move(area["x"] + 400, area["y"] + 100, steps=3)
    page.mouse.up()
    assert (drawn() != start).any(axis=2).mean() > 0.01


def test_relief_without_webgl_shows_a_message(chromium, page_server):
    blind = chromium.new_page(viewport={"width": 1280, "height": 1000})
    worker = files("panfocus").joinpath("app", "static", "js", "relief", "worker.js").read_text()
    without = "OffscreenCanvas.prototype.getContext = () => null;" + worker
    blind.route(
        "**/relief/worker.js", lambda route: route.fulfill(body=without, content_type="text/javascript")
    )
    blind.goto(f"http://127.0.0.1:{page_server.server_port}/")
    blind.wait_for_function("() => window.app")
    blind.locator("#relief").scroll_into_view_if_needed()
    blind.get_by_text("The relief needs WebGL 2").wait_for(timeout=10_000)
    blind.close()
