"""Late responses of the server, and many tabs that share one event stream."""

import pytest
import small_stacks
from page_steps import Visit, wait_until, wait_until_drawn

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

# Chromium without a window sends no such event.
SHOW_TAB = "document.dispatchEvent(new Event('visibilitychange'))"


@pytest.fixture
def stack(page_server):
    made = page_server.client.post("/api/stacks", json={"folder": str(page_server.root / "beetle")}).json()[
        "id"
    ]
    yield made
    page_server.client.delete(f"/api/stacks/{made}")


@pytest.fixture
def visit(chromium, page_server, stack):
    opened = Visit(chromium, f"{page_server.address}#stack={stack}")
    opened.page.get_by_text("of memory").wait_for()
    yield opened
    opened.close()
    assert opened.complaints == []


def delay_response(page, path, meanwhile):
    """Delay the response to the next request to a path until `meanwhile()` is done.

    The returned list is empty until the response is sent.
    """
    sent = []

    def late(route):
        answer = route.fetch()
        meanwhile()
        route.fulfill(response=answer)
        sent.append(answer)

    page.route(path, late, times=1)
    return sent


def test_late_response_does_not_restore_a_deleted_stack(visit, page_server, stack):
    page = visit.page

    def delete():
        page_server.client.delete(f"/api/stacks/{stack}").raise_for_status()
        expect(page.locator("#welcome")).to_be_visible()

    delay_response(page, f"**/api/stacks/{stack}", delete)
    with page.expect_response(f"**/api/stacks/{stack}") as answered:
        page.get_by_role("checkbox", name="Use frame-2.png").click()
    answered.value.finished()
    wait_until_drawn(page)
    assert stack not in page.evaluate("panfocus.state.get().stacks.map(({ id }) => id)")


def test_picker_shows_the_folder_clicked_last(visit, page_server):
    page = visit.page
    for name in ("quick", "slow"):
        small_stacks.write(page_server.root / "moths" / name, n=2)
    path = page.locator("#picker-path")

    def go_elsewhere():
        page.get_by_role("button", name="quick/").click()
        expect(path).to_contain_text("quick")

    visit.click("button", "New stack")
    visit.click("button", "Open on this computer")
    visit.click("button", "moths/")
    sent = delay_response(page, "**/api/folders", go_elsewhere)
    page.get_by_role("button", name="slow/").click()
    wait_until(page, lambda: sent)
    wait_until_drawn(page)
    expect(path).to_contain_text("quick")


def test_late_start_of_a_fusion_does_not_change_the_selected_stack(visit, page_server, stack):
    page = visit.page
    other = page_server.client.post("/api/stacks", json={"name": "looked at"}).json()["id"]
    expect(page.locator("#stack-select option", has_text="looked at")).to_have_count(1)
    delay_response(page, "**/api/jobs", lambda: page.locator("#stack-select").select_option(other))
    with page.expect_response("**/api/jobs"):
        visit.click("button", "Fuse")
    expect(page.locator("#announcer")).not_to_be_empty()
    expect(page.locator("#stack-title")).to_have_text("looked at")
    page_server.client.delete(f"/api/stacks/{other}").raise_for_status()


def rename(page_server, stack, name):
    page_server.client.patch(f"/api/stacks/{stack}", json={"name": name}).raise_for_status()


def test_seven_tabs_receive_events(visit, page_server, stack):
    """A browser opens only six connections to a server."""
    tabs = [visit.page, *(visit.new_tab(visit.page.url) for _ in range(6))]
    for tab in tabs:
        expect(tab.locator(".frame")).to_have_count(3)
    rename(page_server, stack, "new name")
    for tab in tabs:
        expect(tab.locator("#stack-title")).to_have_text("new name")


def test_another_tab_takes_over_the_event_stream(visit, page_server, stack):
    first, second, third = visit.page, visit.new_tab(visit.page.url), visit.new_tab(visit.page.url)
    for gone, left, name in [(third, [first, second], "two left"), (second, [first], "one left")]:
        expect(gone.locator(".frame")).to_have_count(3)
        gone.close()
        rename(page_server, stack, name)
        for tab in left:
            expect(tab.locator("#stack-title")).to_have_text(name)


def test_shown_tab_takes_the_event_stream_from_a_blocked_one(visit, page_server, stack):
    page, other = visit.page, visit.new_tab(visit.page.url)
    expect(other.locator(".frame")).to_have_count(3)
    other.on("dialog", lambda dialog: None)  # a question that nobody answers: the tab stands still
    with other.expect_event("dialog"):
        other.evaluate("() => void setTimeout(() => confirm('Delete this result?'))")
    rename(page_server, stack, "first")
    page.evaluate(SHOW_TAB)
    expect(page.locator("#stack-title")).to_have_text("first")
    rename(page_server, stack, "second")
    expect(page.locator("#stack-title")).to_have_text("second")
