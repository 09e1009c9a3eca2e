"""A larger view of one frame before anything is fused, and a choice for all frames at once."""

import io

import pytest
import small_stacks
from page_steps import Visit
from PIL import Image

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

SIZE = (1700, 2600)  # more than a screen has


@pytest.fixture(scope="module")
def large(serves):
    """A stack of frames larger than a screen."""
    folder = serves.root / "large moth"
    small_stacks.write(folder, size=SIZE, suffix=".tif")
    made = serves.client.post("/api/stacks", json={"folder": str(folder)}).json()
    return serves.seen(made["id"])


@pytest.fixture
def visit(chromium, serves, large):
    everything = {"used": [frame["key"] for frame in large["frames"]]}
    serves.client.patch(f"/api/stacks/{large['id']}", json=everything).raise_for_status()
    opened = Visit(chromium, f"{serves.address}#stack={large['id']}")
    opened.page.locator("#fuse:enabled").wait_for()
    yield opened
    opened.close()
    assert opened.complaints == []


def pictures(visit):
    return [url.rpartition("/")[2] for url in visit.responses if "/pictures/" in url]


def wait_for_the_larger_one(page):
    wide = "() => document.querySelector('.frame-view img').naturalWidth"
    page.wait_for_function(f"{wide} === {SIZE[1] // 2}")


def test_a_frame_is_looked_at_large_and_arrow_keys_go_on(visit, large):
    page = visit.page
    small = page.get_by_role("button", name="Enlarge frame-1.tif")
    small.click()
    title = page.get_by_role("dialog").get_by_role("heading")
    expect(title).to_have_text("1. frame-1.tif")
    wait_for_the_larger_one(page)
    box = page.locator(".frame-view img").bounding_box()
    assert box["width"] > 1100 and box["height"] > 500
    expect(page.get_by_role("button", name="Previous")).to_be_disabled()
    page.keyboard.press("ArrowRight")
    expect(title).to_have_text("2. frame-2.tif")
    page.keyboard.press("End")
    expect(title).to_have_text("3. frame-3.tif")
    wait_for_the_larger_one(page)
    keys = [str(frame["key"]) for frame in large["frames"]]
    assert pictures(visit) in ([keys[0], keys[2]], keys)  # the second one was left before it was asked for
    page.get_by_role("button", name="Previous").click()
    expect(title).to_have_text("2. frame-2.tif")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(small).to_be_focused()


def test_a_frame_is_left_out_while_it_is_looked_at(visit):
    page = visit.page
    page.get_by_role("button", name="Enlarge frame-2.tif").press("Enter")
    page.get_by_role("checkbox", name="Use this frame").uncheck()
    expect(page.locator(".frame.excluded")).to_have_count(1)
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("checkbox", name="Use this frame")).to_be_checked()
    expect(page.get_by_role("button", name="Close")).to_be_focused()  # there is no next one
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("checkbox", name="Use frame-2.tif")).not_to_be_checked()


def test_where_there_is_no_larger_picture_the_small_one_stays_and_it_is_said_why(visit):
    page = visit.page
    refused = {"status": 400, "json": {"error": "frame-3.tif: damaged"}}
    page.route("**/pictures/*", lambda route: route.fulfill(**refused))
    page.get_by_role("button", name="Enlarge frame-3.tif").click()
    expect(page.get_by_role("dialog")).to_contain_text("frame-3.tif: damaged")
    expect(page.locator(".frame-view img")).not_to_have_js_property("naturalWidth", 0)
    visit.complaints.clear()  # the browser tells of the answer


def test_the_server_sends_no_more_than_a_screen_shows(serves, large):
    key = large["frames"][1]["key"]
    answer = serves.client.get(f"/api/stacks/{large['id']}/pictures/{key}")
    assert answer.headers["content-type"] == "image/jpeg"
    assert Image.open(io.BytesIO(answer.content)).size == (SIZE[1] // 2, SIZE[0] // 2)
    answer = serves.client.get(f"/api/stacks/{large['id']}/pictures/999")
    assert answer.status_code == 404


def test_a_frame_that_was_replaced_has_another_picture(serves):
    paths = small_stacks.write(serves.root / "replaced")
    made = serves.client.post("/api/stacks", json={"folder": str(serves.root / "replaced")}).json()
    stack = serves.seen(made["id"])
    address = f"/api/stacks/{stack['id']}/pictures"
    first = serves.client.get(f"{address}/{stack['frames'][0]['key']}").content
    paths[0].write_bytes(small_stacks.write(serves.root / "other", size=(80, 100))[0].read_bytes())
    serves.client.post(f"/api/stacks/{stack['id']}/look").raise_for_status()
    stack = serves.seen(made["id"])
    again = serves.client.get(f"{address}/{stack['frames'][0]['key']}").content
    sizes = [Image.open(io.BytesIO(data)).size for data in (first, again)]
    assert sizes == [(120, 90), (100, 80)]
    kept = serves.work / "stacks" / stack["id"] / "thumbnails"
    assert len(list(kept.glob("*-large.jpg"))) == 1


def test_all_frames_none_and_the_others(visit):
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


def test_all_and_none_of_the_images_in_a_folder(visit):
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
