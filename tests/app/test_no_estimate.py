"""Where nothing can be fused there is no command either, nor a warning: none of another stack."""

import pytest
from page_steps import Visit

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

ANSWER = {"seconds": 9, "compiling": 0, "memory": 5e8, "n_frames": 3, "width": 9, "height": 9, "error": None}


@pytest.fixture
def stacks(serves):
    """Two stacks of the same frames."""
    wanted = {"folder": str(serves.root / "beetle")}
    made = [serves.client.post("/api/stacks", json=wanted).json()["id"] for _ in range(2)]
    for stack in made:
        serves.seen(stack)
    yield made
    for stack in made:
        serves.client.delete(f"/api/stacks/{stack}").raise_for_status()


@pytest.fixture
def page(chromium, serves, stacks):
    """The first stack, with an estimate that warns; the server does not answer for the second."""
    visit = Visit(chromium, serves.address)
    answer = ANSWER | {"warnings": ["too dark"], "command": "panfocus fuse first"}
    visit.page.route(f"**/{stacks[0]}/estimate", lambda route: route.fulfill(json=answer))
    visit.page.route(f"**/{stacks[1]}/estimate", lambda route: None)
    visit.page.evaluate("(stack) => panfocus.loaded.then(() => panfocus.select(stack))", stacks[0])
    visit.open_part("Command line")
    expect_estimate(visit.page, there=True)
    yield visit.page
    visit.close()
    assert visit.complaints == []


def expect_estimate(page, *, there):
    parts = page.locator("#settings")
    expect(parts.locator(".command")).to_have_text("panfocus fuse first" if there else "")
    for part in (parts.locator(".command"), parts.get_by_role("button", name="Copy")):
        expect(part).to_be_visible(visible=there)
    expect(parts.get_by_text("too dark")).to_be_visible(visible=there)


def test_without_frames_to_fuse_command_and_warnings_are_gone(page):
    page.get_by_role("button", name="None", exact=True).click()
    expect(page.locator("#estimate")).to_contain_text("two frames")
    expect_estimate(page, there=False)
    page.get_by_role("button", name="All", exact=True).click()
    expect_estimate(page, there=True)


def test_while_another_stack_is_estimated_the_command_of_the_first_is_gone(page, stacks):
    page.evaluate("(stack) => panfocus.select(stack)", stacks[1])
    expect(page.locator("#estimate")).to_have_text("Estimating …")
    expect_estimate(page, there=False)
    page.evaluate("(stack) => panfocus.select(stack)", stacks[0])
    expect_estimate(page, there=True)
