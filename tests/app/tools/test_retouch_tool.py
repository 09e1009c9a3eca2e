"""The Retouch tool: painting, undo, saving, several tabs."""

import json

import numpy as np
import pytest
from page_steps import is_asked_before_unload, settle, wait_until_drawn
from tool_screen import (
    HEIGHT,
    LOADED,
    WIDTH,
    drag,
    exported,
    open_tool,
    point,
    seen,
    set_brush,
    show,
    strokes,
    wait_saved,
)

playwright = pytest.importorskip("playwright.sync_api")

expect = playwright.expect


def test_hard_stroke_copies_the_pixels_of_the_frame(page, page_server, job, frames):
    before = exported(page_server, job)
    open_tool(page, "Retouch")
    page.get_by_role("radio", name="Frame 3: frame-3.png").check()
    set_brush(page, size=21, hardness=1)
    drag(page, (30, 20), (30, 50))
    wait_saved(page, 1)
    (stroke,) = strokes(page_server, job)
    assert stroke["frame"] == 2
    assert np.array(stroke["points"])[[0, -1]] == pytest.approx(np.array([[30, 20], [30, 50]]), abs=0.2)
    rows, cols = np.mgrid[:HEIGHT, :WIDTH]
    distance = np.hypot(rows - 30, cols - np.clip(cols, 20, 50))
    after = exported(page_server, job)
    inside, outside = distance < 10, distance > 11
    np.testing.assert_array_equal(after[inside], frames[2][inside])
    np.testing.assert_array_equal(after[outside], before[outside])
    assert (before[inside] != frames[2][inside]).any()
    expect(page.locator(".caption").first).to_have_text("Result, retouched")
    page.keyboard.press("Control+z")
    wait_saved(page, 0)
    np.testing.assert_array_equal(exported(page_server, job), before)
    page.keyboard.press("Control+Shift+z")
    wait_saved(page, 1)
    assert strokes(page_server, job) == [stroke]
    np.testing.assert_array_equal(exported(page_server, job), after)


@pytest.mark.parametrize(("hardness", "opacity"), [(1, 1), (0.2, 0.6)])
def test_preview_looks_like_the_final_stroke(page, hardness, opacity):
    open_tool(page, "Retouch")
    part = (26, 64), (2, 78)  # what the brush reaches
    set_brush(page, frame=2, size=31, hardness=hardness, opacity=opacity)
    page.mouse.move(*point(page, 45, 60))
    empty = seen(page, *part)
    drag(page, (45, 20), (45, 60), release=False)
    settle(page)
    drawn = seen(page, *part)
    page.mouse.up()
    wait_saved(page, 1)
    settle(page)
    painted = seen(page, *part)
    shown, wanted = drawn - empty, painted - empty
    assert np.abs(wanted).mean() > 2
    assert (shown * wanted).sum() / (wanted**2).sum() == pytest.approx(1, abs=0.05)
    assert np.abs(shown - wanted).mean() < 0.25 * np.abs(wanted).mean()


def test_strokes_are_painted_by_keyboard(page, page_server, job):
    open_tool(page, "Retouch")
    page.locator(".stage").focus()
    size = page.evaluate("() => panfocus.viewer.tool.size")
    for key in ["c", "Space", ".", "]", "]", "Shift+BracketRight", *["Shift+ArrowRight"] * 3, "Shift+Space"]:
        page.keyboard.press(key)
    wait_saved(page, 2)
    dab, line = strokes(page_server, job)
    assert (dab["frame"], line["frame"]) == (0, 1)
    assert len(dab["points"]) == 1
    assert line["points"][0] == dab["points"][0]
    assert line["points"][1][0] == dab["points"][0][0]
    assert line["points"][1][1] > dab["points"][0][1] + 5
    assert line["radius"] == pytest.approx(size / 2 * 1.15**2)
    assert line["hardness"] == pytest.approx(dab["hardness"] + 0.1)
    # Each frame is sharp in a band of its own.
    for _ in range(30):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("B")  # as with Caps Lock
    expect(page.get_by_role("radio", name="Frame 3: frame-3.png")).to_be_checked()


