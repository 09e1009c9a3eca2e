"""The start of the page: the job shown first, focus, skip links, and the file that opens it."""

import re

import pytest
import small_stacks
from app_server import running_server, wait
from page_steps import Visit

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

JOB_TO_SHOW = """async (states) => {
    const { jobToShow } = await import("/static/js/state.js");
    const jobs = states.map((state, id) => ({ id, stack: "s", kind: "fuse", state }));
    const others = [
        { stack: "t", kind: "fuse", state: "running" },
        { stack: "s", kind: "learn", state: "running" },
    ];
    return jobToShow([...jobs, ...others], "s")?.id ?? null;
}"""

FORMAT = """async ([name, values]) => {
    const format = (await import("/static/js/dom.js"))[name];
    return values.map(format);
}"""
TEXTS = {
    "sizeText": {
        0: "0 bytes",
        999: "999 bytes",
        1500: "1.5 kB",
        9960: "10 kB",
        999_400: "999 kB",
        999_700: "1.0 MB",
        12_345_678: "12 MB",
    },
    "secondsText": {
        0.04: "0.1 s",
        9.96: "10 s",
        59.4: "59 s",
        59.7: "1 min 0 s",
        75: "1 min 15 s",
        3599.6: "1 h 0 min",
        7169: "1 h 59 min",
        7190: "2 h 0 min",
    },
}


@pytest.fixture(scope="module")
def stack(page_server):
    """A stack with a result, and with a newer fusion that was cancelled."""
    made = page_server.client.post("/api/stacks", json={"folder": str(page_server.root / "beetle")}).json()
    for method, state in [("pca", "done"), ("dwt", "cancelled")]:
        options = {"method": method, "align": "off"}
        job = page_server.client.post("/api/jobs", json={"stack": made["id"], "options": options}).json()
        if state == "cancelled":
            page_server.client.post(f"/api/jobs/{job['id']}/cancel").raise_for_status()
        wait_for(page_server, job["id"], state)
    return made["id"]


def wait_for(page_server, job, state):
    for _ in wait(60):
        (now,) = (each for each in page_server.state()["jobs"] if each["id"] == job)
        if now["state"] == state:
            return
    raise AssertionError(now)


@pytest.fixture
def page(chromium, page_server):
    visit = Visit(chromium, page_server.address)
    expect(visit.page.locator("#welcome")).to_be_visible()
    yield visit.page
    visit.close()
    assert visit.complaints == []


def test_stack_opens_with_its_newest_result(page, page_server, stack):
    page.goto(f"{page_server.url}/#stack={stack}")
    expect(page.locator("#viewer")).to_be_visible()
    expect(page.locator("#results [aria-current=true]")).to_contain_text("1. pca")
    expect(page.locator("#method")).to_have_value("pca")
    page.locator("#results button", has_text="2. dwt").first.click()
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    for width, height in [(390, 844), (320, 256)]:  # a phone; 1280 x 1024 at 400 %
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_active_jobs_are_shown_before_results_and_failures(page):
    for states, index in [
        (["running", "queued", "queued"], 0),
        (["done", "queued"], 1),
        (["done", "done", "failed", "cancelled"], 1),
        (["failed", "cancelled"], 1),
        ([], None),
    ]:
        assert page.evaluate(JOB_TO_SHOW, states) == index


def test_opened_stack_is_scrolled_to_the_top(page, stack):
    page.set_viewport_size({"width": 320, "height": 256})
    expect(page.locator(".earlier li").first).to_be_visible()
    page.evaluate("() => scrollTo(0, document.documentElement.scrollHeight)")
    assert page.evaluate("scrollY") > 0
    page.evaluate("(stack) => panfocus.select(stack)", stack)
    expect(page.locator("#viewer")).to_be_visible()
    page.wait_for_function("() => panfocus.viewer?.panes.main.isLoaded")
    assert page.evaluate("scrollY") == 0


def test_skip_link_leads_to_the_picture(page, page_server, stack):
    skip = page.get_by_role("link", name="Skip to the picture")
    expect(skip).to_have_count(0)
    page.goto(f"{page_server.url}/#stack={stack}")
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


def test_file_picker_takes_and_returns_the_focus(page, page_server):
    roots = [str(page_server.root), str(page_server.root / "beetle")]
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


def test_sizes_and_times_are_rounded_before_the_unit_is_chosen(page):
    for name, texts in TEXTS.items():
        assert page.evaluate(FORMAT, [name, list(texts)]) == list(texts.values())


def test_open_html_leads_to_the_page(chromium, tmp_path):
    small_stacks.write(tmp_path / "pictures")
    given = ("--port", "0", "--browser")
    with running_server(tmp_path / "work", tmp_path / "pictures", *given, BROWSER="true %s") as server:
        page = chromium.new_page()
        page.goto((tmp_path / "work" / "open.html").as_uri())
        page.locator("#welcome").wait_for()
        assert page.url.split("#")[0] == f"{server.url}/"  # the secret is out of sight
        page.go_back()
        assert server.token not in page.url
        page.close()
