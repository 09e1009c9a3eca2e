"""Frame changes that are being sent: jobs and estimates wait for them."""

import re

import pytest
import small_stacks
from page_steps import Visit, is_asked_before_unload, wait_until, wait_until_drawn

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

ESTIMATE_DELAY = 400  # ms: longer than the page waits for further changes


@pytest.fixture
def visit(chromium, page_server, tmp_path):
    """A stack of three frames; `visit.held` has the delayed change requests."""
    stack = page_server.client.post("/api/stacks", json={"name": "slow"}).raise_for_status().json()["id"]
    for path in small_stacks.write(tmp_path):
        send(page_server, stack, path.name, path)
    page_server.seen(stack)
    opened = Visit(chromium, f"{page_server.address}#stack={stack}")
    opened.stack = stack
    opened.page.get_by_text("of memory").wait_for()
    opened.held = []
    opened.page.route(f"**/api/stacks/{stack}", lambda route: opened.held.extend([route]))
    yield opened
    opened.close()
    page_server.client.delete(f"/api/stacks/{stack}").raise_for_status()
    assert opened.complaints == []


def send(page_server, stack, name, path):
    answer = page_server.client.put(f"/api/stacks/{stack}/files/{name}", content=path.read_bytes())
    answer.raise_for_status()


def exclude(visit, name):
    visit.page.get_by_role("checkbox", name=f"Use {name}.png").uncheck()


def move_earlier(visit, name):
    visit.page.get_by_role("button", name=f"Move {name}.png earlier").click()


def next_held(visit):
    """Wait for the next delayed change."""
    wait_until(visit.page, lambda: visit.held)
    return visit.held.pop(0)


def jobs_of(page_server, visit):
    return [job for job in page_server.state()["jobs"] if job["stack"] == visit.stack]


def frames_in(text):
    return re.findall(r"frame-\d", text)


def test_frame_changes_follow_the_frame_when_others_are_inserted(visit, page_server, tmp_path):
    exclude(visit, "frame-1")
    change = next_held(visit)
    send(page_server, visit.stack, "a.png", tmp_path / "frame-2.png")
    change.continue_()
    expect(visit.page.locator(".frame")).to_have_count(4)
    expect(visit.page.locator(".frame.excluded .frame-name")).to_have_text(["2. frame-1.png"])
    assert [f["name"] for f in page_server.stack(visit.stack)["frames"] if f["excluded"]] == ["frame-1.png"]


def test_fusion_waits_for_frame_changes(visit, page_server):
    move_earlier(visit, "frame-3")
    exclude(visit, "frame-1")
    visit.click("button", "Fuse")
    wait_until_drawn(visit.page)
    assert not any(url.endswith("/api/jobs") for url in visit.context.requests)
    next_held(visit).continue_()
    next_held(visit).continue_()
    expect(visit.page.locator("#results li")).to_have_count(1)
    (job,) = jobs_of(page_server, visit)
    assert frames_in(job["command"]) == ["frame-3", "frame-2"]


def test_fusion_does_not_start_after_a_rejected_change(visit, page_server):
    exclude(visit, "frame-1")
    move_earlier(visit, "frame-3")
    visit.click("button", "Fuse")
    next_held(visit).fulfill(status=400, json={"error": "disk full"})
    next_held(visit).continue_()
    notices = visit.page.locator(".notice")
    expect(notices).to_have_count(2)
    expect(notices.first).to_contain_text("disk full")
    assert jobs_of(page_server, visit) == []
    visit.complaints.clear()  # the browser logs the response
    visit.click("button", "Fuse")  # of the frames as they are shown now
    expect(visit.page.locator("#results li")).to_have_count(1)
    assert frames_in(jobs_of(page_server, visit)[0]["command"]) == ["frame-1", "frame-3", "frame-2"]


def test_repeated_fusion_waits_for_frame_changes(visit, page_server):
    page = visit.page
    job = {"id": "old", "stack": visit.stack, "kind": "fuse", "name": "1. pca", "state": "cancelled"}
    job |= {"error": "", "stage": "", "done": 0, "live": 0, "result": None, "retouch": None, "said": []}
    job |= {"warnings": [], "options": {}, "command": "", "created": 1, "started": 1, "ended": 2}
    page.evaluate("(job) => panfocus.applyMessage({ kind: 'job', job })", job)
    asked = []
    page.route("**/api/jobs/old/again", lambda route: (asked.append(route.request), route.fulfill(json=job)))
    exclude(visit, "frame-1")
    visit.click("button", "Run again")
    wait_until_drawn(page)
    assert asked == []
    with page.expect_request("**/api/jobs/old/again"):
        next_held(visit).continue_()


def test_estimate_waits_for_frame_changes(visit):
    page = visit.page
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/estimate" in request.url else None)
    exclude(visit, "frame-1")
    visit.unfold("Settings")
    page.get_by_label("Align", exact=True).select_option("off")
    page.wait_for_timeout(ESTIMATE_DELAY)
    assert asked == []
    next_held(visit).continue_()
    visit.unfold("Command line")
    command = page.locator("#settings .command")
    expect(command).to_contain_text("--align off")
    assert frames_in(command.inner_text()) == ["frame-2", "frame-3"]


def test_browser_asks_before_a_frame_change_is_lost(visit):
    exclude(visit, "frame-1")
    change = next_held(visit)
    assert is_asked_before_unload(visit.page)
    change.continue_()
    expect(visit.page.locator(".frame.excluded")).to_have_count(1)


def test_browser_asks_before_an_upload_is_lost(visit, tmp_path):
    held = []
    visit.page.route("**/files/*", lambda route: held.extend([route]))
    visit.drop(small_stacks.write(tmp_path / "more", n=2), "#welcome")
    visit.page.get_by_text("0 of 2 files").wait_for()
    assert is_asked_before_unload(visit.page)
    expect(visit.page.get_by_text("0 of 2 files")).to_be_visible()
