"""Changes of frames on their way to the server, in a browser: what they mean, and what waits for them."""

import re

import pytest
import small_stacks
from page_steps import Visit, asked_before_leaving

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

A_WHILE = 700  # ms: longer than what the page waits for before it asks for an estimate


@pytest.fixture
def visit(chromium, serves, tmp_path):
    """A stack of three frames; `visit.held` has the changes that have not come to the server."""
    stack = serves.client.post("/api/stacks", json={"name": "slow"}).raise_for_status().json()["id"]
    for path in small_stacks.write(tmp_path):
        send(serves, stack, path.name, path)
    serves.seen(stack)
    opened = Visit(chromium, f"{serves.address}#stack={stack}")
    opened.stack = stack
    opened.page.get_by_text("of memory").wait_for()
    opened.held = []
    opened.page.route(f"**/api/stacks/{stack}", lambda route: opened.held.extend([route]))
    yield opened
    opened.close()
    serves.client.delete(f"/api/stacks/{stack}").raise_for_status()
    assert opened.complaints == []


def send(serves, stack, name, path):
    answer = serves.client.put(f"/api/stacks/{stack}/files/{name}", content=path.read_bytes())
    answer.raise_for_status()


def untick(visit, name):
    visit.page.get_by_role("checkbox", name=f"Use {name}.png").uncheck()


def move_earlier(visit, name):
    visit.page.get_by_role("button", name=f"Move {name}.png earlier").click()


def next_held(visit):
    """Wait for the next change that is on its way."""
    for _ in range(100):
        if visit.held:
            return visit.held.pop(0)
        visit.page.wait_for_timeout(50)
    raise AssertionError("no change is on its way")


def jobs_of(serves, visit):
    return [job for job in serves.state()["jobs"] if job["stack"] == visit.stack]


def frames_in(text):
    return re.findall(r"frame-\d", text)


def test_an_unticked_frame_is_the_one_that_was_seen_though_others_came_before_it(visit, serves, tmp_path):
    untick(visit, "frame-1")
    change = next_held(visit)
    send(serves, visit.stack, "a.png", tmp_path / "frame-2.png")
    change.continue_()
    expect(visit.page.locator(".frame")).to_have_count(4)
    expect(visit.page.locator(".frame.excluded .frame-name")).to_have_text(["2. frame-1.png"])
    assert [f["name"] for f in serves.stack(visit.stack)["frames"] if f["excluded"]] == ["frame-1.png"]


def test_fuse_waits_for_changes_that_are_on_their_way(visit, serves):
    move_earlier(visit, "frame-3")
    untick(visit, "frame-1")
    visit.click("button", "Fuse")
    visit.page.wait_for_timeout(A_WHILE)
    assert jobs_of(serves, visit) == []
    next_held(visit).continue_()
    next_held(visit).continue_()
    expect(visit.page.locator("#results li")).to_have_count(1)
    (job,) = jobs_of(serves, visit)
    assert frames_in(job["command"]) == ["frame-3", "frame-2"]


def test_a_fusion_of_frames_that_could_not_be_changed_is_not_begun(visit, serves):
    untick(visit, "frame-1")
    move_earlier(visit, "frame-3")
    visit.click("button", "Fuse")
    next_held(visit).fulfill(status=400, json={"error": "no room on the disk"})
    next_held(visit).continue_()
    notices = visit.page.locator(".notice")
    expect(notices).to_have_count(2)
    expect(notices.first).to_contain_text("no room on the disk")
    assert jobs_of(serves, visit) == []
    visit.complaints.clear()  # the browser tells of the answer
    visit.click("button", "Fuse")  # of the frames as they are shown now
    expect(visit.page.locator("#results li")).to_have_count(1)
    assert frames_in(jobs_of(serves, visit)[0]["command"]) == ["frame-1", "frame-3", "frame-2"]


def test_a_fusion_that_is_run_again_waits_for_changes_too(visit, serves):
    page = visit.page
    job = {"id": "old", "stack": visit.stack, "kind": "fuse", "name": "1. pca", "state": "cancelled"}
    job |= {"error": "", "stage": "", "done": 0, "live": 0, "result": None, "retouch": None, "said": []}
    job |= {"warnings": [], "options": {}, "command": "", "created": 1, "started": 1, "ended": 2}
    page.evaluate("(job) => panfocus.applyMessage({ kind: 'job', job })", job)
    asked = []
    page.route("**/api/jobs/old/again", lambda route: (asked.append(route.request), route.fulfill(json=job)))
    untick(visit, "frame-1")
    visit.click("button", "Run again")
    page.wait_for_timeout(A_WHILE)
    assert asked == []
    with page.expect_request("**/api/jobs/old/again"):
        next_held(visit).continue_()


def test_an_estimate_is_of_the_frames_as_they_will_be(visit):
    page = visit.page
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/estimate" in request.url else None)
    untick(visit, "frame-1")
    visit.open_part("Settings")
    page.get_by_label("Align", exact=True).select_option("off")
    page.wait_for_timeout(A_WHILE)
    assert asked == []
    next_held(visit).continue_()
    visit.open_part("Command line")
    command = page.locator("#settings .command")
    expect(command).to_contain_text("--align off")
    assert frames_in(command.inner_text()) == ["frame-2", "frame-3"]


def test_the_browser_asks_before_a_change_is_lost(visit):
    untick(visit, "frame-1")
    change = next_held(visit)
    assert asked_before_leaving(visit.page)
    change.continue_()
    expect(visit.page.locator(".frame.excluded")).to_have_count(1)


def test_the_browser_asks_before_files_are_lost_that_are_being_sent(visit, tmp_path):
    held = []
    visit.page.route("**/files/*", lambda route: held.extend([route]))
    visit.drop(small_stacks.write(tmp_path / "more", n=2), "#welcome")
    visit.page.get_by_text("0 of 2 files").wait_for()
    assert asked_before_leaving(visit.page)
    expect(visit.page.get_by_text("0 of 2 files")).to_be_visible()
