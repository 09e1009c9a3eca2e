"""The page of a stack: frames, settings, fusions and accessibility."""

import base64
import re

import pytest
import small_stacks
from app_server import running_server
from page_steps import DROP

from browser import JOB_TIMEOUT, new_context

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect


@pytest.fixture
def page(chromium, page_server):
    """The start page in a new browser context; a console error fails the test."""
    context = new_context(chromium)
    opened = context.new_page()
    opened.goto(page_server.address)
    yield opened
    context.close()
    assert context.complaints == []


def drop(page, paths, target="#welcome", rename=lambda name: name):
    files = [(rename(path.name), base64.b64encode(path.read_bytes()).decode()) for path in paths]
    page.evaluate(DROP, [files, target])


def names(page):
    return [text.split(". ", 1)[1] for text in page.locator(".frame-name").all_inner_texts()]


def open_stack(page, page_server):
    """Open the folder `beetle` in place as a new stack."""
    made = page_server.client.post("/api/stacks", json={"folder": str(page_server.root / "beetle")}).json()
    page.goto(f"{page_server.url}/#stack={made['id']}")
    expect(page.locator("#fuse")).to_be_enabled()
    return made["id"]


def test_dropped_files_become_a_stack_in_natural_order(page, tmp_path):
    expect(page.get_by_role("heading", name="Drop the photos")).to_be_visible()
    paths = small_stacks.write(tmp_path, n=3)
    notes = tmp_path / "notes.txt"
    notes.write_text("not an image")
    # As text, 10 would come before 9.
    number = {"frame-1.png": "shot 10.png", "frame-2.png": "shot 9.png", "frame-3.png": "shot 1.png"}
    drop(page, [*paths, notes], rename=lambda name: number.get(name, name))
    expect(page.locator("#fuse")).to_be_enabled()
    assert names(page) == ["shot 1.png", "shot 9.png", "shot 10.png"]
    expect(page.locator("#stack-title")).to_have_text("shot 1 to shot 10")
    expect(page.locator(".notice")).to_contain_text("notes.txt")
    for picture in page.locator(".frame img").all():
        expect(picture).to_have_js_property("naturalWidth", 120)
    scores = [float(meter.get_attribute("value")) for meter in page.locator(".frame meter").all()]
    assert max(scores) == 1 and min(scores) > 0


def test_files_dropped_on_the_frames_are_added(page, tmp_path):
    paths = small_stacks.write(tmp_path, n=3)
    drop(page, paths[:2])
    expect(page.locator("#fuse")).to_be_enabled()
    drop(page, paths[2:], target="#frames")
    expect(page.locator(".frame")).to_have_count(3)


def test_subfolders_of_a_selected_folder_are_skipped(page, tmp_path):
    small_stacks.write(tmp_path / "ants", n=2)
    small_stacks.write(tmp_path / "ants" / "old", n=2)
    page.set_input_files("#welcome input[webkitdirectory]", tmp_path / "ants")
    expect(page.locator("#stack-title")).to_have_text("ants")
    expect(page.locator(".frame")).to_have_count(2)
    expect(page.locator(".notice")).to_contain_text("old/")


def test_folder_without_images_names_its_subfolders(page, tmp_path):
    small_stacks.write(tmp_path / "ants" / "inner", n=2)
    page.set_input_files("#welcome input[webkitdirectory]", tmp_path / "ants")
    expect(page.locator(".notice p")).to_contain_text("inner/")
    expect(page.locator("#welcome")).to_be_visible()


def test_unreadable_frame_is_named_and_disabled(page, tmp_path):
    paths = small_stacks.write(tmp_path, n=3)
    paths[1].write_bytes(paths[1].read_bytes()[:2000])
    drop(page, paths)
    bad = page.locator(".frame.bad")
    expect(bad.locator(".error")).to_contain_text("frame-2.png")
    expect(bad.get_by_role("checkbox")).to_be_disabled()
    expect(page.locator("#fuse")).to_be_enabled()


def test_repaired_file_is_read_again_on_focus(page, page_server):
    paths = small_stacks.write(page_server.root / "mended")
    whole = paths[1].read_bytes()
    paths[1].write_bytes(whole[:2000])
    made = page_server.client.post("/api/stacks", json={"folder": str(page_server.root / "mended")}).json()
    page.goto(f"{page_server.url}/#stack={made['id']}")
    page.reload()
    expect(page.locator(".frame.bad")).to_contain_text("frame-2.png")
    paths[1].write_bytes(whole)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.locator(".frame.bad")).to_have_count(0)
    expect(page.get_by_role("checkbox", name="Use frame-2.png")).to_be_checked()
    for picture in page.locator(".frame img").all():
        expect(picture).to_have_js_property("naturalWidth", 120)


