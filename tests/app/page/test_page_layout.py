"""The layout with many warnings, and in windows of other sizes."""

import re
import shutil

import numpy as np
import pytest
import small_stacks
from page_steps import Visit, wait_until_drawn

from panfocus.io.encode import write_image

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

LENGTH = "() => [document.documentElement.scrollHeight, innerHeight]"
WIDTHS = "() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
WITH_A_JOB = """() => {
    const stack = panfocus.stack().id;
    const job = { id: "waiting", stack, kind: "fuse", name: "1", state: "queued", options: {} };
    panfocus.applyMessage({ kind: "job", job: { ...job, warnings: [], said: [] } });
}"""


@pytest.fixture(scope="module")
def many(page_server):
    """A stack of 31 frames, copies and blank ones, and one of another size, with many warnings."""
    folder = page_server.root / "one is odd"
    paths = small_stacks.write(folder)
    for k in range(3, 20):
        shutil.copy(paths[k % 3], folder / f"frame-{k + 1}.png")
    for k in range(20, 31):
        write_image(folder / f"frame-{k + 1}.png", np.full((90, 120, 3), k, np.uint8))
    write_image(folder / "a.png", small_stacks.frames(1, (120, 90))[0])
    made = page_server.client.post("/api/stacks", json={"folder": str(folder)}).json()
    return page_server.seen(made["id"])


@pytest.fixture
def visit(chromium, page_server, many):
    opened = Visit(chromium, f"{page_server.address}#stack={many['id']}")
    yield opened
    opened.close()


def test_frame_of_another_size_disables_fuse_until_it_is_excluded(visit):
    page = visit.page
    fuse = page.locator("#fuse")
    expect(page.locator("#stack-head .warnings")).to_contain_text(re.compile(r"\d+ more"))
    expect(page.locator("#estimate")).to_have_class("estimate error")
    expect(page.locator("#stack-head .warnings")).to_contain_text("90 x 120")
    expect(page.locator("#estimate")).not_to_contain_text("90 x 120")  # it refers to the warning
    expect(fuse).to_be_disabled()
    expect(page.locator(".hint")).to_be_hidden()
    box = fuse.bounding_box()
    assert box["y"] + box["height"] < 800
    long, room = page.evaluate(LENGTH)
    assert long <= room
    page.get_by_role("checkbox", name="Use a.png").uncheck()
    expect(fuse).to_be_enabled()
    expect(page.locator(".hint")).to_be_visible()


def test_page_fits_a_rotated_window(visit):
    page = visit.page
    page.set_viewport_size({"width": 844, "height": 390})
    expect(page.locator(".frame")).to_have_count(32)
    page.evaluate(WITH_A_JOB)  # the frames are a list at the side then
    page.locator(".side .frames").wait_for()
    for down in (99_999, 0):  # out of sight, a frame keeps the size in which it was last drawn
        page.evaluate("(down) => scrollTo(0, down)", down)
        wait_until_drawn(page)
    for width, height in [(390, 844), (1280, 800), (320, 200)]:
        page.set_viewport_size({"width": width, "height": height})
        wait_until_drawn(page)
        wide, room = page.evaluate(WIDTHS)
        assert wide <= room


def test_unfolded_warnings_are_accessible(visit):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = visit.page
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".frame")).to_have_count(32)
    page.locator("#stack-head .warnings summary").click()
    expect(page.locator("#stack-head .warnings details li").last).to_be_visible()
    box = page.locator("#fuse").bounding_box()
    assert box["y"] + box["height"] < 800  # they scroll by themselves
    assert [fault["id"] for fault in axe.run(page).response["violations"]] == []
    wide, room = page.evaluate(WIDTHS)
    assert wide <= room
