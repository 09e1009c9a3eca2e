"""What becomes of files that are dropped: of their names, and of what is no picture."""

import pytest
import small_stacks
import tifffile
from page_steps import Visit

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect


@pytest.fixture
def visit(chromium, serves):
    opened = Visit(chromium, serves.address)
    yield opened
    opened.close()


@pytest.fixture
def named(tmp_path):
    """Return frames, each of another picture, by these names."""

    def write(*names):
        paths = small_stacks.write(tmp_path, n=len(names))
        return [path.rename(tmp_path / name) for path, name in zip(paths, names, strict=True)]

    return write


def test_names_that_some_systems_do_not_allow_are_taken(visit, named):
    visit.drop(named("2024-05-01 12:30:00.png", "2024-05-01 12:30:01.png", 'what is "this"?.png'))
    expect(visit.page.locator(".frame")).to_have_count(3)
    expect(visit.page.locator("#fuse")).to_be_enabled()
    expect(visit.page.locator("#stack-title")).to_have_text('2024-05-01 12:30:00 to what is "this"?')
    expect(visit.page.locator(".notice")).to_have_count(0)
    assert visit.complaints == []


def test_a_stack_is_named_after_the_files_that_have_come(visit, named):
    too_long = f"{'a' * 210}.png"
    visit.drop(named(too_long, "b.png", "c.png"))
    expect(visit.page.locator("#stack-title")).to_have_text("b to c")
    expect(visit.page.locator(".notice")).to_contain_text("a" * 80)


def test_files_that_are_no_images_are_named_and_a_single_file_is_one_frame(visit, named, tmp_path):
    (tmp_path / "notes.txt").touch()
    visit.drop([*named("one.png"), tmp_path / "notes.txt"])
    expect(visit.page.locator(".notice p")).to_contain_text(": notes.txt.")
    expect(visit.page.locator(".frame")).to_have_count(1)
    visit.click("button", "New stack")
    expect(visit.page.locator(".earlier li").first).to_contain_text("one 1 frame")
    expect(visit.page.locator(".earlier li").first).not_to_contain_text("frames")


def test_what_was_left_out_of_a_folder_is_told_apart(visit):
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


def test_the_pages_of_a_file_count_as_frames_on_the_start_page(visit, tmp_path):
    tifffile.imwrite(tmp_path / "six.tif", small_stacks.frames(6), photometric="rgb")
    visit.drop([tmp_path / "six.tif"])
    expect(visit.page.locator("#fuse")).to_be_enabled()
    visit.click("button", "New stack")
    expect(visit.page.locator(".earlier li").first).to_contain_text("six 6 frames")


@pytest.mark.parametrize("width", [1280, 320])
def test_the_button_of_a_long_notice_is_one_line(visit, width):
    visit.page.set_viewport_size({"width": width, "height": 700})
    visit.page.evaluate("() => panfocus.showNotice('/a/long/path'.repeat(30))")
    lines = """() => {
        const range = document.createRange();
        range.selectNodeContents(document.querySelector(".notice button"));
        return new Set([...range.getClientRects()].map(({ top }) => top)).size;
    }"""
    assert visit.page.evaluate(lines) == 1
