"""The large view of a frame, and the selection of all frames."""

import io

import numpy as np
import pytest
import small_stacks
from page_steps import Visit
from PIL import Image

from panfocus.io.encode import write_image

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

SIZE = (1700, 2600)  # larger than a screen


@pytest.fixture(scope="module")
def large(page_server):
    """A stack of frames larger than a screen."""
    folder = page_server.root / "large moth"
    folder.mkdir()
    for k, frame in enumerate(small_stacks.frames(3, (SIZE[0] // 10, SIZE[1] // 10)), start=1):
        write_image(folder / f"frame-{k}.tif", np.tile(frame, (10, 10, 1)))
    made = page_server.client.post("/api/stacks", json={"folder": str(folder)}).json()
    return page_server.seen(made["id"])


@pytest.fixture
def visit(chromium, page_server, large):
    everything = {"used": [frame["key"] for frame in large["frames"]]}
    page_server.client.patch(f"/api/stacks/{large['id']}", json=everything).raise_for_status()
    opened = Visit(chromium, f"{page_server.address}#stack={large['id']}")
    opened.page.locator("#fuse:enabled").wait_for()
    yield opened
    opened.close()
    assert opened.complaints == []


def pictures(visit):
    return [url.rpartition("/")[2] for url in visit.responses if "/pictures/" in url]


def wait_for_large_picture(page):
    wide = "() => document.querySelector('.frame-view img').naturalWidth"
    page.wait_for_function(f"{wide} === {SIZE[1] // 2}")


def test_frame_view_shows_large_frames_and_arrow_keys_page(visit, large):
    page = visit.page
    small = page.get_by_role("button", name="Enlarge frame-1.tif")
    small.click()
    title = page.get_by_role("dialog").get_by_role("heading")
    expect(title).to_have_text("1. frame-1.tif")
    wait_for_large_picture(page)
    box = page.locator(".frame-view img").bounding_box()
    assert box["width"] > 1100 and box["height"] > 500
    expect(page.get_by_role("button", name="Previous")).to_be_disabled()
    page.keyboard.press("ArrowRight")
    expect(title).to_have_text("2. frame-2.tif")
    page.keyboard.press("End")
    expect(title).to_have_text("3. frame-3.tif")
    wait_for_large_picture(page)
    keys = [str(frame["key"]) for frame in large["frames"]]
    assert pictures(visit) in ([keys[0], keys[2]], keys)  # the second one may be skipped
    page.get_by_role("button", name="Previous").click()
    expect(title).to_have_text("2. frame-2.tif")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(small).to_be_focused()


def test_frame_is_excluded_in_the_frame_view(visit):
    page = visit.page
    page.get_by_role("button", name="Enlarge frame-2.tif").press("Enter")
    page.get_by_role("checkbox", name="Use this frame").uncheck()
    expect(page.locator(".frame.excluded")).to_have_count(1)
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("checkbox", name="Use this frame")).to_be_checked()
    expect(page.get_by_role("button", name="Close")).to_be_focused()  # there is no next one
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("checkbox", name="Use frame-2.tif")).not_to_be_checked()


def test_frame_view_keeps_the_thumbnail_and_shows_the_error(visit):
    page = visit.page
    refused = {"status": 400, "json": {"error": "frame-3.tif: damaged"}}
    page.route("**/pictures/*", lambda route: route.fulfill(**refused))
    page.get_by_role("button", name="Enlarge frame-3.tif").click()
    expect(page.get_by_role("dialog")).to_contain_text("frame-3.tif: damaged")
    expect(page.locator(".frame-view img")).not_to_have_js_property("naturalWidth", 0)
    visit.complaints.clear()  # the browser logs the response


def test_large_picture_is_reduced_to_screen_size(page_server, large):
    key = large["frames"][1]["key"]
    answer = page_server.client.get(f"/api/stacks/{large['id']}/pictures/{key}")
    assert answer.headers["content-type"] == "image/jpeg"
    assert Image.open(io.BytesIO(answer.content)).size == (SIZE[1] // 2, SIZE[0] // 2)
    answer = page_server.client.get(f"/api/stacks/{large['id']}/pictures/999")
    assert answer.status_code == 404


def test_replaced_frame_has_a_new_picture(page_server):
    paths = small_stacks.write(page_server.root / "replaced")
    made = page_server.client.post("/api/stacks", json={"folder": str(page_server.root / "replaced")}).json()
    stack = page_server.seen(made["id"])
    address = f"/api/stacks/{stack['id']}/pictures"
    first = page_server.client.get(f"{address}/{stack['frames'][0]['key']}").content
    paths[0].write_bytes(small_stacks.write(page_server.root / "other", size=(80, 100))[0].read_bytes())
    page_server.client.post(f"/api/stacks/{stack['id']}/look").raise_for_status()
    stack = page_server.seen(made["id"])
    again = page_server.client.get(f"{address}/{stack['frames'][0]['key']}").content
    sizes = [Image.open(io.BytesIO(data)).size for data in (first, again)]
    assert sizes == [(120, 90), (100, 80)]
    kept = page_server.work / "stacks" / stack["id"] / "thumbnails"
    assert len(list(kept.glob("*-large.jpg"))) == 1


def test_all_none_and_invert_select_frames(visit):
    page = visit.page
    page.get_by_role("button", name="None", exact=True).click()
    expect(page.locator(".frame.excluded")).to_have_count(3)
    expect(page.locator("#fuse")).to_be_disabled()
    page.get_by_role("checkbox", name="Use frame-2.tif").check()
    page.get_by_role("button", name="Invert", exact=True).click()
    expect(page.get_by_role("checkbox", name="Use frame-1.tif")).to_be_checked()
    expect(page.get_by_role("checkbox", name="Use frame-2.tif")).not_to_be_checked()
    page.get_by_role("button", name="All", exact=True).click()
    expect(page.locator(".frame.excluded")).to_have_count(0)
    expect(page.locator("#fuse")).to_be_enabled()


def test_all_and_none_select_files_in_the_picker(visit):
    page = visit.page
    page.get_by_role("button", name="New stack").click()
    page.get_by_role("button", name="Open on this computer").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="beetle/")).to_be_visible()
    expect(dialog.get_by_role("button", name="None")).to_be_hidden()
    dialog.get_by_role("button", name="beetle/").click()
    expect(dialog.get_by_role("button", name="Open 3 images")).to_be_enabled()
    dialog.get_by_role("button", name="None").click()
    expect(dialog.get_by_role("button", name="Open", exact=True)).to_be_disabled()
    dialog.get_by_role("button", name="All").click()
    expect(dialog.get_by_role("button", name="Open 3 images")).to_be_enabled()
