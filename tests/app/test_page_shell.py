"""The page around the viewer, in a real browser with a real server: frames, settings, fusions, looks."""

import base64
import re

import pytest
import small_stacks
from app_server import running_server
from page_steps import DROP

from browser import JOB_TIMEOUT, new_context
from panfocus.io.read_stack import read_image

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect


@pytest.fixture
def page(chromium, serves):
    """A page with a cookie of its own; what it complains of in the console fails the test."""
    context = new_context(chromium)
    opened = context.new_page()
    opened.goto(serves.address)
    yield opened
    context.close()
    assert context.complaints == []


def drop(page, paths, target="#welcome", rename=lambda name: name):
    files = [(rename(path.name), base64.b64encode(path.read_bytes()).decode()) for path in paths]
    page.evaluate(DROP, [files, target])


def names(page):
    return [text.split(". ", 1)[1] for text in page.locator(".frame-name").all_inner_texts()]


def open_stack(page, serves):
    """Open the folder in place, as a stack of its own."""
    made = serves.client.post("/api/stacks", json={"folder": str(serves.root / "beetle")}).json()
    page.goto(f"{serves.url}/#stack={made['id']}")
    expect(page.locator("#fuse")).to_be_enabled()
    return made["id"]


def test_dropped_files_are_a_stack_in_natural_order_with_what_was_left_out(page, tmp_path):
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


def test_a_drop_on_the_frames_adds_to_the_stack(page, tmp_path):
    paths = small_stacks.write(tmp_path, n=3)
    drop(page, paths[:2])
    expect(page.locator("#fuse")).to_be_enabled()
    drop(page, paths[2:], target="#frames")
    expect(page.locator(".frame")).to_have_count(3)


def test_a_folder_is_chosen_without_the_folders_in_it(page, tmp_path):
    small_stacks.write(tmp_path / "ants", n=2)
    small_stacks.write(tmp_path / "ants" / "old", n=2)
    page.set_input_files("#welcome input[webkitdirectory]", tmp_path / "ants")
    expect(page.locator("#stack-title")).to_have_text("ants")
    expect(page.locator(".frame")).to_have_count(2)
    expect(page.locator(".notice")).to_contain_text("old/")


def test_a_folder_of_folders_alone_says_that_they_are_left_out(page, tmp_path):
    small_stacks.write(tmp_path / "ants" / "inner", n=2)
    page.set_input_files("#welcome input[webkitdirectory]", tmp_path / "ants")
    expect(page.locator(".notice p")).to_contain_text("inner/")
    expect(page.locator("#welcome")).to_be_visible()


def test_a_frame_that_cannot_be_read_says_why_and_the_others_go_on(page, tmp_path):
    paths = small_stacks.write(tmp_path, n=3)
    paths[1].write_bytes(paths[1].read_bytes()[:2000])
    drop(page, paths)
    bad = page.locator(".frame.bad")
    expect(bad.locator(".error")).to_contain_text("frame-2.png")
    expect(bad.get_by_role("checkbox")).to_be_disabled()
    expect(page.locator("#fuse")).to_be_enabled()


def test_a_file_of_this_computer_that_was_mended_is_read_again_when_the_user_comes_back(page, serves):
    paths = small_stacks.write(serves.root / "mended")
    whole = paths[1].read_bytes()
    paths[1].write_bytes(whole[:2000])
    made = serves.client.post("/api/stacks", json={"folder": str(serves.root / "mended")}).json()
    page.goto(f"{serves.url}/#stack={made['id']}")
    page.reload()
    expect(page.locator(".frame.bad")).to_contain_text("frame-2.png")
    paths[1].write_bytes(whole)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.locator(".frame.bad")).to_have_count(0)
    expect(page.get_by_role("checkbox", name="Use frame-2.png")).to_be_checked()
    for picture in page.locator(".frame img").all():
        expect(picture).to_have_js_property("naturalWidth", 120)


def test_a_choice_that_the_server_refuses_is_taken_back(page, serves):
    stack = open_stack(page, serves)
    refused = {"status": 400, "json": {"error": "no room on the disk"}}
    page.route(f"**/api/stacks/{stack}", lambda route: route.fulfill(**refused))
    box = page.get_by_role("checkbox", name="Use frame-2.png")
    box.click()
    expect(page.locator(".notice")).to_contain_text("no room on the disk")
    expect(box).to_be_checked()
    page.context.complaints.clear()  # the browser tells of the answer


