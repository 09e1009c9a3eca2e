"""The Relief tool."""

import io
from importlib.resources import files

import numpy as np
from page_steps import wait_until
from PIL import Image


def test_relief_is_rotated_by_keys_and_mouse(page):
    canvas = page.locator("#relief canvas")
    page.locator("#relief").scroll_into_view_if_needed()
    canvas.wait_for()
    canvas.focus()

    def shot() -> np.ndarray:
        picture = Image.open(io.BytesIO(canvas.screenshot())).convert("RGB")
        return np.asarray(picture).astype(int)[8:-8, 8:-8]

    def changed(other: np.ndarray) -> float:
        return (shot() != other).any(axis=2).mean()

    wait_until(page, lambda: changed(shot()[5, 5]) > 0.05)  # the surface is there
    start = shot()
    while changed(start):
        start = shot()
    page.keyboard.press("ArrowLeft")
    wait_until(page, lambda: changed(start) > 0.01)
    page.keyboard.press("ArrowRight")
    wait_until(page, lambda: changed(start) < 0.001)
    page.get_by_label("Height").fill("100")
    wait_until(page, lambda: changed(start) > 0.01)
    page.get_by_role("button", name="Reset").click()
    wait_until(page, lambda: changed(start) < 0.001)
    area = canvas.bounding_box()
    page.mouse.move(area["x"] + 300, area["y"] + 100)
    page.mouse.down()
    page.mouse.move(area["x"] + 400, area["y"] + 100, steps=3)
    page.mouse.up()
    wait_until(page, lambda: changed(start) > 0.01)


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
    blind.get_by_text("The relief needs WebGL 2").wait_for()
    blind.close()
