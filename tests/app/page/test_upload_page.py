"""Uploads: dropped files and folders, interruptions, and files that cannot be used."""

import pytest
import small_stacks
import tifffile
from app_server import running_server, wait
from page_steps import Visit

from browser import JOB_TIMEOUT

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

N = 4


@pytest.fixture
def visit(chromium, page_server):
    opened = Visit(chromium, page_server.address)
    yield opened
    opened.close()


def names(page):
    return [text.split(". ", 1)[1] for text in page.locator(".frame-name").all_inner_texts()]


def send_slowly(page):
    """Limit uploads to 300 kB/s."""
    limits = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 300_000}
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", limits)


def open_stack(page, page_server):
    """Wait until a stack is open, and return its id."""
    expect(page.locator("#stack-title")).to_be_visible()
    return page.evaluate("panfocus.stack().id")


def wait_until_second_is_under_way(page_server, stack):
    for _ in wait(30):
        told = page_server.stack(stack)
        if told["receiving"] and len(told["frames"]) == 1:
            return
    raise AssertionError(told)


def test_upload_continues_after_the_server_was_killed(chromium, tmp_path):
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


def test_file_is_not_uploaded_twice_if_the_response_was_lost(visit, tmp_path):
    def lose(route):
        route.fetch()
        route.abort()

    visit.page.route("**/files/frame-2.png", lose, times=1)
    visit.drop(small_stacks.write(tmp_path, n=3))
    expect(visit.page.locator("#fuse")).to_be_enabled()
    assert names(visit.page) == ["frame-1.png", "frame-2.png", "frame-3.png"]
    expect(visit.page.locator(".notice")).to_have_count(0)


def test_closed_page_leaves_a_list_of_missing_files(visit, page_server, tmp_path):
    paths = small_stacks.write(tmp_path, n=N, size=(400, 500))
    send_slowly(visit.page)
    visit.drop(paths)
    stack = open_stack(visit.page, page_server)
    wait_until_second_is_under_way(page_server, stack)
    visit.page.close()
    for _ in wait(20):
        if page_server.stack(stack)["receiving"] == 0:
            break
    left = page_server.stack(stack)
    assert left["receiving"] == 0
    come = len(left["frames"])  # the second may have come whole just before the end
    assert come < 3
    page = visit.page = visit.new_tab(f"{page_server.address}#stack={stack}")
    unsent = page.locator("#unsent")
    expect(unsent).to_contain_text(f": {', '.join(path.name for path in paths[come:])}.")
    expect(page.locator(".upload")).to_be_hidden()
    visit.drop(paths[come:3], target="#frames")
    expect(page.locator(".frame")).to_have_count(3)
    expect(unsent).to_contain_text(": frame-4.png.")
    page.get_by_role("button", name="Skip them").press("Enter")
    expect(unsent).to_be_hidden()
    expect(page.locator("#stack-title")).to_be_focused()
    assert page_server.stack(stack)["unsent"] == []


def test_deleted_file_is_named_and_the_others_are_uploaded(visit, tmp_path):
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


def test_upload_stopped_before_the_first_file_sends_nothing(visit, tmp_path):
    page, held = visit.page, []
    page.route("**/unsent", lambda route: held.extend([route]))
    with page.expect_request("**/unsent"):
        visit.drop(small_stacks.write(tmp_path, n=N))
    page.get_by_role("button", name="Stop").press("Enter")
    held.pop().continue_()
    expect(page.locator("#unsent")).to_contain_text("frame-1.png, frame-2.png, frame-3.png, frame-4.png")
    expect(page.locator(".frame")).to_have_count(0)


def test_stopped_upload_lists_missing_files_and_keeps_the_focus(visit, tmp_path):
    page = visit.page
    send_slowly(page)
    visit.drop(small_stacks.write(tmp_path, n=N, size=(400, 500)))
    page.get_by_role("button", name="Stop").press("Enter")
    expect(page.locator("#unsent")).to_contain_text("frame-4.png")
    expect(page.locator("#stack-title")).to_be_focused()


@pytest.fixture
def named(tmp_path):
    """Return a function that writes different frames with these names."""

    def write(*names):
        paths = small_stacks.write(tmp_path, n=len(names))
        return [path.rename(tmp_path / name) for path, name in zip(paths, names, strict=True)]

    return write


def test_file_names_with_reserved_characters_are_accepted(visit, named):
    visit.drop(named("2024-05-01 12:30:00.png", "2024-05-01 12:30:01.png", 'what is "this"?.png'))
    expect(visit.page.locator(".frame")).to_have_count(3)
    expect(visit.page.locator("#fuse")).to_be_enabled()
    expect(visit.page.locator("#stack-title")).to_have_text('2024-05-01 12:30:00 to what is "this"?')
    expect(visit.page.locator(".notice")).to_have_count(0)
    assert visit.complaints == []


def test_stack_is_named_after_the_accepted_files(visit, named):
    too_long = f"{'a' * 210}.png"
    visit.drop(named(too_long, "b.png", "c.png"))
    expect(visit.page.locator("#stack-title")).to_have_text("b to c")
    expect(visit.page.locator(".notice")).to_contain_text("a" * 80)


def test_skipped_files_are_named_and_one_file_is_one_frame(visit, named, tmp_path):
    (tmp_path / "notes.txt").touch()
    visit.drop([*named("one.png"), tmp_path / "notes.txt"])
    expect(visit.page.locator(".notice p")).to_contain_text(": notes.txt.")
    expect(visit.page.locator(".frame")).to_have_count(1)
    visit.click("button", "New stack")
    expect(visit.page.locator(".earlier li").first).to_contain_text("one 1 frame")
    expect(visit.page.locator(".earlier li").first).not_to_contain_text("frames")


def test_skipped_files_and_subfolders_have_separate_notices(visit):
    page = visit.page
    page.evaluate(
        """async () => {
            const { uploadFiles } = await import("/static/js/upload.js");
            const files = ["a.txt", "b.txt"].map((name) => new File([], name));
            await uploadFiles(panfocus, { name: "all", files, folders: ["deeper/"] });
        }"""
    )
    expect(page.locator(".notice p")).to_contain_text([": a.txt, b.txt.", ": deeper/."])
    expect(page.locator("#welcome")).to_be_visible()


def test_start_page_counts_pages_as_frames(visit, tmp_path):
    tifffile.imwrite(tmp_path / "six.tif", small_stacks.frames(6), photometric="rgb")
    visit.drop([tmp_path / "six.tif"])
    expect(visit.page.locator("#fuse")).to_be_enabled()
    visit.click("button", "New stack")
    expect(visit.page.locator(".earlier li").first).to_contain_text("six 6 frames")


@pytest.mark.parametrize("width", [1280, 320])
def test_button_of_a_long_notice_is_one_line(visit, width):
    visit.page.set_viewport_size({"width": width, "height": 700})
    visit.page.evaluate("() => panfocus.showNotice('/a/long/path'.repeat(30))")
    lines = """() => {
        const range = document.createRange();
        range.selectNodeContents(document.querySelector(".notice button"));
        return new Set([...range.getClientRects()].map(({ top }) => top)).size;
    }"""
    assert visit.page.evaluate(lines) == 1