def test_rejected_frame_change_is_reverted(page, page_server):
    stack = open_stack(page, page_server)
    refused = {"status": 400, "json": {"error": "disk full"}}
    page.route(f"**/api/stacks/{stack}", lambda route: route.fulfill(**refused))
    box = page.get_by_role("checkbox", name="Use frame-2.png")
    box.click()
    expect(page.locator(".notice")).to_contain_text("disk full")
    expect(box).to_be_checked()
    page.context.complaints.clear()  # the browser logs the response


def test_frame_order_and_use_by_keyboard_are_stored(page, page_server):
    open_stack(page, page_server)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator(".frame")).to_have_count(3)

    page.get_by_role("button", name="Move frame-3.png earlier").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".frame-name").nth(1)).to_have_text("2. frame-3.png")
    # The focus goes with the frame, so that the key can be pressed again.
    expect(page.get_by_role("button", name="Move frame-3.png earlier")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".frame-name").first).to_have_text("1. frame-3.png")
    page.get_by_role("checkbox", name="Use frame-1.png").focus()
    page.keyboard.press("Space")
    expect(page.locator(".frame.excluded")).to_have_count(1)

    for tab in (other, page):
        expect(tab.locator(".frame-name").first).to_have_text("1. frame-3.png")
        expect(tab.get_by_role("checkbox", name="Use frame-1.png")).not_to_be_checked()
    page.reload()
    expect(page.locator(".frame")).to_have_count(3)
    expect(page.locator(".frame-name")).to_have_text(["1. frame-3.png", "2. frame-1.png", "3. frame-2.png"])
    expect(page.get_by_role("checkbox", name="Use frame-1.png")).not_to_be_checked()


def test_frames_are_reordered_by_dragging(page, page_server):
    page.set_viewport_size({"width": 1280, "height": 1200})  # all are seen: a drag does not scroll
    open_stack(page, page_server)
    page.locator(".frame").first.drag_to(page.locator(".frame").nth(2))
    expect(page.locator(".frame-name").nth(2)).to_have_text("3. frame-1.png")


def test_folder_is_opened_in_place_by_keyboard(page, page_server):
    page.get_by_role("button", name="Open on this computer").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="beetle/")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Open 3 images")).to_be_visible()
    page.get_by_role("checkbox", name=re.compile("frame-2")).press("Space")
    page.get_by_role("button", name="Open 2 images").press("Enter")
    expect(page.locator("#fuse")).to_be_enabled()
    assert names(page) == ["frame-1.png", "frame-3.png"]
    stack = page.url.partition("stack=")[2]
    assert list((page_server.work / "stacks" / stack / "files").iterdir()) == []
    # Files that were chosen are as little panfocus's own as those of a folder.
    expect(page.get_by_text("Add frames")).to_be_hidden()
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog), dialog.dismiss()))
    page.get_by_role("button", name="Delete stack").click()
    assert len(asked) == 1


def test_stack_deleted_in_one_tab_disappears_in_the_other(page, page_server):
    open_stack(page, page_server)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#stack-title")).to_be_visible()
    for tab in (page, other):  # else the answer to it would be that there is no such stack
        expect(tab.get_by_text("of memory")).to_be_visible()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete stack").click()
    for tab in (page, other):
        expect(tab.locator("#welcome")).to_be_visible()
    assert len(list((page_server.root / "beetle").iterdir())) == 3


def test_command_contains_only_changed_settings(page, page_server):
    open_stack(page, page_server)
    command = page.locator("#settings .command")
    page.locator("#settings summary", has_text="Command line").click()
    expect(command).to_contain_text("panfocus fuse")
    expect(command).not_to_contain_text("--align")
    page.locator("#settings-details > summary").click()
    page.get_by_label("Align", exact=True).select_option("off")
    expect(command).to_contain_text("--align off")
    expect(page.locator("#settings-details > summary")).to_contain_text("1 changed")
    page.get_by_label("Align", exact=True).select_option("auto")
    expect(command).not_to_contain_text("--align")