def test_sharpest_frame_is_picked_and_shown_side_by_side(page, page_server, job):
    open_tool(page, "Retouch")
    beside = page.get_by_label("Show the frame side by side")
    beside.check()
    page.wait_for_function(LOADED)
    page.get_by_role("button", name="Pick sharpest frame").click()
    page.mouse.click(*point(page, 45, 60))  # where frame 2 is sharp
    expect(page.get_by_role("radio", name="Frame 2: frame-2.png")).to_be_checked()
    expect(page.locator(".pane.beside .caption")).to_have_text("Frame 2: frame-2.png")
    assert strokes(page_server, job) == []  # that click paints nothing
    page.get_by_role("combobox", name="Compare with").select_option("")
    expect(beside).not_to_be_checked()
    page.get_by_role("button", name="Brush").click()  # off: a drag moves the picture
    page.evaluate("() => panfocus.viewer.zoom(8)")
    page.wait_for_function(LOADED)
    before = point(page, 45, 60)
    drag(page, (45, 60), (45, 50))
    assert point(page, 45, 60)[0] < before[0] - 20
    assert strokes(page_server, job) == []


def test_strokes_are_stored_and_shared_between_tabs(page, context, page_server, job):
    open_tool(page, "Retouch")
    drag(page, (30, 20), (40, 30))
    wait_saved(page, 1)
    other = show(context.new_page(), page_server, job)
    open_tool(other, "Retouch")
    wait_saved(other, 1)
    page.bring_to_front()
    page.get_by_label("Match brightness").check()
    drag(page, (60, 20), (60, 30))
    wait_saved(page, 2)
    wait_saved(other, 2)
    assert [stroke["gain"] is None for stroke in strokes(page_server, job)] == [True, False]
    other.close()
    page.reload()
    page.wait_for_function(LOADED)
    open_tool(page, "Retouch")
    wait_saved(page, 2)
    page.get_by_role("button", name="Undo").click()
    wait_saved(page, 1)
    page.locator("#panel-retouch summary").first.click()
    page.get_by_role("button", name="Delete stroke 1").click()
    wait_saved(page, 0)
    page.get_by_role("button", name="Undo").click()
    wait_saved(page, 1)
    page.get_by_role("button", name="Redo").click()
    wait_saved(page, 0)


def test_strokes_of_two_tabs_are_merged(page, context, page_server, job):
    open_tool(page, "Retouch")
    path = f"/api/jobs/{job['id']}/retouch"
    page.evaluate("() => panfocus.viewer.app.state.set = () => {}")  # what the other tab does is not heard of
    theirs = {"frame": 1, "points": [[70, 90]], "radius": 5, "hardness": 1, "opacity": 1, "gain": None}
    there = page_server.client.get(path).json()
    assert page_server.client.put(path, json=there | {"strokes": [theirs]}).status_code == 200
    drag(page, (30, 20), (40, 30))
    wait_saved(page, 2)
    assert [stroke["frame"] for stroke in strokes(page_server, job)] == [1, 0]
    expect(page.locator(".notice")).to_have_count(1)
    page.keyboard.press("Control+z")
    wait_saved(page, 1)
    assert [stroke["frame"] for stroke in strokes(page_server, job)] == [1]
    context.complaints.clear()  # the browser's line about a response of 409


def test_undo_affects_only_strokes_of_this_tab(page, context, page_server, job):
    open_tool(page, "Retouch")
    drag(page, (30, 20), (40, 30))
    wait_saved(page, 1)
    other = show(context.new_page(), page_server, job)
    open_tool(other, "Retouch")
    wait_saved(other, 1)
    set_brush(other, frame=1)
    drag(other, (60, 20), (50, 30))
    wait_saved(other, 2)
    wait_saved(page, 2)
    page.get_by_role("button", name="Undo").click()
    wait_saved(page, 1)
    assert [stroke["frame"] for stroke in strokes(page_server, job)] == [1]
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    page.get_by_role("button", name="Redo").click()
    wait_saved(page, 2)
    assert sorted(stroke["frame"] for stroke in strokes(page_server, job)) == [0, 1]
    wait_saved(other, 2)
    other.get_by_role("button", name="Undo").click()
    wait_saved(other, 1)
    assert [stroke["frame"] for stroke in strokes(page_server, job)] == [0]


