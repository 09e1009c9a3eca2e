"""Many tabs of one browser, which opens six connections to a server at most: one has the stream of events."""

import pytest
from page_steps import Visit

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

SHOWN = "document.dispatchEvent(new Event('visibilitychange'))"  # without a window none comes


@pytest.fixture
def stack(serves):
    made = serves.client.post("/api/stacks", json={"folder": str(serves.root / "beetle")}).json()["id"]
    yield made
    serves.client.delete(f"/api/stacks/{made}")


@pytest.fixture
def visit(chromium, serves, stack):
    opened = Visit(chromium, f"{serves.address}#stack={stack}")
    yield opened
    opened.close()
    assert opened.complaints == []


def rename(serves, stack, name):
    serves.client.patch(f"/api/stacks/{stack}", json={"name": name}).raise_for_status()


def test_eight_tabs_work_and_all_learn_of_what_changes(visit, serves, stack):
    tabs = [visit.page, *(visit.new_tab(visit.page.url) for _ in range(7))]
    for tab in tabs:
        expect(tab.locator(".frame")).to_have_count(3)
    rename(serves, stack, "seen by all")
    for tab in tabs:
        expect(tab.locator("#stack-title")).to_have_text("seen by all")


def test_when_the_tab_with_the_stream_is_closed_another_one_goes_on(visit, serves, stack):
    first, second, third = visit.page, visit.new_tab(visit.page.url), visit.new_tab(visit.page.url)
    for gone, left, name in [(third, [first, second], "two left"), (second, [first], "one left")]:
        expect(gone.locator(".frame")).to_have_count(3)
        gone.close()
        rename(serves, stack, name)
        for tab in left:
            expect(tab.locator("#stack-title")).to_have_text(name)


def test_a_tab_that_is_shown_again_does_not_wait_for_the_one_that_has_the_stream(visit, serves, stack):
    page, other = visit.page, visit.new_tab(visit.page.url)
    expect(other.locator(".frame")).to_have_count(3)
    other.on("dialog", lambda dialog: None)  # a question that nobody answers: the tab stands still
    with other.expect_event("dialog"):
        other.evaluate("() => void setTimeout(() => confirm('Delete this result?'))")
    rename(serves, stack, "not heard by one")
    page.evaluate(SHOWN)
    expect(page.locator("#stack-title")).to_have_text("not heard by one")
    rename(serves, stack, "heard by its own stream")
    expect(page.locator("#stack-title")).to_have_text("heard by its own stream")
