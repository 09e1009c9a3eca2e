"""Files that do not come at once, or never: the page sends them again, and says what is missing."""

import pytest
import small_stacks
from app_server import running_server, wait
from page_steps import Visit

from browser import JOB_TIMEOUT

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

N = 4


@pytest.fixture
def visit(chromium, serves):
    opened = Visit(chromium, serves.address)
    yield opened
    opened.close()


def names(page):
    return [text.split(". ", 1)[1] for text in page.locator(".frame-name").all_inner_texts()]


def send_slowly(page):
    """Let files go up at 300 kB a second."""
    limits = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 300_000}
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", limits)


def open_stack(page, serves):
    """Wait for the stack that is opened, and return it."""
    expect(page.locator("#stack-title")).to_be_visible()
    return page.evaluate("panfocus.stack().id")


def wait_until_second_is_under_way(serves, stack):
    for _ in wait(30):
        told = serves.stack(stack)
        if told["receiving"] and len(told["frames"]) == 1:
            return
    raise AssertionError(told)


def test_a_server_that_is_killed_while_files_come_gets_the_others_when_it_is_back(chromium, tmp_path):
    paths = small_stacks.write(tmp_path / "ants", n=N, size=(400, 500))
    work = tmp_path / "work"
    with running_server(work, tmp_path) as first:
        visit = Visit(chromium, first.address)
        page, port = visit.page, first.url.rpartition(":")[2]
        send_slowly(page)
        visit.drop(paths)
        wait_until_second_is_under_way(first, open_stack(page, first))
        first.process.kill()
        first.process.wait()
    expect(page.locator("#offline")).to_be_visible()
    expect(page.locator(".upload")).to_contain_text("1 of 4 files")
    with running_server(work, tmp_path, "--port", port):
        expect(page.locator(".frame")).to_have_count(N, timeout=JOB_TIMEOUT)
        expect(page.locator("#fuse")).to_be_enabled()
        assert names(page) == [path.name for path in paths]
        expect(page.locator("#unsent")).to_be_hidden()
        expect(page.locator(".notice")).to_have_count(0)
        visit.close()


def test_a_file_whose_answer_was_lost_is_not_sent_twice(visit, tmp_path):
    def lose(route):
        route.fetch()
        route.abort()

    visit.page.route("**/files/frame-2.png", lose, times=1)
    visit.drop(small_stacks.write(tmp_path, n=3))
    expect(visit.page.locator("#fuse")).to_be_enabled()
    assert names(visit.page) == ["frame-1.png", "frame-2.png", "frame-3.png"]
    expect(visit.page.locator(".notice")).to_have_count(0)


def test_a_page_that_is_closed_leaves_a_stack_that_tells_what_is_missing(visit, serves, tmp_path):
    paths = small_stacks.write(tmp_path, n=N, size=(400, 500))
    send_slowly(visit.page)
    visit.drop(paths)
    stack = open_stack(visit.page, serves)
    wait_until_second_is_under_way(serves, stack)
    visit.page.close()
    for _ in wait(20):
        if serves.stack(stack)["receiving"] == 0:
            break
    left = serves.stack(stack)
    assert left["receiving"] == 0
    come = len(left["frames"])  # the second may have come whole just before the end
    assert come < 3
    page = visit.page = visit.new_tab(f"{serves.address}#stack={stack}")
    unsent = page.locator("#unsent")
    expect(unsent).to_contain_text(f": {', '.join(path.name for path in paths[come:])}.")
    expect(page.locator(".upload")).to_be_hidden()
    visit.drop(paths[come:3], target="#frames")
    expect(page.locator(".frame")).to_have_count(3)
    expect(unsent).to_contain_text(": frame-4.png.")
    page.get_by_role("button", name="Skip them").press("Enter")
    expect(unsent).to_be_hidden()
    expect(page.locator("#stack-title")).to_be_focused()
    assert serves.stack(stack)["unsent"] == []


def test_a_file_that_is_gone_meanwhile_is_named_and_the_others_come(visit, tmp_path):
    page = visit.page
    paths = small_stacks.write(tmp_path, n=3)

    def delete_the_next(route):
        paths[1].unlink()
        route.continue_()

    page.route("**/files/frame-1.png", delete_the_next, times=1)
    page.set_input_files("#welcome input:not([webkitdirectory])", paths)
    expect(page.locator("#unsent")).to_contain_text(": frame-2.png.")
    expect(page.locator(".notice")).to_contain_text("frame-2.png")
    assert names(page) == ["frame-1.png", "frame-3.png"]


def test_what_is_stopped_before_the_first_file_goes_is_not_sent(visit, tmp_path):
    page, held = visit.page, []
    page.route("**/unsent", lambda route: held.extend([route]))
    with page.expect_request("**/unsent"):
        visit.drop(small_stacks.write(tmp_path, n=N))
    page.get_by_role("button", name="Stop").press("Enter")
    held.pop().continue_()
    expect(page.locator("#unsent")).to_contain_text("frame-1.png, frame-2.png, frame-3.png, frame-4.png")
    expect(page.locator(".frame")).to_have_count(0)


def test_what_is_stopped_is_told_as_missing_and_the_focus_stays(visit, tmp_path):
    page = visit.page
    send_slowly(page)
    visit.drop(small_stacks.write(tmp_path, n=N, size=(400, 500)))
    page.get_by_role("button", name="Stop").press("Enter")
    expect(page.locator("#unsent")).to_contain_text("frame-4.png")
    expect(page.locator("#stack-title")).to_be_focused()