def test_order_and_choice_by_keys_hold_after_a_reload_and_in_another_tab(page, serves):
    open_stack(page, serves)
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


def test_frames_are_dragged_to_their_place(page, serves):
    page.set_viewport_size({"width": 1280, "height": 1200})  # all are seen: a drag does not scroll
    open_stack(page, serves)
    page.locator(".frame").first.drag_to(page.locator(".frame").nth(2))
    expect(page.locator(".frame-name").nth(2)).to_have_text("3. frame-1.png")


def test_a_folder_of_this_computer_is_opened_where_it_is_by_keys_alone(page, serves):
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
    assert list((serves.work / "stacks" / stack / "files").iterdir()) == []
    # Files that were chosen are as little panfocus's own as those of a folder.
    expect(page.get_by_text("Add frames")).to_be_hidden()
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog), dialog.dismiss()))
    page.get_by_role("button", name="Delete stack").click()
    assert len(asked) == 1


def test_a_stack_deleted_in_one_tab_is_gone_in_the_other(page, serves):
    open_stack(page, serves)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#stack-title")).to_be_visible()
    for tab in (page, other):  # else the answer to it would be that there is no such stack
        expect(tab.get_by_text("of memory")).to_be_visible()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete stack").click()
    for tab in (page, other):
        expect(tab.locator("#welcome")).to_be_visible()
    assert len(list((serves.root / "beetle").iterdir())) == 3


def test_settings_make_the_command_and_only_changes_are_told(page, serves):
    open_stack(page, serves)
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


def test_a_fusion_is_watched_and_its_result_seen_after_a_reload(page, serves):
    open_stack(page, serves)
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


def test_from_a_drop_to_a_saved_picture_in_four_actions(page, tmp_path):
    paths = small_stacks.write(tmp_path, n=3)
    drop(page, paths)
    page.get_by_role("button", name="Fuse", exact=True).click()
    expect(page.locator("#viewer")).to_be_visible(timeout=JOB_TIMEOUT)
    page.get_by_role("tab", name="Export").click()
    with page.expect_download() as downloads:
        page.get_by_role("button", name="Save picture").click()
    downloads.value.save_as(saved := tmp_path / downloads.value.suggested_filename)
    assert saved.suffix == ".png"
    assert read_image(saved).shape == read_image(paths[0]).shape


def test_a_fusion_is_cancelled_while_another_waits_which_then_goes_on(page, tmp_path):
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


def test_an_answer_that_comes_after_a_newer_event_changes_nothing(page, tmp_path):
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


def test_the_page_waits_for_a_server_that_is_started_again(chromium, tmp_path):
    small_stacks.write(tmp_path / "beetle")
    with running_server(tmp_path / "work", tmp_path, "--port", "0") as first:
        page = chromium.new_page()
        page.goto(first.address)
        open_stack(page, first)
        port = first.url.rpartition(":")[2]
    expect(page.locator("#offline")).to_be_visible()
    with running_server(tmp_path / "work", tmp_path, "--port", port):
        expect(page.locator("#offline")).to_be_hidden(timeout=20_000)
        page.get_by_role("checkbox", name="Use frame-2.png").click()
        expect(page.locator(".frame.excluded")).to_have_count(1)
        page.close()


@pytest.mark.parametrize(
    ("scheme", "size"),
    [
        ("light", (1280, 800)),
        ("dark", (2560, 1440)),
        ("light", (390, 844)),  # a phone
        ("dark", (320, 256)),  # 1280 x 1024 at 400 %
    ],
    ids=str,
)
def test_nothing_to_complain_of_for_axe_and_no_sideways_scrolling(page, serves, scheme, size):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    expect(page.locator("#welcome")).to_be_visible()
    _check(axe, page)
    open_stack(page, serves)
    page.locator("#settings-details > summary").click()
    _check(axe, page)


def _check(axe, page):
    before = len(page.context.complaints)
    found = axe.run(page).response["violations"]
    del page.context.complaints[before:]  # the policy refuses what axe itself would load
    assert [(fault["id"], [node["target"] for node in fault["nodes"]]) for fault in found] == []
    wide, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= room
