"""Places, zoom and keys of the viewer."""

import numpy as np
import pytest
from pretend_server import HEIGHT, MARK, WIDTH
from viewer_screen import COL_STEP, ROW_STEP, box, chooser, screen, seen, settle, view, within


@pytest.mark.parametrize("zoom", ["fit()", "zoom(1)", "zoom(2)", "goTo(300, 2500, 4)"])
def test_places_match_the_visible_pixels(page, zoom):
    view(page, zoom)
    for right, down in [(0.3, 0.2), (0.5, 0.55), (0.65, 0.9)]:
        x, y = within(page, right, down)
        row, col, layer = seen(page, x, y)
        told = view(page, f"toImage({x + 0.5}, {y + 0.5})")
        half_pixel = max(1, 1 / view(page, "scale()"))
        assert row - half_pixel <= told["row"] <= row + ROW_STEP + half_pixel
        assert col - half_pixel <= told["col"] <= col + COL_STEP + half_pixel
        assert layer == "fused"


def test_enlarged_pixel_is_a_sharp_square(page):
    view(page, f"goTo({MARK[0]}, {MARK[1]}, 16)")
    white = (screen(page) == 255).all(axis=2)
    area = box(page)
    corner = view(page, f"toScreen({MARK[0] - 0.5}, {MARK[1] - 0.5})")
    left, top = round(area["x"] + corner["x"]), round(area["y"] + corner["y"])
    middle = slice(top + 2, top + 14), slice(left + 2, left + 14)
    assert white[middle].all()
    rows, cols = np.nonzero(white[top - 20 : top + 36, left - 20 : left + 36])
    # 16 pixels of the screen each way, at most one more where an edge falls between two of them; no soft rim
    assert 16 <= np.ptp(rows) + 1 <= 17
    assert 16 <= np.ptp(cols) + 1 <= 17
    assert abs(rows.min() - 20) <= 1
    assert abs(cols.min() - 20) <= 1


@pytest.mark.parametrize("density", [1.5])
def test_one_to_one_on_a_dense_screen(chromium, page_server, density):
    page = chromium.new_page(viewport={"width": 900, "height": 900}, device_scale_factor=density)
    page.goto(f"http://127.0.0.1:{page_server.server_port}/")
    page.wait_for_function("() => window.app")
    view(page, f"goTo({MARK[0]}, {MARK[1]}, {1 / density})")
    middle = np.rint(np.array(within(page, 0.5, 0.5)) * density).astype(int)
    near = screen(page)[middle[1] - 9 : middle[1] + 9, middle[0] - 9 : middle[0] + 9]
    assert (near == 255).all(axis=2).sum() == 1
    page.close()


def test_one_to_one_by_key_and_button(page):
    page.locator(".stage").focus()
    for key, scale in [("1", 1), ("2", 2), ("+", 3), ("-", 2)]:
        page.keyboard.press(key)
        settle(page)
        assert view(page, "scale()") == pytest.approx(scale)
    page.get_by_role("button", name="1:1").click()
    settle(page)
    assert view(page, "scale()") == pytest.approx(1)
    assert "100 %" in page.locator(".viewer-line").inner_text()
    page.keyboard.press("Tab")
    page.locator(".stage").focus()
    page.keyboard.press("0")
    settle(page)
    area = box(page)
    assert view(page, "scale()") == pytest.approx(
        min(area["width"] / WIDTH, area["height"] / HEIGHT), rel=1e-3
    )


def test_arrow_keys_move_the_view(page):
    view(page, "zoom(1)")
    settle(page)
    x, y = within(page, 0.5, 0.5)
    page.locator(".stage").focus()
    before = view(page, f"toImage({x}, {y})")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    settle(page)
    after, area = view(page, f"toImage({x}, {y})"), box(page)
    assert after["col"] - before["col"] == pytest.approx(0.1 * area["width"], abs=1)
    assert after["row"] - before["row"] == pytest.approx(0.5 * area["height"], abs=1)


def test_view_is_kept_when_the_viewer_is_resized_or_hidden(page):
    page.evaluate("document.getElementById('viewer').hidden = true")
    page.set_viewport_size({"width": 700, "height": 900})
    page.evaluate("document.getElementById('viewer').hidden = false")
    settle(page)
    assert view(page, "scale()") == pytest.approx(box(page)["width"] / WIDTH, rel=1e-3)
    view(page, "goTo(500, 700, 1)")
    settle(page)
    page.evaluate("document.getElementById('viewer').hidden = true")
    page.evaluate("() => new Promise((done) => setTimeout(done, 100))")
    page.evaluate("document.getElementById('viewer').hidden = false")
    x, y = within(page, 0.5, 0.5)
    row, col, _ = seen(page, x, y)
    assert (row, col) == pytest.approx((500, 700), abs=2 * COL_STEP)


def test_viewer_is_accessible(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page.mouse.click(*within(page, 0.5, 0.6))
    page.locator(".crops li").first.wait_for()
    view(page, "compare('frame-1', 0.5)")
    found = axe.Axe().run(page).response["violations"]
    assert [
        (fault["id"], fault["impact"]) for fault in found if fault["impact"] in ("serious", "critical")
    ] == []


@pytest.mark.parametrize("width", [600, 320])
def test_controls_are_wide_enough_to_read(page, width):
    """In a window of 1280 pixels the picture has 600."""
    page.set_viewport_size({"width": width, "height": 800})
    chooser(page, "Compare with").select_option("frame-0")
    chooser(page, "Overlay").select_option("depth")
    settle(page)
    for name in ("Show", "Compare with", "Mode", "Overlay"):
        assert chooser(page, name).bounding_box()["width"] >= 130, name
    assert page.evaluate("document.documentElement.scrollWidth") <= width
