"""What the page begins with: the job of a stack that is shown, the place that has the focus."""

import re

import pytest
from app_server import wait
from page_steps import Visit

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

CHOSEN = """async (states) => {
    const { jobToShow } = await import("/static/js/state.js");
    const jobs = states.map((state, id) => ({ id, stack: "s", kind: "fuse", state }));
    const others = [
        { stack: "t", kind: "fuse", state: "running" },
        { stack: "s", kind: "learn", state: "running" },
    ];
    return jobToShow([...jobs, ...others], "s")?.id ?? null;
}"""


@pytest.fixture(scope="module")
def stack(serves):
    """A stack with a result, and with a newer fusion that was cancelled."""
    made = serves.client.post("/api/stacks", json={"folder": str(serves.root / "beetle")}).json()
    for method, state in [("pca", "done"), ("dwt", "cancelled")]:
        options = {"method": method, "align": "off"}
        job = serves.client.post("/api/jobs", json={"stack": made["id"], "options": options}).json()
        if state == "cancelled":
            serves.client.post(f"/api/jobs/{job['id']}/cancel").raise_for_status()
        wait_for(serves, job["id"], state)
    return made["id"]


def wait_for(serves, job, state):
    for _ in wait(60):
        (now,) = (each for each in serves.state()["jobs"] if each["id"] == job)
        if now["state"] == state:
            return
    raise AssertionError(now)


@pytest.fixture
def page(chromium, serves):
    visit = Visit(chromium, serves.address)
    expect(visit.page.locator("#welcome")).to_be_visible()
    yield visit.page
    visit.close()
    assert visit.complaints == []


def test_a_stack_opens_with_its_result_and_not_with_what_was_cancelled_after_it(page, serves, stack):
    page.goto(f"{serves.url}/#stack={stack}")
    expect(page.locator("#viewer")).to_be_visible()
    expect(page.locator("#results [aria-current=true]")).to_contain_text("1. pca")
    expect(page.locator("#method")).to_have_value("pca")
    page.locator("#results button", has_text="2. dwt").first.click()
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    for width, height in [(390, 844), (320, 256)]:  # a phone; 1280 x 1024 at 400 %
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("states", "chosen"),
    [
        (["running", "queued", "queued"], 0),
        (["done", "queued"], 1),
        (["done", "done", "failed", "cancelled"], 1),
        (["failed", "cancelled"], 1),
        ([], None),
    ],
    ids=str,
)
def test_what_is_under_way_goes_before_results_and_these_before_what_failed(page, states, chosen):
    assert page.evaluate(CHOSEN, states) == chosen


@pytest.mark.parametrize(("width", "height"), [(320, 256), (390, 600)])
def test_a_stack_opens_with_its_picture_in_sight_though_the_start_page_was_scrolled(
    page, stack, width, height
):
    page.set_viewport_size({"width": width, "height": height})
    expect(page.locator(".earlier li").first).to_be_visible()
    page.evaluate("() => scrollTo(0, document.documentElement.scrollHeight)")
    assert page.evaluate("scrollY") > 0
    page.evaluate("(stack) => panfocus.select(stack)", stack)
    expect(page.locator("#viewer")).to_be_visible()
    page.wait_for_function("() => panfocus.viewer?.panes.main.isLoaded")
    assert page.evaluate("scrollY") == 0


def test_keys_skip_to_the_picture_where_there_is_one(page, serves, stack):
    skip = page.get_by_role("link", name="Skip to the picture")
    expect(skip).to_have_count(0)
    page.goto(f"{serves.url}/#stack={stack}")
    expect(page.locator("#viewer")).to_be_visible()
    page.wait_for_function("() => panfocus.viewer?.panes.main.isLoaded")
    page.locator("#skip-to-stack").focus()
    page.keyboard.press("Tab")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    address = page.url
    page.keyboard.press("Enter")
    expect(page.locator(".stage")).to_be_focused()
    assert page.url == address
    before = page.evaluate("() => panfocus.viewer.scale()")
    page.keyboard.press("+")
    page.wait_for_function("(before) => panfocus.viewer.scale() > before", arg=before)


def test_the_list_of_folders_has_the_focus_and_gives_it_back(page, serves):
    roots = [str(serves.root), str(serves.root / "beetle")]
    page.evaluate("async (roots) => { await panfocus.loaded; panfocus.state.set({ roots }); }", roots)
    opener = page.get_by_role("button", name="Open on this computer")
    opener.press("Enter")
    expect(page.get_by_role("button", name=roots[0], exact=True)).to_be_focused()
    page.get_by_role("button", name=roots[1], exact=True).press("Enter")
    expect(page.get_by_role("checkbox", name=re.compile("frame-1"))).to_be_focused()
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    opener.press("Enter")
    page.get_by_role("button", name=roots[1], exact=True).press("Enter")
    page.get_by_role("button", name="Open 3 images").press("Enter")
    expect(page.locator("#stack-title")).to_be_focused()
    # Enter again, before the list of the folder has come, does not close the dialog.
    page.get_by_role("button", name="New stack").click()
    page.evaluate("(roots) => panfocus.state.set({ roots })", roots[:1])
    held = {}
    page.route("**/api/folders", lambda route: held.update(request=route))
    opener.press("Enter")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    held["request"].continue_()
    expect(page.get_by_role("button", name="beetle/")).to_be_focused()
