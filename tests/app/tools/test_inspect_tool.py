"""The Inspect tool while the picture is retouched."""

import pytest
from tool_screen import drag, open_tool, point, set_brush, wait_saved

playwright = pytest.importorskip("playwright.sync_api")

expect = playwright.expect


def test_inspected_detail_follows_the_retouching(page, page_server):
    def cut(item):
        """Return the inner part of a detail, which the brush covers."""
        return page_server.client.get(
            item.locator("img").get_attribute("src").replace("size=64", "size=16")
        ).content

    page.mouse.click(*point(page, 30, 20))
    result, frame = page.locator(".crops li").first, page.locator(".crops li").nth(3)
    expect(result).to_have_text("Result")
    assert cut(result) != cut(frame)
    address = "none"
    for n in (1, 2):
        open_tool(page, "Retouch")
        set_brush(page, frame=2, size=41, hardness=1)
        drag(page, (30, 20), (30, 20 + 10 * n))
        wait_saved(page, n)
        open_tool(page, "Inspect")
        expect(result).to_have_text("Result, retouched")
        expect(result.locator("img")).not_to_have_attribute("src", address)
        address = result.locator("img").get_attribute("src")
        assert cut(result) == cut(frame)
    # What a cut leads to is the picture as it is now.
    frame.get_by_role("button").click()
    expect(page.locator(".caption").first).to_have_text("Frame 3: frame-3.png")
    assert page.evaluate("() => panfocus.viewer.job().retouch.n_strokes") == 2
    open_tool(page, "Retouch")
    for n in (1, 0):
        page.get_by_role("button", name="Undo").click()
        wait_saved(page, n)
    expect(result).to_have_text("Result")