def test_failed_loading_of_strokes_is_repeated(page, context):
    refused = {"status": 500, "json": {"error": "the disk is asleep"}}
    page.route("**/retouch", lambda route: route.fulfill(**refused), times=2)
    page.get_by_role("tab", name="Retouch").click()
    expect(page.locator("#panel-retouch [role=status]")).not_to_be_empty()
    expect(page.get_by_role("button", name="Brush")).to_be_disabled()
    expect(page.get_by_role("button", name="Brush")).to_be_enabled()
    expect(page.locator(".notice")).to_have_count(1)  # said once
    drag(page, (30, 20), (40, 30))
    wait_saved(page, 1)
    assert len(context.complaints) == 2  # the browser's lines about responses of 500
    context.complaints.clear()


REFUSED = {"status": 400, "json": {"error": "5 MB are needed there, 2 MB are free; delete results"}}


def test_rejected_stroke_is_undone_and_can_be_redone(page, context, page_server, job):
    open_tool(page, "Retouch")
    for refused in (1, 2):
        if refused == 2:
            drag(page, (60, 20), (50, 30))
            wait_saved(page, 1)
        page.route("**/retouch", lambda route: route.fulfill(**REFUSED), times=1)
        drag(page, (30, 20), (40, 30))
        notice = page.locator(".notice")
        expect(notice).to_contain_text(REFUSED["json"]["error"])
        wait_saved(page, refused - 1)
        assert len(strokes(page_server, job)) == refused - 1
        expect(page.get_by_text("All strokes are saved")).to_have_count(refused - 1)
        expect(page.locator(".caption").first).to_have_text("Result, retouched" if refused == 2 else "Result")
        notice.get_by_role("button").click()
        page.get_by_role("button", name="Redo").click()
        wait_saved(page, refused)
        assert len(strokes(page_server, job)) == refused
        page.get_by_role("button", name="Undo").click()
        wait_saved(page, refused - 1)
    page.get_by_role("button", name="Undo").click()  # of what was saved before the refusal
    wait_saved(page, 0)
    assert len(context.complaints) == 2  # the browser's lines about responses of 400
    context.complaints.clear()


def test_stroke_painted_during_a_rejection_is_saved(page, context, page_server, job):
    held = []
    open_tool(page, "Retouch")
    page.route("**/retouch", lambda route: held.extend([route]), times=1)
    with page.expect_request("**/retouch"):
        drag(page, (30, 20), (40, 30))
    drag(page, (60, 20), (50, 30))
    held.pop().fulfill(**REFUSED)
    wait_saved(page, 2)
    assert len(strokes(page_server, job)) == 2
    expect(page.locator(".notice")).to_have_count(0)
    context.complaints.clear()  # the browser's line about a response of 400


MERGES = """async () => {
    const { findAdded, mergeStrokes } = await import("/static/js/retouch/strokes.js");
    const plain = { frame: 1, points: [[1, 2]], radius: 3, hardness: 1, opacity: 1, gain: null };
    const asked = { ...plain, match: true };
    const found = { ...plain, gain: [1.1] };
    const both = [mergeStrokes([], [plain], [found]), mergeStrokes([], [asked], [plain])];
    return [...both, findAdded([found], [asked])].map((list) => list.length);
}"""


def test_matched_stroke_differs_from_an_unmatched_one(page):
    assert page.evaluate(MERGES) == [2, 2, 0]


def test_browser_asks_before_strokes_are_lost(page, page_server, job):
    held = []
    open_tool(page, "Retouch")
    page.route("**/retouch", lambda route: held.extend([route]))
    with page.expect_request("**/retouch"):
        drag(page, (30, 20), (40, 30))
    assert is_asked_before_unload(page)
    held.pop().continue_()
    wait_saved(page, 1)
    page.unroute("**/retouch")
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.reload()
    page.wait_for_function(LOADED)
    assert asked == []


