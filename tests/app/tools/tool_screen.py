"""Actions and measurements for the tests of the tools."""

import io

import numpy as np
from page_steps import MOUNTED
from PIL import Image
from scipy.ndimage import gaussian_filter

HEIGHT, WIDTH, N = 90, 120, 3
# Tools are mounted one by one after the viewer.
LOADED = f"() => window.panfocus?.viewer?.job() && panfocus.viewer.panes.main.isLoaded && {MOUNTED}"


def show(page, page_server, job):
    page.goto(f"{page_server.address}#stack={job['stack']}&job={job['id']}")
    page.wait_for_function(LOADED)
    return page


def open_tool(page, name):
    page.get_by_role("tab", name=name).click()
    if name in ("Retouch", "Learn"):  # which are active when they have loaded
        page.wait_for_function("() => panfocus.viewer.tool")


def point(page, row, col):
    """Return the point of a pixel in the window."""
    area = page.locator(".pane.main").bounding_box()
    at = page.evaluate(f"() => panfocus.viewer.toScreen({row}, {col})")
    return area["x"] + at["x"], area["y"] + at["y"]


def drag(page, *places, release=True):
    page.mouse.move(*point(page, *places[0]))
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*point(page, *place), steps=4)
    if release:
        page.mouse.up()


def set_brush(page, **properties):
    page.evaluate("(given) => panfocus.viewer.tool.set(given)", properties)


def wait_saved(page, n):
    from playwright.sync_api import expect

    expect(page.locator("#panel-retouch summary").first).to_have_text(f"Strokes ({n})")
    expect(page.locator("#panel-retouch")).not_to_contain_text("Saving")
    page.wait_for_function(LOADED)


def strokes(page_server, job):
    return page_server.client.get(f"/api/jobs/{job['id']}/retouch").json()["strokes"]


def exported(page_server, job):
    """Export the picture and return its pixels."""
    answer = page_server.client.post(
        f"/api/jobs/{job['id']}/export", json={"format": "png", "what": ["image"]}
    )
    assert answer.status_code == 200, answer.text
    (file,) = (file for file in answer.json()["files"] if file["name"].endswith(".png"))
    return np.asarray(Image.open(io.BytesIO(page_server.client.get(file["url"]).content)))


def seen(page, rows, cols):
    """Return a part of the screenshot, blurred to suppress JPEG noise."""
    (left, top), (right, bottom) = (point(page, row, col) for row, col in zip(rows, cols, strict=True))
    part = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    shot = np.asarray(Image.open(io.BytesIO(page.screenshot(clip=part))).convert("RGB")).astype(float)
    return gaussian_filter(shot, (12, 12, 0))[6::12, 6::12]
