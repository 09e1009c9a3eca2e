"""Folded side panels, and full screen."""

import pytest
import small_stacks
from app_server import wait
from page_steps import Visit

from browser import JOB_TIMEOUT

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect


@pytest.fixture(scope="module")
def fused(page_server):
    """The address of a result."""
    small_stacks.write(page_server.root / "wasp")
    stack = page_server.client.post("/api/stacks", json={"folder": str(page_server.root / "wasp")}).json()[
        "id"
    ]
    wanted = {"stack": stack, "options": {"method": "pca", "align": "off"}}
    job = page_server.client.post("/api/jobs", json=wanted).json()["id"]
    for _ in wait(JOB_TIMEOUT / 1000):
        if any(each["id"] == job and each["state"] == "done" for each in page_server.state()["jobs"]):
            break
    return f"{page_server.address}#stack={stack}&job={job}"


@pytest.fixture
def visit(chromium, fused):
    opened = Visit(chromium, fused)
    opened.wait_for_result()
    yield opened
    opened.close()
    assert opened.complaints == []


def width(page):
    return page.locator(".stage").bounding_box()["width"]


def test_side_panels_are_folded_by_buttons_and_keys(visit):
    page = visit.page
    narrow = width(page)
    side = page.get_by_role("button", name="Frames and settings")
    side.click()
    expect(page.locator("#side")).to_be_hidden()
    expect(side).to_have_attribute("aria-expanded", "false")
    assert width(page) > narrow + 250
    page.locator(".stage").focus()
    page.keyboard.press("t")
    expect(page.locator("#tools")).to_be_hidden()
    visit.settle()
    assert width(page) == 1280
    page.reload()
    visit.wait_for_result()
    expect(page.locator("#side")).to_be_hidden()
    expect(page.locator("#tools")).to_be_hidden()
    page.locator(".stage").focus()
    page.keyboard.press("S")  # as with Caps Lock
    page.get_by_role("button", name="Tools", exact=True).click()
    expect(page.locator("#side")).to_be_visible()
    expect(page.locator("#tools")).to_be_visible()
    assert width(page) == narrow


def test_fold_keys_work_only_on_the_picture(visit):
    page = visit.page
    page.get_by_role("tab", name="Inspect").focus()
    page.keyboard.press("s")
    page.keyboard.press("t")
    expect(page.locator("#side")).to_be_visible()
    expect(page.locator("#tools")).to_be_visible()


def test_folded_panel_is_shown_when_it_is_needed(visit, page_server):
    page = visit.page
    page.get_by_role("button", name="Frames and settings").click()
    page.evaluate("() => panfocus.useOptions({ method: 'pca' })")
    expect(page.locator("#side")).to_be_visible()
    page.get_by_role("button", name="Frames and settings").click()
    # Another stack has no picture yet: whatever is folded, there is the button that makes one.
    page.evaluate("(id) => panfocus.select(id)", _another(page_server))
    expect(page.locator("#fuse")).to_be_visible()
    expect(page.locator(".fold").locator("visible=true")).to_have_count(0)


def _another(page_server):
    made = page_server.client.post("/api/stacks", json={"folder": str(page_server.root / "beetle")}).json()
    return page_server.seen(made["id"])["id"]


def test_relief_is_visible_while_the_tools_are_folded(visit):
    page = visit.page
    visit.click("tab", "Relief")
    expect(page.locator("#fold-tools")).to_be_hidden()
    visit.click("tab", "Inspect")
    page.locator("#fold-tools").click()
    page.evaluate("() => panfocus.openTool('relief')")
    expect(page.locator("#panel-relief")).to_be_visible()


def test_full_screen_by_button_and_key(visit):
    page = visit.page
    visit.click("button", "Full screen (F)")
    page.wait_for_function("() => document.fullscreenElement")
    for part in (".top", "#side", "#tools"):
        expect(page.locator(part)).to_be_hidden()
    visit.settle()
    room = page.evaluate("[innerWidth, innerHeight]")
    area = page.locator("#viewer").bounding_box()
    assert [area["width"], area["height"]] == room
    page.locator(".stage").focus()
    page.keyboard.press("f")
    page.wait_for_function("() => !document.fullscreenElement")
    expect(page.locator("#side")).to_be_visible()
    expect(page.locator("#tools")).to_be_visible()


def test_picture_takes_most_of_the_window_at_400_percent(visit):
    page, height = visit.page, 200
    page.set_viewport_size({"width": 320, "height": height})  # as a window four times as large has it then
    visit.settle()
    assert 0.8 * height < page.locator(".stage").bounding_box()["height"] <= 0.9 * height