def test_late_pick_does_not_affect_another_result(page, context, job):
    held = []
    open_tool(page, "Retouch")
    page.route("**/place?*", lambda route: held.extend([route]))
    page.get_by_role("button", name="Pick sharpest frame").click()
    with page.expect_request("**/place?*"):
        page.mouse.click(*point(page, 45, 60))  # where frame 2 is sharp
    other = job | {"id": "fedcba9876543210", "created": job["created"] + 1}  # which the server does not know
    page.evaluate("(job) => panfocus.applyMessage({ kind: 'job', job })", other)
    page.evaluate("({ stack, id }) => panfocus.select(stack, id)", other)
    page.wait_for_function("(id) => panfocus.viewer.job().id === id", arg=other["id"])
    with page.expect_response("**/place?*"):
        held.pop().continue_()
    wait_until_drawn(page)
    expect(page.get_by_role("radio", name="Frame 1: frame-1.png")).to_be_checked()
    context.complaints.clear()  # of the pictures that are not there


def test_strokes_are_saved_to_and_loaded_from_a_file(page, page_server, job, tmp_path):
    open_tool(page, "Retouch")
    drag(page, (30, 20), (40, 30))
    drag(page, (60, 20), (50, 30))
    wait_saved(page, 2)
    page.locator("#panel-retouch summary").first.click()
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save strokes").click()
    saving.value.save_as(tmp_path / "kept.json")
    kept = json.loads((tmp_path / "kept.json").read_text())
    there = page_server.client.get(f"/api/jobs/{job['id']}/retouch").json()
    assert there == kept | {"version": there["version"]}
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete all").click()
    wait_saved(page, 0)
    (tmp_path / "kept.json").write_text(json.dumps(kept | {"strokes": kept["strokes"][:1]}))
    page.get_by_label("Stroke file").set_input_files(tmp_path / "kept.json")
    wait_saved(page, 1)
    page.get_by_role("button", name="Undo").click()
    wait_saved(page, 0)


def test_stroke_file_of_another_picture_is_rejected(page, context, page_server, job, tmp_path):
    open_tool(page, "Retouch")
    drag(page, (30, 20), (40, 30))
    wait_saved(page, 1)
    other = page_server.client.get(f"/api/jobs/{job['id']}/retouch").json() | {
        "width": WIDTH + 1,
        "strokes": [],
    }
    (tmp_path / "other.json").write_text(json.dumps(other))
    page.get_by_label("Stroke file").set_input_files(tmp_path / "other.json")
    expect(page.locator(".notice")).to_contain_text("other.json: ")
    assert len(strokes(page_server, job)) == 1
    assert len(context.complaints) == 1  # the browser's line about a response of 400
    context.complaints.clear()


FORGETS = """async (job) => {
    const { getStrokes } = await import("/static/js/retouch/strokes.js");
    const other = { ...job, id: "0123456789abcdef", created: job.created + 1 };
    panfocus.applyMessage({ kind: "job", job: other });
    const before = [getStrokes(job), getStrokes(other)];
    panfocus.applyMessage({ kind: "gone", id: other.id });
    return before[0] === getStrokes(job) && before[1] !== getStrokes(other);
}"""


def test_strokes_of_a_deleted_job_are_forgotten(page, job):
    assert page.evaluate(FORGETS, job)


def test_shortcuts_are_ignored_while_a_dialog_is_open(page, page_server, job):
    open_tool(page, "Retouch")
    drag(page, (30, 20), (40, 30))
    wait_saved(page, 1)
    size = page.evaluate("() => panfocus.viewer.tool.size")
    page.locator(".frame-picture").first.click()
    page.get_by_role("dialog").wait_for()
    for key in ("Control+z", "]", "s"):
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.evaluate("() => panfocus.viewer.tool.size") == size
    wait_saved(page, 1)
    page.keyboard.press("Control+z")  # now it is meant
    wait_saved(page, 0)
