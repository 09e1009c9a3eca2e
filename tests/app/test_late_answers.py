"""Answers that come when the user is elsewhere by now, or what they tell of is gone: nothing jumps back."""

import pytest
import small_stacks
from page_steps import Visit

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect


@pytest.fixture
def stack(serves):
    made = serves.client.post("/api/stacks", json={"folder": str(serves.root / "beetle")}).json()["id"]
    yield made
    serves.client.delete(f"/api/stacks/{made}")


@pytest.fixture
def visit(chromium, serves, stack):
    opened = Visit(chromium, f"{serves.address}#stack={stack}")
    opened.page.get_by_text("of memory").wait_for()
    yield opened
    opened.close()
    assert opened.complaints == []


def answer_late(page, path, meanwhile):
    """Answer the next request to a path only after something else was done."""

    def late(route):
        answer = route.fetch()
        meanwhile()
        route.fulfill(response=answer)

    page.route(path, late, times=1)


def test_a_stack_that_was_deleted_does_not_come_back(visit, serves, stack):
    page = visit.page

    def delete():
        serves.client.delete(f"/api/stacks/{stack}").raise_for_status()
        expect(page.locator("#welcome")).to_be_visible()

    answer_late(page, f"**/api/stacks/{stack}", delete)
    with page.expect_response(f"**/api/stacks/{stack}") as answered:
        page.get_by_role("checkbox", name="Use frame-2.png").click()
    answered.value.finished()
    page.wait_for_timeout(300)
    assert stack not in page.evaluate("panfocus.state.get().stacks.map(({ id }) => id)")


def test_the_folder_that_was_clicked_last_is_shown_though_another_answer_comes_later(visit, serves):
    page = visit.page
    for name in ("quick", "slow"):
        small_stacks.write(serves.root / "moths" / name, n=2)
    path = page.locator("#picker-path")

    def go_elsewhere():
        page.get_by_role("button", name="quick/").click()
        expect(path).to_contain_text("quick")

    visit.click("button", "New stack")
    visit.click("button", "Open on this computer")
    visit.click("button", "moths/")
    answer_late(page, "**/api/folders", go_elsewhere)
    page.get_by_role("button", name="slow/").click()
    expect(path).to_contain_text("quick")
    page.wait_for_timeout(300)
    expect(path).to_contain_text("quick")


def test_a_fusion_that_begins_late_does_not_take_the_user_back_to_its_stack(visit, serves, stack):
    page = visit.page
    other = serves.client.post("/api/stacks", json={"name": "looked at"}).json()["id"]
    expect(page.locator("#stack-select option", has_text="looked at")).to_have_count(1)
    answer_late(page, "**/api/jobs", lambda: page.locator("#stack-select").select_option(other))
    with page.expect_response("**/api/jobs"):
        visit.click("button", "Fuse")
    expect(page.locator("#announcer")).to_have_text("The fusion has started.")
    expect(page.locator("#stack-title")).to_have_text("looked at")
    serves.client.delete(f"/api/stacks/{other}").raise_for_status()
