"""The focus after its element disappears: on a neighbour, not at the top of the page."""

import pytest
import small_stacks
from app_server import running_server, wait
from page_steps import Visit

from browser import JOB_TIMEOUT

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A server whose stacks are deleted before each test."""
    place = tmp_path_factory.mktemp("focus")
    small_stacks.write(place / "ant", n=3, size=(500, 700))  # `coupled` takes seconds
    small_stacks.write(place / "bee")
    with running_server(place / "work", place) as running:
        yield running


@pytest.fixture
def page(chromium, own):
    for stack in own.state()["stacks"]:
        own.client.delete(f"/api/stacks/{stack['id']}").raise_for_status()
    visit = Visit(chromium, own.address)
    visit.page.on("dialog", lambda dialog: dialog.accept())
    yield visit.page
    visit.close()
    assert visit.complaints == []


def new_stack(own, name="ant", folder="bee"):
    made = own.client.post("/api/stacks", json={"folder": str(own.root / folder)}).json()
    own.client.patch(f"/api/stacks/{made['id']}", json={"name": name}).raise_for_status()
    own.seen(made["id"])
    return made["id"]


def add_job(own, stack, method):
    options = {"method": method, "align": "off"}
    return own.client.post("/api/jobs", json={"stack": stack, "options": options}).json()["id"]


def wait_for(own, *jobs, states=("done",)):
    for _ in wait(JOB_TIMEOUT / 1000):
        if all(job["state"] in states for job in own.state()["jobs"] if job["id"] in jobs):
            return
    raise AssertionError(own.state()["jobs"])


def test_cancel_and_run_again_keep_the_focus(page, own):
    stack = new_stack(own, folder="ant")
    add_job(own, stack, "coupled")
    page.goto(f"{own.url}/#stack={stack}")
    cancel, again = page.locator("#cancel"), page.get_by_role("button", name="Run again")
    cancel.press("Enter")
    expect(again).to_be_focused()
    page.keyboard.press("Enter")
    expect(cancel).to_be_focused()
    page.get_by_role("button", name="Cancel fusion 1").press("Enter")
    expect(page.locator(".results button").first).to_be_focused()
    page.get_by_role("button", name="Delete fusion 1").press("Enter")
    expect(page.locator(".results > li")).to_have_count(0)
    expect(page.locator("#stack-title")).to_be_focused()


def test_picture_gets_the_focus_when_the_job_ends(page, own):
    stack = new_stack(own, folder="ant")
    job = add_job(own, stack, "coupled")
    page.goto(f"{own.url}/#stack={stack}")
    expect(page.locator("#cancel")).to_be_visible()
    page.locator("#cancel").focus()
    wait_for(own, job)
    expect(page.locator(".stage")).to_be_focused()


def test_next_result_gets_the_focus_after_a_deletion(page, own):
    stack = new_stack(own)
    jobs = [add_job(own, stack, "pca") for _ in range(3)]
    for job in reversed(jobs):  # a cancelled one is listed, too
        own.client.post(f"/api/jobs/{job}/cancel").raise_for_status()
    wait_for(own, *jobs, states=("cancelled", "done"))
    page.goto(f"{own.url}/#stack={stack}")
    shown = page.locator(".results > li > button:first-child")
    expect(shown).to_have_count(3)
    page.get_by_role("button", name="Delete fusion 2").press("Enter")
    expect(shown).to_have_count(2)
    expect(shown.nth(1)).to_be_focused()
    page.get_by_role("button", name="Delete fusion 3").press("Enter")
    expect(shown).to_have_count(1)
    expect(shown).to_be_focused()


def test_stacks_are_deleted_by_keyboard(page, own):
    for name in ("first", "second"):
        new_stack(own, name)
    shown = page.locator(".earlier li > button:first-child")
    expect(shown).to_have_count(2)
    page.get_by_role("button", name="Delete second").focus()
    new_stack(own, "third")  # of another tab: the focus stays
    expect(shown).to_have_count(3)
    expect(page.get_by_role("button", name="Delete second")).to_be_focused()
    page.keyboard.press("Enter")
    expect(shown).to_have_count(2)
    expect(shown.nth(1)).to_be_focused()  # that of the first, which stands last
    page.get_by_role("button", name="Delete first").press("Enter")
    expect(shown).to_have_count(1)
    expect(shown).to_be_focused()
    page.get_by_role("button", name="Delete third").press("Enter")
    expect(page.locator("#welcome-title")).to_be_focused()


def test_focus_follows_an_opened_or_deleted_stack(page, own):
    new_stack(own)
    page.locator(".earlier li > button:first-child").press("Enter")
    expect(page.locator("#stack-title")).to_be_focused()
    expect(page.get_by_text("of memory")).to_be_visible()  # otherwise its request would fail
    page.get_by_role("button", name="Delete stack").press("Enter")
    expect(page.locator("#welcome-title")).to_be_focused()


def test_next_notice_gets_the_focus(page):
    page.evaluate(
        "async () => { await panfocus.loaded; for (const text of 'ab') panfocus.showNotice(text); }"
    )
    close = page.locator(".notice button")
    close.first.press("Enter")
    expect(close).to_have_count(1)
    expect(close).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#welcome-title")).to_be_focused()