def test_fusion_result_is_shown_after_a_reload_and_deleted(page, page_server):
    open_stack(page, page_server)
    expect(page.locator("#estimate")).to_contain_text(re.compile("3 frames of 120 . 90"))
    page.locator("#fuse").press("Enter")
    expect(page.locator("#results li")).to_have_count(1)
    expect(page.locator("#fuse")).to_be_focused()
    expect(page.locator("#viewer")).to_be_visible(timeout=JOB_TIMEOUT)
    expect(page.locator("#results")).to_contain_text("done in")
    page.reload()
    expect(page.locator("#viewer")).to_be_visible()
    page.get_by_role("tab", name="Inspect").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Learn")).to_be_focused()
    expect(page.locator("#panel-learn")).to_be_visible()
    expect(page.locator("#panel-inspect")).to_be_hidden()

    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog), dialog.dismiss()))
    page.get_by_role("button", name="Delete fusion 1").click()
    expect(page.locator("#viewer")).to_be_visible()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete fusion 1").click()
    expect(page.locator("#viewer")).to_be_hidden()
    assert len(asked) == 1


def test_queued_fusion_starts_when_the_running_one_is_cancelled(page, tmp_path):
    drop(page, small_stacks.write(tmp_path, n=3, size=(500, 700)))
    page.locator("#settings-details > summary").click()
    page.get_by_label("Method", exact=True).select_option("coupled")
    page.locator("#fuse").click()
    expect(page.locator("#results li")).to_have_count(1)
    page.get_by_label("Method", exact=True).select_option("pca")
    page.locator("#fuse").click()
    expect(page.locator("#results li")).to_have_count(2)
    page.get_by_role("button", name="Cancel fusion 1").click()
    expect(page.locator("#results li").first).to_contain_text("cancelled")
    expect(page.locator("#results li").nth(1)).to_contain_text("done in", timeout=JOB_TIMEOUT)
    expect(page.locator("#viewer")).to_be_visible()
    page.get_by_role("button", name="Delete fusion 1").click()
    expect(page.locator(".results > li")).to_have_count(1)
    expect(page.locator(".results > li")).to_contain_text("2. pca")


def test_response_older_than_an_event_is_ignored(page, tmp_path):
    def late(route):
        answer = route.fetch()  # which says that the fusion still runs
        expect(page.locator("#results li")).to_contain_text("cancelled")
        route.fulfill(response=answer)

    drop(page, small_stacks.write(tmp_path, n=3, size=(500, 700)))
    page.locator("#settings-details > summary").click()
    page.get_by_label("Method", exact=True).select_option("coupled")
    page.locator("#fuse").click()
    expect(page.locator("#results li")).to_contain_text("running")
    page.route("**/cancel", late)
    with page.expect_response("**/cancel") as answered:
        page.get_by_role("button", name="Cancel fusion 1").click()
    assert answered.value.json()["state"] == "running"
    page.get_by_role("button", name="Delete fusion 1").click()
    expect(page.locator(".results > li")).to_have_count(0)


def test_page_reconnects_to_a_restarted_server(chromium, tmp_path):
    small_stacks.write(tmp_path / "beetle")
    with running_server(tmp_path / "work", tmp_path, "--port", "0") as first:
        page = chromium.new_page()
        page.goto(first.address)
        open_stack(page, first)
        port = first.url.rpartition(":")[2]
    expect(page.locator("#offline")).to_be_visible()
    with running_server(tmp_path / "work", tmp_path, "--port", port):
        expect(page.locator("#offline")).to_be_hidden()
        page.get_by_role("checkbox", name="Use frame-2.png").click()
        expect(page.locator(".frame.excluded")).to_have_count(1)
        page.close()


@pytest.mark.parametrize(
    ("scheme", "size"),
    [
        ("dark", (2560, 1440)),
        ("light", (390, 844)),  # a phone
        ("dark", (320, 256)),  # 1280 x 1024 at 400 %
    ],
    ids=str,
)
def test_page_is_accessible_and_fits_the_window(page, page_server, scheme, size):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    expect(page.locator("#welcome")).to_be_visible()
    _check(axe, page)
    open_stack(page, page_server)
    page.locator("#settings-details > summary").click()
    _check(axe, page)


def _check(axe, page):
    before = len(page.context.complaints)
    found = axe.run(page).response["violations"]
    del page.context.complaints[before:]  # the policy refuses what axe itself would load
    assert [(fault["id"], [node["target"] for node in fault["nodes"]]) for fault in found] == []
    wide, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= room
